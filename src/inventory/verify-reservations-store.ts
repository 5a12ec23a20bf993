// The statements of `tallybook verify` that hold reservations against their lines, against what is
// reserved of levels, and against the movements that took them out.

import type { Statement } from '../core/statement.ts';
import type { LevelRange, OperationRange } from './verify-store.ts';

/** Reservations after one, each with its lines. */
export function walkReservations(
  merchant: string,
  after: string,
  limit: number,
): Statement<OperationRange> {
  return {
    name: '',
    text: `
      with chunk as materialized (
        select r.id, r.location_id, r.status, r.expires_at, r.operation_id, r.end_operation_id,
          r.movement_ids
        from inventory_reservations r
        where r.merchant_id = $1 and r.id > $2 order by r.id limit $3
      ), lines as materialized (
        select c.*, l.line, l.product_id, l.location_id as place, l.quantity, l.is_active,
          l.expires_at as expiry, c.movement_ids[l.line] as movement_id
        from chunk c
        join inventory_reservation_lines l on l.merchant_id = $1 and l.reservation_id = c.id
      ), differences as (${reservationDifferences})
      select (select count(*) from chunk)::int as fetched, max(chunk.id) as id,
        coalesce((select json_agg(d) from differences d), '[]') as differences
      from chunk having count(*) > 0`,
    values: [merchant, after, limit],
  };
}

const reservationDifferences = `
        select f.kind, l.product_id, l.place as location_id, l.movement_id,
          coalesce(l.end_operation_id, l.operation_id) as operation_id, f.found, f.expected
        from lines l
        left join lateral (
          select m.operation_id, m.product_id, m.location_id, m.quantity_delta
          from inventory_movements m
          where m.merchant_id = $1 and m.id = l.movement_id limit 1) m on true
        cross join lateral (values
          ('reservation_line_differs', (l.is_active, l.expiry, l.place)
            is distinct from (l.status = 'active', l.expires_at, l.location_id),
            l.is_active::text, l.status),
          ('reservation_movement_differs', l.status = 'fulfilled'
            and (m.operation_id, m.product_id, m.location_id, m.quantity_delta)
              is distinct from (l.end_operation_id, l.product_id, l.place, -l.quantity),
            m.quantity_delta::text, (-l.quantity)::text)
        ) as f (kind, is_found, found, expected)
        where f.is_found
        union all
        select f.kind, null, c.location_id, null, c.operation_id, f.found, f.expected
        from chunk c
        cross join lateral (select count(*) as lines from lines l where l.id = c.id) own
        left join lateral (
          select o.type, o.resource_id, o.status from operations o
          where o.merchant_id = $1 and o.id = c.operation_id limit 1) made on true
        left join lateral (
          select o.type, o.resource_id, o.status, o.movements from operations o
          where o.merchant_id = $1 and o.id = c.end_operation_id limit 1) ended on true
        cross join lateral (values
          ('reservation_without_lines', own.lines = 0, '0', null),
          ('reservation_movements_differ', cardinality(c.movement_ids)
              <> case when c.status = 'fulfilled' then own.lines else 0 end
            or coalesce(ended.movements, 0) <> cardinality(c.movement_ids),
            cardinality(c.movement_ids)::text, own.lines::text),
          ('reservation_without_operation', (made.type, made.resource_id, made.status)
              is distinct from ('inventory.reserve', c.id, 'succeeded')
            or c.status <> 'active' and (ended.type, ended.resource_id, ended.status)
              is distinct from (case c.status when 'fulfilled' then 'inventory.fulfil'
                when 'released' then 'inventory.release' else 'inventory.expire' end,
                c.id, 'succeeded'),
            coalesce(ended.resource_id, made.resource_id, 'none'), c.id)
        ) as f (kind, is_found, found, expected)
        where f.is_found`;

/** What is reserved of levels after one, each against its active lines. */
export function walkReserved(
  merchant: string,
  after: { readonly product_id: string; readonly location_id: string },
  limit: number,
): Statement<LevelRange> {
  return {
    name: '',
    text: `
      with chunk as materialized (
        select v.product_id, v.location_id from inventory_levels v
        where v.merchant_id = $1 and (v.product_id, v.location_id) > ($2, $3)
        order by v.product_id, v.location_id limit $4
      ), last as (
        select product_id, location_id from chunk
        order by product_id desc, location_id desc limit 1
      ), differences as (
        select 'reserved_not_sum' as kind, c.product_id, c.location_id, null as movement_id,
          null as operation_id, coalesce(r.quantity, 0)::text as found,
          coalesce(active.total, 0)::text as expected
        from chunk c
        left join lateral (
          select r.quantity from inventory_reserved r
          where r.merchant_id = $1 and r.product_id = c.product_id
            and r.location_id = c.location_id limit 1) r on true
        cross join lateral (
          select sum(l.quantity) as total from inventory_reservation_lines l
          where l.merchant_id = $1 and l.product_id = c.product_id
            and l.location_id = c.location_id and l.is_active) active
        where coalesce(r.quantity, 0) <> coalesce(active.total, 0)
      )
      select (select count(*) from chunk)::int as fetched, 0 as levels, last.*,
        coalesce((select json_agg(d) from differences d), '[]') as differences
      from last`,
    values: [merchant, after.product_id, after.location_id, limit],
  };
}
