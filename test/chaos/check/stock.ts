// Whether what was put aside was there, and counts added what had come or left: the ledger and the
// reservations walked in the order of positions, by nothing of the product.

import type { CheckedDatabase } from './ledger.ts';
import type { Finding } from './verdict.ts';

/** Reserved quantities that are not the sum of active lines, either of which may be missing. */
const offReserved = `
  with active as (
    select l.merchant_id, l.product_id, l.location_id, sum(l.quantity) as total
    from inventory_reservation_lines l
    join inventory_reservations r on r.merchant_id = l.merchant_id and r.id = l.reservation_id
    where r.status = 'active' group by 1, 2, 3)
  select merchant_id, product_id, location_id, s.quantity, a.total
  from inventory_reserved s full join active a using (merchant_id, product_id, location_id)
  where coalesce(s.quantity, 0) <> coalesce(a.total, 0)
  union all
  select l.merchant_id, l.product_id, l.location_id, l.quantity, null
  from inventory_reservation_lines l
  join inventory_reservations r on r.merchant_id = l.merchant_id and r.id = l.reservation_id
  where l.is_active <> (r.status = 'active')`;

interface Step {
  readonly [column: string]: unknown;
  readonly place: string;
  readonly position: number;
  readonly what: 'moved' | 'reserved' | 'ended' | 'counted';
  readonly reservation: string;
  /** Of a movement the level before it; what a reservation holds; what was counted. */
  readonly quantity: number;
  /** Of a movement the level after it, of a count the level that it made. */
  readonly after: number;
  /** Of a reservation when it expires (ms); of a count the position that it names. */
  readonly until: number | null;
  readonly at: number;
  /** Takes only what is not put aside. */
  readonly isSale: boolean;
  /** Of a movement: somebody counted, and nothing came or left. */
  readonly isCorrection: boolean;
}

const milliseconds = (column: string) => `extract(epoch from ${column})::float8 * 1000`;

/** What happened to levels of which something was put aside or counted, in its order. */
const steps = `
  with held as (
    select l.merchant_id, l.product_id || ' ' || l.location_id as place, l.reservation_id,
      l.quantity::float8, ${milliseconds('l.expires_at')} as until, o.position, e.position as ended,
      ${milliseconds('r.recorded_at')} as at
    from inventory_reservation_lines l
    join inventory_reservations r on r.merchant_id = l.merchant_id and r.id = l.reservation_id
    join operations o on o.merchant_id = r.merchant_id and o.id = r.operation_id
    left join operations e on e.merchant_id = r.merchant_id and e.id = r.end_operation_id
  ), counted as (
    select c.merchant_id, l.product_id || ' ' || c.location_id as place, c.id, c.position,
      l.counted_quantity::float8 as quantity, l.quantity_after::float8 as after,
      l.counted_at_position::float8 as until
    from inventory_counts c
    cross join lateral json_to_recordset(c.lines) as l (product_id text, counted_quantity numeric,
      quantity_after numeric, counted_at_position bigint)
  )
  select place, position::int, 'reserved' as what, reservation_id as reservation, quantity,
    0::float8 as after, until, at, false as "isSale", false as "isCorrection", 1 as turn from held
  union all select place, ended::int, 'ended', reservation_id, quantity, 0, null, at, false, false,
    0
    from held where ended is not null
  union all select place, position::int, 'counted', id, quantity, after, until, 0, false, false, 2
    from counted
  union all select m.product_id || ' ' || m.location_id, m.position::int, 'moved', m.operation_id,
    m.quantity_before::float8, m.quantity_after::float8, null, ${milliseconds('m.recorded_at')},
    m.type = 'transfer_out' and m.reason not in ('damage', 'loss'),
    m.reason = 'stock_count', 3
  from inventory_movements m
  where m.product_id || ' ' || m.location_id in (
    select place from held union select place from counted)
  order by place, position, turn`;

export async function checkStock(database: CheckedDatabase): Promise<Finding[]> {
  const off = await database.query(offReserved);
  const places = new Map<string, Step[]>();
  for (const step of await database.query<Step & Record<string, unknown>>(steps)) {
    const own = places.get(step.place);
    if (own === undefined) places.set(step.place, [step]);
    else own.push(step);
  }
  const walked = [...places.values()].map(walk);
  const lines = (rows: readonly object[]) => rows.map((row) => JSON.stringify(row));
  return [
    { what: 'reserved quantities that are not the sum of active lines', faults: lines(off) },
    {
      what: 'more put aside or taken than was available',
      faults: lines(walked.flatMap(({ taken }) => taken)),
    },
    {
      what: 'counts that are not what was counted and has moved since',
      faults: lines(walked.flatMap(({ counted }) => counted)),
    },
  ];
}

/** The steps of a level that should not have been. */
function walk(all: readonly Step[]) {
  const active = new Map<string, Step>();
  const past: Step[] = [];
  let level = 0;
  const taken: object[] = [];
  const counted: object[] = [];
  for (const step of all) {
    const { what, reservation, quantity, after, until, at } = step;
    const aside = [...active.values()]
      .filter((one) => one.until === null || one.until > at)
      .reduce((sum, one) => sum + one.quantity, 0);
    if (what === 'ended') active.delete(reservation);
    if (what === 'reserved') {
      if (quantity > level - aside) taken.push({ ...step, level, aside });
      active.set(reservation, step);
    }
    if (what === 'counted') {
      const then = past.findLast(({ position }) => position <= Number(until))?.after ?? 0;
      const corrected = past
        .filter((one) => one.isCorrection && one.position > Number(until))
        .reduce((sum, one) => sum + one.after - one.quantity, 0);
      const expected = until === null ? quantity : quantity + level - then - corrected;
      if (after !== expected) counted.push({ ...step, level, then });
    }
    if (what === 'moved') {
      if (step.isSale && after < aside) taken.push({ ...step, aside });
      level = after;
      past.push(step);
    }
  }
  return { taken, counted };
}
