// The statements of counts.

import { type ByColumn, byColumn, untilFull } from '../contract/columns.ts';
import { lookupId } from '../core/id.ts';
import { limits } from '../core/limits.ts';
import type { MerchantId } from '../core/principal.ts';
import type { SetStatement, Statement } from '../core/statement.ts';
import { levelKey } from '../inventory/ledger.ts';
import { actorName, type VisibleLocations } from '../inventory/read-store.ts';
import { type Journal, journalEnds } from '../journal/store.ts';
import type { CountRow, Earlier, Look } from './decide.ts';

const names = [
  ...['id', 'location_id', 'note', 'reference', 'lines', 'operation_id', 'position'],
  ...['credential_id', 'actor_kind', 'application_id', 'recorded_at'],
];
const columns = names.map((name) => `t.${name}`).join(', ');

/** The end of the journal, where a count names one. */
export function findJournalEnd(isNamed: boolean): SetStatement<Journal> {
  return {
    name: 'find_journal_end',
    text: journalEnds,
    records: isNamed ? [{}] : [],
  };
}

/**
 * Levels as of positions: what the last movement up to there left, sought as the last row in the
 * order of an index; and by how much they were corrected since. Read after the levels are locked,
 * so that what is at a position is known to all, and what has moved since is in the level.
 */
export function findEarlierLevels(looks: readonly Look[]): SetStatement<Look & Earlier> {
  return {
    name: 'find_earlier_levels',
    text: `
      select a.merchant_id, a.product_id, a.location_id, a.position::text as position,
        coalesce(m.quantity_after, 0) as quantity, (
          select coalesce(sum(c.quantity_delta), 0) from inventory_movements c
          where c.merchant_id = a.merchant_id and c.product_id = a.product_id
            and c.location_id = a.location_id and c.position > a.position
            and c.reason = 'stock_count') as corrected
      from json_to_recordset($1)
        as a (merchant_id text, product_id text, location_id text, position bigint)
      left join lateral (
        select m.merchant_id, m.product_id, m.location_id, m.quantity_after
        from inventory_movements m
        where (m.merchant_id, m.product_id, m.location_id, m.position, m.line)
          <= (a.merchant_id, a.product_id, a.location_id, a.position, 2147483647)
        order by m.merchant_id desc, m.product_id desc, m.location_id desc, m.position desc,
          m.line desc
        limit 1) m
        on m.merchant_id = a.merchant_id and m.product_id = a.product_id
          and m.location_id = a.location_id`,
    records: looks,
  };
}

export function saveCounts(counts: readonly CountRow[]): SetStatement {
  return {
    name: 'save_counts',
    text: `
      insert into inventory_counts (merchant_id, id, location_id, note, reference, lines,
        line_count, operation_id, position, credential_id, actor_kind, application_id, recorded_at)
      select s.merchant_id, s.id, s.location_id, s.note, s.reference, s.lines, s.line_count,
        s.operation_id, j.last + s.position, s.credential_id, s.actor_kind, s.application_id,
        j.moment
      from json_populate_recordset(null::inventory_counts, $1) s
      join journal j on j.merchant_id = s.merchant_id`,
    records: counts.map((count) => ({ ...count, line_count: count.lines.length })),
  };
}

/** Of several counts of one pair the last remains. Whoever saves has the locks of the levels. */
export function saveLastCounts(counts: readonly CountRow[]): SetStatement {
  const last = counts.flatMap(({ location_id, lines, ...count }) =>
    lines.map(({ product_id }) => ({
      ...{ location_id, product_id, count_id: count.id, credential_id: count.credential_id },
      position: count.position,
    })),
  );
  return {
    name: 'save_counted',
    text: `
      insert into inventory_last_counts (merchant_id, location_id, product_id, count_id,
        credential_id, position, counted_at)
      select s.merchant_id, s.location_id, s.product_id, s.count_id, s.credential_id,
        j.last + s.position, j.moment
      from json_populate_recordset(null::inventory_last_counts, $1) s
      join journal j on j.merchant_id = s.merchant_id
      on conflict (merchant_id, location_id, product_id) do update
      set count_id = excluded.count_id, credential_id = excluded.credential_id,
        position = excluded.position, counted_at = excluded.counted_at`,
    records: [...new Map(last.map((one) => [levelKey(one), one])).values()],
  };
}

/** Counts by ID, as far as they are at one of the locations (null: at any). */
export function findCounts(
  merchant: MerchantId,
  ids: readonly string[],
  locations: VisibleLocations,
): Statement<CountRow> {
  return {
    name: 'find_counts',
    text: `
      select ${columns}, ${actorName('t')} from inventory_counts t
      where t.merchant_id = $1 and t.id = any ($2)
        and ($3::text[] is null or t.location_id = any ($3))`,
    values: [merchant, ids.map(lookupId), locations],
  };
}

export interface CountFilter {
  readonly merchant: MerchantId;
  readonly locations: VisibleLocations;
  readonly after: string | undefined;
  readonly limit: number;
}

/**
 * Newest first. Where locations are named, each is walked along an index that ends in the ID. A
 * page ends by the number of lines: to measure them, up to 200 counts of 250 KB would be read.
 */
export function listCounts(filter: CountFilter): Statement<ByColumn<CountRow>> {
  const { merchant, locations, after, limit } = filter;
  const walk = (condition: string) => `
    select ${columns}, t.line_count * ${limits.countLineBytes} as bytes from inventory_counts t
    where t.merchant_id = $1 and t.id < $2 and ${condition}
    order by t.id desc limit ${limit}`;
  const source =
    locations === null
      ? walk('$3::text[] is null')
      : `select ${columns}, t.bytes from unnest($3::text[]) l (id)
         cross join lateral (${walk('t.location_id = l.id')}) t
         order by t.id desc limit ${limit}`;
  return {
    name: `list_counts_${locations === null ? 'all' : 'at'}_${limit}`,
    text: `
      select ${byColumn([...names, 'actor_name', 'followed'])} from (
        select *, ${actorName('t')} from ${untilFull(source, 'id desc')} t
        order by t.id desc) t`,
    values: [merchant, after ?? '~', locations],
  };
}
