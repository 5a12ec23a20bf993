// The statement of `tallybook verify` that holds transfers against the movements they made: each
// line took from one side what it says, and gave it to the other.

import type { Statement } from '../core/statement.ts';
import type { OperationRange } from './verify-store.ts';

/** Transfers after one. */
export function walkTransfers(
  merchant: string,
  after: string,
  limit: number,
): Statement<OperationRange> {
  return {
    name: '',
    text: `
      with chunk as materialized (
        select t.id, t.from_location_id, t.to_location_id, t.lines, t.is_short, t.operation_id,
          t.position
        from inventory_transfers t
        where t.merchant_id = $1 and t.id > $2 order by t.id limit $3
      ), sides as materialized (
        select c.id, c.operation_id, l.product_id, side.location_id, side.movement_id, side.delta
        from chunk c
        cross join lateral json_to_recordset(c.lines) as l (product_id text, quantity numeric,
          quantity_short numeric, out_movement_id text, in_movement_id text)
        cross join lateral (values
          (c.from_location_id, l.out_movement_id, l.quantity_short - l.quantity),
          (c.to_location_id, l.in_movement_id, l.quantity - l.quantity_short)
        ) as side (location_id, movement_id, delta)
        where side.location_id is not null or side.movement_id is not null
      ), differences as (
        select 'transfer_line_differs' as kind, s.product_id, s.location_id, s.movement_id,
          s.operation_id, m.quantity_delta::text as found, s.delta::text as expected
        from sides s
        left join lateral (
          select operation_id, product_id, location_id, quantity_delta from inventory_movements
          where merchant_id = $1 and id = s.movement_id limit 1) m on true
        where (s.delta <> 0 or s.movement_id is not null)
          and (m.operation_id, m.product_id, m.location_id, m.quantity_delta)
            is distinct from (s.operation_id, s.product_id, s.location_id, s.delta)
        union all
        select f.kind, null, null, null, c.operation_id, f.found, f.expected
        from chunk c
        left join lateral (
          select type, status, resource_id, movements, position from operations
          where merchant_id = $1 and id = c.operation_id limit 1) o on true
        cross join lateral (
          select count(s.movement_id) as movements from sides s where s.id = c.id) named
        cross join lateral (values
          ('transfer_without_operation', (o.type, o.status, o.resource_id, o.position)
            is distinct from ('inventory.transfer', 'succeeded', c.id, c.position),
            coalesce(o.resource_id, 'none'), c.id),
          ('transfer_movements_differ', o.movements <> named.movements, named.movements::text,
            o.movements::text)
        ) as f (kind, is_found, found, expected)
        where f.is_found
      )
      select (select count(*) from chunk)::int as fetched, max(chunk.id) as id,
        coalesce((select json_agg(d) from differences d), '[]') as differences
      from chunk having count(*) > 0`,
    values: [merchant, after, limit],
  };
}
