// The statements of the audit trail. Appending is one function of the database, which numbers and
// chains the lines behind one lock. Reading walks over the primary key in bounded ranges.

import type { Statement } from '../../core/statement.ts';

/** What happened, as its line says it, in the order given. The database adds where and when. */
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
 * @param once a part of one of these lines and of no other: nothing is appended when the trail has
 *   it already. For entries that may be there because the answer to their commit was lost.
 */
export function appendAudit(entries: readonly TimedEntry[], once?: string): Statement {
  return {
    name: 'append_audit',
    text: 'select append_audit($1, $2)',
    values: [JSON.stringify(entries), once ?? null],
  };
}

/** Where a record stands. Days are `YYYY-MM-DD`. */
export interface AuditPosition {
  readonly day: string;
  readonly number: number;
}

export interface AuditRecord extends AuditPosition {
  readonly line: string;
  /** In hexadecimal. */
  readonly hash: string;
}

export interface ChainEnd {
  /** Of the last record; null before the first. */
  readonly day: string | null;
  readonly number: number;
  readonly hash: string;
  /** The first record after the end, where none may be. */
  readonly beyond: AuditPosition | null;
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

/** The next records after a place, oldest first. */
export function recordsAfter(
  place: AuditPosition | undefined,
  rows: number,
): Statement<AuditRecord> {
  return {
    name: 'audit_records_after',
    text: `
      select to_char(r.day, 'YYYY-MM-DD') as day, r.number, r.line, encode(r.hash, 'hex') as hash
      from audit_records r where (r.day, r.number) > ($1::date, $2::bigint)
      order by r.day, r.number limit $3`,
    values: [place?.day ?? '-infinity', place?.number ?? 0, rows],
  };
}

/** The next records before a place, newest first. */
export function recordsBefore(
  place: AuditPosition | undefined,
  rows: number,
): Statement<AuditRecord> {
  return {
    name: 'audit_records_before',
    text: `
      select to_char(r.day, 'YYYY-MM-DD') as day, r.number, r.line, encode(r.hash, 'hex') as hash
      from audit_records r where (r.day, r.number) < ($1::date, $2::bigint)
      order by r.day desc, r.number desc limit $3`,
    values: [place?.day ?? 'infinity', place?.number ?? 0, rows],
  };
}
