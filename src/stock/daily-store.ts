// The statements behind the sums of days.

import { lookupId } from '../core/id.ts';
import { limits } from '../core/limits.ts';
import type { GrantedLocationId, MerchantId } from '../core/principal.ts';
import type { Statement } from '../core/statement.ts';

export function findZone(
  merchant: MerchantId,
  location: GrantedLocationId,
): Statement<{ timezone: string }> {
  return {
    name: 'find_zone',
    text: 'select timezone from locations where merchant_id = $1 and id = $2',
    values: [merchant, location],
  };
}

/** A place among movements: all up to it was summed up. */
export type Reached = readonly [position: number, line: number];

/** What the movements of a day came to that had one reason, or what a part of them did. */
export interface DaySum {
  /** The number of the day, from 1. */
  readonly day: number;
  readonly reason: string;
  readonly movements: number;
  readonly quantity_in: string;
  readonly quantity_out: string;
}

export interface SummedUp extends DaySum {
  /** Its last movement. Of a sum that was carried along, and got no more: none. */
  readonly reached: Reached | null;
  /** How many movements were looked at for it. */
  readonly looked: number;
}

export interface DayWalk {
  readonly merchant: MerchantId;
  readonly location: GrantedLocationId;
  readonly product: string | undefined;
  /** When the days begin, and the last one ends. */
  readonly beginnings: readonly string[];
  readonly reached: Reached;
  /** The last position of all. */
  readonly until: number;
  /** Of the day in which the page before has ended. */
  readonly carried: readonly DaySum[];
}

/**
 * Sums of the next movements, by day and reason, along the index of a location or of a level.
 * Planned anew each time: only values show how many of the movements are there. A plan for any
 * took an index of another order, and sorted all that it found.
 */
export function sumDays(walk: DayWalk): Statement<SummedUp> {
  return {
    name: '',
    text: `
      select day, reason, sum(movements)::bigint as movements,
        sum(quantity_in)::text as quantity_in, sum(quantity_out)::text as quantity_out,
        to_json(max(reached)) as reached, sum(looked)::bigint as looked
      from (
        select day, reason, count(*) as movements, sum(greatest(change, 0)) as quantity_in,
          sum(greatest(-change, 0)) as quantity_out, max(place) as reached, count(*) as looked
        from (
          select width_bucket(m.recorded_at, $3::timestamptz[]) as day, m.reason,
            m.quantity_delta as change, array[m.position, m.line] as place
          from inventory_movements m
          where m.merchant_id = $1 and m.location_id = $2
            and ($8::text is null or m.product_id = $8)
            and (m.position, m.line) > ($4::bigint, $5::int) and m.position <= $6::bigint
          order by m.position, m.line
          limit ${limits.movementsSummedAtOnce}) walked
        group by day, reason
        union all
        select day, reason, movements, quantity_in, quantity_out, null, 0
        from json_to_recordset($7) as carried (day int, reason text, movements bigint,
          quantity_in numeric, quantity_out numeric)) parts
      group by day, reason
      order by day, reason`,
    values: [
      ...[walk.merchant, walk.location, walk.beginnings, ...walk.reached, walk.until],
      ...[JSON.stringify(walk.carried), walk.product === undefined ? null : lookupId(walk.product)],
    ],
  };
}
