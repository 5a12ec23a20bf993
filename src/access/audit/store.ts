// The statements of the audit trail. Appending goes through one function of the database, which
// numbers and chains the lines behind one lock. Reading walks over the key, a bounded range at a
// time, and trusts no line to be JSON: it is also for the day when somebody has altered one.

import type { Statement } from '../../core/statement.ts';

/** What happened, as its line says it, in the order given. The database says where and when. */
export type AuditEntry = {
  readonly action: string;
  readonly day?: never;
  readonly number?: never;
  readonly follows?: never;
  readonly at?: never;
  readonly [member: string]: unknown;
};

export interface TimedEntry {
  readonly entry: AuditEntry;
  /** How many milliseconds ago it happened. */
  readonly age: number;
}

/**
 * @param once a part of one of these lines and of no other: nothing is appended when the trail
 *   has it. For entries that may be there, as the answer to an earlier attempt was lost.
 */
export function appendAudit(entries: readonly TimedEntry[], once?: string): Statement {
  return {
    name: 'append_audit',
    text: 'select append_audit($1, $2)',
    values: [JSON.stringify(entries), once ?? null],
  };
}

/** Where a record stands. Days are `YYYY-MM-DD`. */
export interface Position {
  readonly day: string;
  readonly number: number;
}

export interface AuditRecord extends Position {
  readonly line: string;
  /** In hexadecimal. */
  readonly hash: string;
}

export interface ChainEnd {
  /** Of the last record; null before the first. */
  readonly day: string | null;
  readonly number: number;
  readonly hash: string;
  /** The first record behind it, where none can be. */
  readonly beyond: Position | null;
}

export function findChainEnd(): Statement<ChainEnd> {
  return {
    name: 'find_chain_end',
    text: `
      select to_char(h.day, 'YYYY-MM-DD') as day, h.number, encode(h.hash, 'hex') as hash,
        (select json_build_object('day', to_char(r.day, 'YYYY-MM-DD'), 'number', r.number)
          from audit_records r where (r.day, r.number) > (h.day, h.number)
          order by r.day, r.number limit 1) as beyond
      from audit_head h`,
    values: [],
  };
}

/** The next records in the order of the chain. */
export function walkChain(after: Position | undefined, rows: number): Statement<AuditRecord> {
  return {
    name: 'walk_chain',
    text: `
      select to_char(r.day, 'YYYY-MM-DD') as day, r.number, r.line, encode(r.hash, 'hex') as hash
      from audit_records r
      where (r.day, r.number) > ($1::date, $2::bigint)
      order by r.day, r.number limit $3`,
    values: [after?.day ?? '-infinity', after?.number ?? 0, rows],
  };
}

/** Which records are wanted. Times are RFC 3339 in UTC with milliseconds. */
export interface AuditFilter {
  /** The first moment that counts. */
  readonly since?: string | undefined;
  /** The first moment that no longer counts. */
  readonly until?: string | undefined;
  readonly merchant?: string | undefined;
  readonly credential?: string | undefined;
  /** An action such as `token.create`, or all that begin with `token`. */
  readonly action?: string | undefined;
}

export interface FoundRecord extends AuditRecord {
  /** Whether it is wanted. The last one of a range is there in any case, to go on from. */
  readonly is_wanted: boolean;
}

/**
 * The wanted ones among the next records, up or down the chain. A record is never appended on a day
 * before the one it tells of, so that the days before `since` need not be read.
 */
export function searchAudit(
  way: 'up' | 'down',
  from: Position | undefined,
  filter: AuditFilter,
  rows: number,
): Statement<FoundRecord> {
  const [after, order] = way === 'up' ? ['>', 'asc'] : ['<', 'desc'];
  const start = { day: way === 'up' ? '-infinity' : 'infinity', number: 0 };
  const { day, number } = from ?? start;
  return {
    // Planned anew each time: what the filter says decides where to begin.
    name: '',
    text: `
      with chunk as materialized (
        select r.day, r.number, r.line, r.hash from audit_records r
        where (r.day, r.number) ${after} ($1::date, $2::bigint) and r.day >= $3::date
        order by r.day ${order}, r.number ${order} limit $4
      ), judged as (
        select c.day, c.number, c.line, c.hash,
          row_number() over (order by c.day ${order}, c.number ${order}) = count(*) over ()
            as is_last,
          not exists (select from unnest($5::text[]) as mark where strpos(c.line, mark) = 0)
            and ($6::text is null or ${happened} >= $6) and ($7::text is null or ${happened} < $7)
            as is_wanted
        from chunk c
      )
      select to_char(j.day, 'YYYY-MM-DD') as day, j.number, j.line, encode(j.hash, 'hex') as hash,
        coalesce(j.is_wanted, false) as is_wanted
      from judged j where j.is_wanted or j.is_last
      order by j.day ${order}, j.number ${order}`,
    values: [
      day,
      number,
      filter.since?.slice(0, 10) ?? '-infinity',
      rows,
      marksOf(filter),
      filter.since ?? null,
      filter.until ?? null,
    ],
  };
}

/** When a record says it happened. Times in one form have the order of their characters. */
const happened = `substring(c.line from '"at":"([^"]*)"') collate "C"`;

/**
 * What a line holds as text. Quotes within a value are escaped, so only a member can look like
 * this.
 */
function marksOf({ merchant, credential, action }: AuditFilter): string[] {
  return [
    ...(merchant === undefined ? [] : [`"merchant_id":"${merchant}"`]),
    ...(credential === undefined ? [] : [`"credential_id":"${credential}"`]),
    ...(action === undefined ? [] : [`"action":"${action}${action.includes('.') ? '"' : '.'}`]),
  ];
}
