// The statements of `tallybook verify`. Each looks at one bounded range of one merchant's ledger,
// so that neither a long ledger nor one very busy level makes a long statement, and says what
// differs. They trust no constraint: they are for the day when one was circumvented.

import { isJournaled } from '../contract/resource.ts';
import type { Statement } from '../core/statement.ts';
import { operationTypes, resourceOf } from '../resources.ts';

export const beginSnapshot: Statement = {
  name: 'begin_snapshot',
  text: 'begin isolation level repeatable read read only',
  values: [],
};

/** The service's role allows 3 s, which a cold range on a slow disk may need more than. */
export const allowLongStatements: Statement = {
  name: 'allow_long_statements',
  text: "set local statement_timeout = '60s'",
  values: [],
};

/** What differs, as the statements report it. */
export interface DifferenceRow {
  readonly kind: string;
  readonly product_id: string | null;
  readonly location_id: string | null;
  readonly movement_id: string | null;
  readonly operation_id: string | null;
  /** What was found, and what should have been. */
  readonly found: string | null;
  readonly expected: string | null;
}

/** The next merchant that any table of a cell knows, and in which cell it is; null: in none. */
export function nextMerchant(
  after: string,
  cell: string,
): Statement<{ id: string | null; cell: string | null }> {
  return {
    name: '',
    text: `
      select next.id, (select m.cell from merchants m where m.id = next.id) as cell
      from (select min(id) as id from (
        select min(id) as id from merchants where id > $1 and cell = $2
        union all select min(merchant_id) from inventory_levels where merchant_id > $1
        union all select min(merchant_id) from inventory_movements where merchant_id > $1
        union all select min(merchant_id) from operations where merchant_id > $1) known) next`,
    values: [after, cell],
  };
}

export function findCell(merchant: string): Statement<{ readonly cell: string }> {
  return {
    name: 'find_cell_of_merchant',
    text: 'select m.cell from merchants m where m.id = $1',
    values: [merchant],
  };
}

/** Where a walk over movements stands: its last row, and the sum of that level's deltas so far. */
export interface MovementPosition {
  readonly product_id: string;
  readonly location_id: string;
  readonly sequence: number;
  readonly id: string;
  readonly total: string;
}

export interface MovementRange extends MovementPosition {
  /** Rows seen, the first of them again when the walk goes on. */
  readonly fetched: number;
  readonly differences: readonly DifferenceRow[];
}

/**
 * Movements in the order of their levels, from the last one seen. Levels that end within the range
 * are compared with their sum; the last one of a full range goes on in the next.
 */
export function walkMovements(
  merchant: string,
  from: MovementPosition,
  limit: number,
): Statement<MovementRange> {
  return {
    name: '',
    text: `
      with chunk as materialized (
        select m.product_id, m.location_id, m.sequence, m.id, m.operation_id, m.position, m.line,
          m.recorded_at,
          m.quantity_before, m.quantity_delta, m.quantity_after
        from inventory_movements m
        where m.merchant_id = $1
          and (m.product_id, m.location_id, m.sequence, m.id) >= ($2, $3, $4::bigint, $5)
        order by m.product_id, m.location_id, m.sequence, m.id
        limit $6
      ), walked as materialized (
        select c.*, lag(c.sequence) over level as previous_sequence,
          lag(c.quantity_after) over level as previous_after, lag(c.id) over level as previous_id,
          lag(c.recorded_at) over level as previous_recorded_at,
          (c.product_id, c.location_id, c.sequence, c.id) = ($2, $3, $4::bigint, $5) as is_seen
        from chunk c
        window level as (partition by c.product_id, c.location_id order by c.sequence, c.id)
      ), last as (
        select product_id, location_id, sequence, id from walked
        order by product_id desc, location_id desc, sequence desc, id desc limit 1
      ), totals as (
        select w.product_id, w.location_id,
          coalesce(sum(w.quantity_delta) filter (where not w.is_seen), 0)
            + case when bool_or(w.is_seen) then $7::numeric else 0 end as total,
          (select count(*) from chunk) < $6
            or (w.product_id, w.location_id) <> (last.product_id, last.location_id) as is_whole
        from walked w cross join last
        group by w.product_id, w.location_id, last.product_id, last.location_id
      ), differences as (${movementDifferences})
      select (select count(*) from chunk)::int as fetched, last.*, totals.total::text as total,
        coalesce((select json_agg(d) from differences d), '[]') as differences
      from last join totals using (product_id, location_id)`,
    values: [
      merchant,
      from.product_id,
      from.location_id,
      from.sequence,
      from.id,
      limit,
      from.total,
    ],
  };
}

/**
 * A row that the range before has judged is only somebody's predecessor. Joins are laterals with a
 * limit because that keeps them on the index: hashed, each range read a whole table. The words are
 * made for rows that differ only: made for every row they took two thirds of the time.
 */
const movementDifferences = `
  select f.kind, j.product_id, j.location_id, j.id as movement_id, j.operation_id, f.found,
    f.expected
  from (
    select w.*, o.type || ' ' || o.status as operation, o.resource_id,
      coalesce(o.status <> 'succeeded' or o.type not in ('inventory.adjust', 'inventory.transfer',
        'inventory.count', 'inventory.fulfil'), true) as is_without_operation,
      coalesce(w.previous_sequence, 0) + 1 as due_sequence,
      coalesce(w.previous_after, 0) as due_before,
      w.quantity_before + w.quantity_delta as due_after,
      w.quantity_after < 0 or w.quantity_after >= 1e12 or min_scale(w.quantity_after) > 5
        as is_out_of_range,
      w.previous_id is null and not exists (select from inventory_levels v
        where v.merchant_id = $1 and v.product_id = w.product_id and v.location_id = w.location_id)
        as is_without_level,
      w.line < 1 or w.line > o.movements as is_no_line, o.movements,
      w.line = 1 and o.type = 'inventory.adjust' and o.resource_id <> w.id as is_not_named,
      w.position <> o.position or w.recorded_at <> o.created_at as is_elsewhere,
      o.position as due_position
    from walked w
    left join lateral (
      select type, status, resource_id, movements, position, created_at from operations
      where merchant_id = $1 and id = w.operation_id limit 1) o on true
    where not w.is_seen
  ) j
  cross join lateral (values
    ('sequence_gap', j.sequence > j.due_sequence or j.sequence < 1, j.sequence::text,
      j.due_sequence::text),
    ('sequence_fork', j.sequence = j.previous_sequence, j.sequence::text, null),
    ('before_differs', j.sequence = j.due_sequence and j.quantity_before <> j.due_before,
      j.quantity_before::text, j.due_before::text),
    ('after_differs', j.quantity_after <> j.due_after, j.quantity_after::text, j.due_after::text),
    ('delta_zero', j.quantity_delta = 0, null, null),
    ('quantity_out_of_range', j.is_out_of_range, j.quantity_after::text, null),
    ('id_order', j.id <= j.previous_id, j.id, j.previous_id),
    ('time_order', j.recorded_at < j.previous_recorded_at, j.recorded_at::text,
      j.previous_recorded_at::text),
    ('movement_without_level', j.is_without_level, null, null),
    ('movement_without_operation', j.is_without_operation, coalesce(j.operation, 'none'), null),
    ('line_out_of_range', j.is_no_line, j.line::text, j.movements::text),
    ('operation_names_another', j.is_not_named, j.resource_id, null),
    ('position_differs', j.is_elsewhere, j.position::text, j.due_position::text)
  ) as f (kind, is_found, found, expected)
  where f.is_found and (j.sequence <> j.due_sequence or j.quantity_before <> j.due_before
    or j.quantity_after <> j.due_after or j.quantity_delta = 0 or j.is_out_of_range
    or j.id <= j.previous_id or j.recorded_at < j.previous_recorded_at or j.is_without_level
    or j.is_without_operation or j.is_no_line or j.is_not_named or j.is_elsewhere)
  union all
  select 'quantity_not_sum', t.product_id, t.location_id, null, null, v.quantity::text,
    t.total::text
  from totals t
  join lateral (select quantity from inventory_levels where merchant_id = $1
    and product_id = t.product_id and location_id = t.location_id limit 1) v on true
  where t.is_whole and v.quantity <> t.total`;

export interface LevelRange {
  readonly fetched: number;
  /** Without the rows that are only there to be locked. */
  readonly levels: number;
  readonly product_id: string;
  readonly location_id: string;
  readonly differences: readonly DifferenceRow[];
}

/** Levels after one, each against its last movement. */
export function walkLevels(
  merchant: string,
  after: { readonly product_id: string; readonly location_id: string },
  limit: number,
): Statement<LevelRange> {
  return {
    name: '',
    text: `
      with chunk as materialized (
        select v.product_id, v.location_id, v.quantity, v.sequence, v.last_movement_id,
          v.first_position, v.updated_at
        from inventory_levels v
        where v.merchant_id = $1 and (v.product_id, v.location_id) > ($2, $3)
        order by v.product_id, v.location_id limit $4
      ), last as (
        select product_id, location_id from chunk
        order by product_id desc, location_id desc limit 1
      ), differences as (
        select f.kind, c.product_id, c.location_id, m.id as movement_id, null as operation_id,
          f.found, f.expected
        from chunk c
        left join lateral (
          select m.id, m.sequence, m.quantity_after, m.recorded_at from inventory_movements m
          where m.merchant_id = $1 and m.product_id = c.product_id
            and m.location_id = c.location_id
          order by m.sequence desc limit 1) m on true
        left join lateral (
          select m.position from inventory_movements m
          where m.merchant_id = $1 and m.product_id = c.product_id
            and m.location_id = c.location_id
          order by m.sequence limit 1) first on true
        cross join lateral (values
          ('level_without_movements', m.id is null and (c.quantity <> 0 or c.sequence <> 0
            or c.last_movement_id is not null), c.quantity::text, '0'),
          ('quantity_differs', c.quantity <> m.quantity_after, c.quantity::text,
            m.quantity_after::text),
          ('sequence_differs', c.sequence <> m.sequence, c.sequence::text, m.sequence::text),
          ('last_movement_differs', m.id is not null and c.last_movement_id is distinct from m.id,
            c.last_movement_id, m.id),
          ('updated_at_differs', m.id is not null and c.updated_at is distinct from m.recorded_at,
            c.updated_at::text, m.recorded_at::text),
          ('first_position_differs', c.first_position is distinct from first.position,
            c.first_position::text, first.position::text)
        ) as f (kind, is_found, found, expected)
        where f.is_found
      )
      select (select count(*) from chunk)::int as fetched,
        (select count(*) from chunk where sequence > 0)::int as levels, last.*,
        coalesce((select json_agg(d) from differences d), '[]') as differences
      from last`,
    values: [merchant, after.product_id, after.location_id, limit],
  };
}

export interface OperationRange {
  readonly fetched: number;
  readonly id: string;
  readonly differences: readonly DifferenceRow[];
}

/** Of these, what creates a record is never a change of nothing. */
const journaled = operationTypes.filter((type) => isJournaled(resourceOf(type), type));

/** Operations after one, each against its movements. */
export function walkOperations(
  merchant: string,
  after: string,
  limit: number,
): Statement<OperationRange> {
  return {
    name: '',
    text: `
      with chunk as materialized (
        select o.id, o.type, o.status, o.resource_id, o.created, o.error_code, o.movements,
          o.position
        from operations o
        where o.merchant_id = $1 and o.id > $2 order by o.id limit $3
      ), differences as (
        select f.kind, m.product_id, m.location_id, m.movement_id, c.id as operation_id, f.found,
          f.expected
        from chunk c
        cross join lateral (
          select count(*) as lines, count(distinct line) as numbers, min(product_id) as product_id,
            min(location_id) as location_id, min(id) as movement_id
          from inventory_movements
          where merchant_id = $1 and position = c.position and operation_id = c.id) m
        cross join lateral (values
          ('operation_without_outcome', c.status not in ('succeeded', 'rejected')
            or (c.status = 'succeeded') <> (c.resource_id is not null)
            or (c.status = 'rejected') <> (c.error_code is not null), c.status, null),
          ('operation_movements_differ', m.lines <> c.movements, m.lines::text,
            c.movements::text),
          ('position_without_change', c.position is not null and c.status <> 'succeeded',
            c.position::text, null),
          ('change_without_position', c.position is null and c.status = 'succeeded'
            and (c.movements > 0 or c.created and c.type = any ($4)), null, null),
          ('resource_missing', c.type = 'inventory.transfer' and c.status = 'succeeded'
            and not exists (select from inventory_transfers t
              where t.merchant_id = $1 and t.id = c.resource_id)
            or c.type = 'inventory.count' and c.status = 'succeeded'
            and not exists (select from inventory_counts t
              where t.merchant_id = $1 and t.id = c.resource_id), c.resource_id, null),
          ('resource_missing', c.type = 'inventory.reserve' and c.status = 'succeeded'
            and not exists (select from inventory_reservations r
              where r.merchant_id = $1 and r.id = c.resource_id), c.resource_id, null),
          ('resource_missing', c.type like any ('{people.%,tokens.%}')
            and c.status = 'succeeded' and not exists (select from credentials k
              where k.merchant_id = $1 and k.id = c.resource_id
                and (k.role is not null) = (c.type like 'people.%')), c.resource_id, null),
          ('line_twice', m.numbers <> m.lines, m.lines::text, m.numbers::text)
        ) as f (kind, is_found, found, expected)
        where f.is_found
      )
      select (select count(*) from chunk)::int as fetched, max(chunk.id) as id,
        coalesce((select json_agg(d) from differences d), '[]') as differences
      from chunk having count(*) > 0`,
    values: [merchant, after, limit, journaled],
  };
}

export interface JournalRange {
  readonly fetched: number;
  /** Of the last of the range. */
  readonly position: number;
  readonly id: string;
  readonly at: string;
  readonly differences: readonly DifferenceRow[];
}

/** Positions behind one, which was given at a time: each is one more than the one before. */
export function walkJournal(
  merchant: string,
  after: Pick<JournalRange, 'position' | 'id' | 'at'>,
  limit: number,
): Statement<JournalRange> {
  return {
    name: '',
    text: `
      with chunk as materialized (
        select o.id, o.position, o.created_at from operations o
        where o.merchant_id = $1 and (o.position, o.id) > ($2::bigint, $5)
        order by o.position, o.id limit $4
      ), walked as (
        select c.*, lag(c.position, 1, $2::bigint) over journal as before,
          lag(c.created_at, 1, $3::timestamptz) over journal as earlier
        from chunk c window journal as (order by c.position, c.id)
      ), differences as (
        select f.kind, null as product_id, null as location_id, null as movement_id,
          w.id as operation_id, f.found, f.expected
        from walked w
        cross join lateral (values
          ('position_gap', w.position > w.before + 1, w.position::text, (w.before + 1)::text),
          ('position_twice', w.position = w.before, w.position::text, null),
          ('position_time_order', w.created_at < w.earlier, w.created_at::text, w.earlier::text)
        ) as f (kind, is_found, found, expected)
        where f.is_found
      )
      select (select count(*) from chunk)::int as fetched, last.position, last.id,
        last.created_at as at,
        coalesce((select json_agg(d) from differences d), '[]') as differences
      from (
        select position, id, created_at from chunk
        order by position desc, id desc limit 1) last`,
    values: [merchant, after.position, after.at, limit, after.id],
  };
}
