// The statements of `tallybook verify` that hold counts against the movements they made, and last
// counts against the counts that they name.

import type { Statement } from '../core/statement.ts';
import type { LevelRange, OperationRange } from './verify-store.ts';

/** Counts after one, with about so many lines. */
export function walkCounts(
  merchant: string,
  after: string,
  limit: number,
): Statement<OperationRange> {
  return {
    name: '',
    text: `
      with chunk as materialized (
        select r.id, r.location_id, r.lines, r.line_count, r.operation_id, r.position,
          r.credential_id, r.recorded_at
        from (
          select c.id, c.location_id, c.lines, c.line_count, c.operation_id, c.position,
            c.credential_id, c.recorded_at,
            sum(c.line_count) over (order by c.id) - c.line_count as before
          from inventory_counts c
          where c.merchant_id = $1 and c.id > $2 order by c.id limit $3) r
        where r.before < $3::bigint
      ), lines as materialized (
        select c.id, c.location_id, c.operation_id, c.position, c.credential_id, c.recorded_at,
          l.product_id, l.quantity_before, l.quantity_after, l.movement_id
        from chunk c
        cross join lateral json_to_recordset(c.lines) as l (product_id text,
          quantity_before numeric, quantity_after numeric, movement_id text)
      ), differences as (
        ${lineDifferences}
        union all
        select f.kind, null, null, null, c.operation_id, f.found, f.expected
        from chunk c
        left join lateral (
          select type, status, resource_id, movements, position from operations
          where merchant_id = $1 and id = c.operation_id limit 1) o on true
        cross join lateral (
          select count(l.movement_id) as movements, count(*) as lines
          from lines l where l.id = c.id) named
        cross join lateral (values
          ('count_without_operation', (o.type, o.status, o.resource_id, o.position)
            is distinct from ('inventory.count', 'succeeded', c.id, c.position),
            coalesce(o.resource_id, 'none'), c.id),
          ('count_movements_differ', o.movements <> named.movements, named.movements::text,
            o.movements::text),
          ('count_lines_differ', c.line_count <> named.lines, c.line_count::text,
            named.lines::text)
        ) as f (kind, is_found, found, expected)
        where f.is_found
      )
      select (select count(*) from chunk)::int as fetched, max(chunk.id) as id,
        coalesce((select json_agg(d) from differences d), '[]') as differences
      from chunk having count(*) > 0`,
    values: [merchant, after, limit],
  };
}

/** Each line against its movement, and against who counted last what it names. */
const lineDifferences = `
  select 'count_line_differs' as kind, l.product_id, l.location_id, l.movement_id,
    l.operation_id, m.quantity_before || ' to ' || m.quantity_after as found,
    l.quantity_before || ' to ' || l.quantity_after as expected
  from lines l
  left join lateral (
    select operation_id, product_id, location_id, quantity_before, quantity_after
    from inventory_movements
    where merchant_id = $1 and id = l.movement_id limit 1) m on true
  where (l.quantity_before <> l.quantity_after or l.movement_id is not null)
    and (m.operation_id, m.product_id, m.location_id, m.quantity_before, m.quantity_after)
      is distinct from (l.operation_id, l.product_id, l.location_id, l.quantity_before,
        l.quantity_after)
  union all
  select 'last_count_differs', l.product_id, l.location_id, null, l.operation_id,
    coalesce(n.count_id, 'none'), l.id
  from lines l
  left join lateral (
    select count_id, credential_id, position, counted_at from inventory_last_counts
    where merchant_id = $1 and location_id = l.location_id and product_id = l.product_id
    limit 1) n on true
  where coalesce(n.position, 0) < l.position
    or n.position = l.position and (n.count_id, n.credential_id, n.counted_at)
      is distinct from (l.id, l.credential_id, l.recorded_at)`;

/** Last counts after one, each against the count that it names. */
export function walkLastCounts(
  merchant: string,
  after: { readonly product_id: string; readonly location_id: string },
  limit: number,
): Statement<LevelRange> {
  return {
    name: '',
    text: `
      with chunk as materialized (
        select n.location_id, n.product_id, n.count_id, n.position
        from inventory_last_counts n
        where n.merchant_id = $1 and (n.location_id, n.product_id) > ($3, $2)
        order by n.location_id, n.product_id limit $4
      ), last as (
        select location_id, product_id from chunk
        order by location_id desc, product_id desc limit 1
      ), counted as materialized (
        select c.id, c.location_id, c.position, l.product_id
        from (select distinct count_id from chunk) n
        join lateral (
          select id, location_id, position, lines from inventory_counts
          where merchant_id = $1 and id = n.count_id limit 1) c on true
        cross join lateral json_to_recordset(c.lines) as l (product_id text)
      ), differences as (
        select 'last_count_of_none' as kind, n.product_id, n.location_id, null as movement_id,
          null as operation_id, n.count_id as found, null as expected
        from chunk n
        where not exists (select from counted c where c.id = n.count_id
          and c.location_id = n.location_id and c.product_id = n.product_id
          and c.position = n.position)
      )
      select (select count(*) from chunk)::int as fetched, 0 as levels, last.product_id,
        last.location_id,
        coalesce((select json_agg(d) from differences d), '[]') as differences
      from last`,
    values: [merchant, after.product_id, after.location_id, limit],
  };
}
