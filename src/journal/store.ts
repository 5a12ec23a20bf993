// The statements that give positions. Whoever adds operations that changed something locks the
// journals of their merchants first. A later statement of the same transaction reads the last
// position of each: it sees what has committed before the lock was had, and nobody adds more. So
// positions have no gaps, and whoever sees a position sees all before it.

import { limits } from '../core/limits.ts';
import type { MerchantId } from '../core/principal.ts';
import { pendingTime, type SetStatement, type Statement } from '../core/statement.ts';

/** The end of a journal, under its lock, as the statement that saves a batch reads it. */
export interface JournalEnd {
  readonly merchant_id: string;
  readonly id: string;
  /** 0 when nothing has changed yet. */
  readonly last: number;
  /** The time of all that is saved now, RFC 3339: never before that of the last position. */
  readonly moment: string;
}

/** The last locks that a batch takes, before it inserts keys. In one order, sought one by one. */
export const lockJournals: Pick<SetStatement, 'name' | 'text'> = {
  name: 'lock_journals',
  text: `
    select j.merchant_id
    from (
      select a.merchant_id from json_to_recordset($1) as a (merchant_id text)
      order by a.merchant_id) a
    cross join lateral (
      select j.merchant_id from journals j where j.merchant_id = a.merchant_id
      limit 1 for no key update) j`,
};

/**
 * The last operation in the journal of the merchant of a row, as a part of statements: none, or one
 * of the journal before it in the index. So whoever joins it says that the merchant is the same.
 */
export const lastInJournal = (row: string) => `(
    select o.merchant_id, o.position, o.created_at from operations o
    where (o.merchant_id, o.position) <= (${row}.merchant_id, 9223372036854775807)
      and o.position is not null
    order by o.merchant_id desc, o.position desc
    limit 1)`;

/**
 * The ends of the journals of the merchants in `$1`, for the parts of the statement that saves:
 * `JournalEnd`. The time is the database's, so that the clocks of nodes do not count, and in
 * milliseconds, as answers have it: who asks for a time that was answered gets what it was of.
 */
export const journalEnds = `
  select a.merchant_id, j.id, coalesce(o.position, 0) as last,
    greatest(date_trunc('milliseconds', clock_timestamp()), o.created_at) as moment
  from json_to_recordset($1) as a (merchant_id text)
  cross join lateral (
    select j.id from journals j where j.merchant_id = a.merchant_id limit 1) j
  left join lateral ${lastInJournal('a')} o on o.merchant_id = a.merchant_id`;

/** What a row has of the end of its journal: the position was counted from there. */
export function placedAt<Row extends object>(row: Row, { last, moment }: JournalEnd): Row {
  // A copy by spreading keeps the shape of the row: one made of entries took 4 µs more.
  const placed = { ...row } as Record<string, unknown>;
  for (const name of Object.keys(placed)) {
    if (placed[name] === pendingTime && name.endsWith('_at')) placed[name] = moment;
  }
  if (typeof placed.position === 'number') placed.position += last;
  return placed as Row;
}

/** A journal, and the last position in it that has committed: 0 when there is none. */
export interface Journal {
  readonly id: string;
  readonly last: number;
}

/** That of the merchant `$1`, also as a part of statements. */
export const journalOfMerchant = `
  select j.id, coalesce(o.position, 0) as last from journals j
  left join lateral ${lastInJournal('j')} o on o.merchant_id = j.merchant_id
  where j.merchant_id = $1`;

export function findJournal(merchant: MerchantId): Statement<Journal> {
  return { name: 'find_journal', text: journalOfMerchant, values: [merchant] };
}

/**
 * Whether all that has a time up to this one (RFC 3339) can be seen by the statement after this
 * one. Who saves reads the time under the lock of the journal, at the beginning of the statement
 * that saves. That statement ends within 3 s, and COMMIT, sent with it, begins within 1 s more, or
 * the database ends the transaction. What remains: a COMMIT that takes longer than the fifth second
 * to reach the disk, and a database clock that is set back by seconds while nothing is saved. What
 * they commit is missing from an answer that was given before, and in the next one.
 */
export function hasSettled(time: string): Statement<{ has_settled: boolean }> {
  return {
    name: 'has_settled',
    text: `select $1::timestamptz
      <= clock_timestamp() - ${limits.asOfAge} * interval '1 millisecond' as has_settled`,
    values: [time],
  };
}

/**
 * The last position with a time before this one (RFC 3339), or at it. Positions and times have one
 * order, and positions no gaps: it is found by halves, with a look at the index for each, which for
 * ten million positions are 24.
 */
export function lastPositionAt(
  merchant: MerchantId,
  time: string,
  bound: 'before' | 'at',
): Statement<{ position: number }> {
  return {
    name: `last_position_${bound}`,
    text: `
      with recursive halves as (
        select 0::bigint as low, coalesce((
          select o.position from operations o
          where o.merchant_id = $1 and o.position is not null
          order by o.merchant_id desc, o.position desc limit 1), 0) as high
        union all
        select case when o.is_earlier then o.middle else h.low end,
          case when o.is_earlier then h.high else o.middle - 1 end
        from halves h
        cross join lateral (
          select m.middle, o.created_at ${bound === 'at' ? '<=' : '<'} $2::timestamptz as is_earlier
          from (select (h.low + h.high + 1) / 2 as middle) m
          join operations o on o.merchant_id = $1 and o.position = m.middle
          limit 1) o
        where h.low < h.high)
      select low as position from halves where low >= high`,
    values: [merchant, time],
  };
}
