// The sums of days. The ledger is walked, as far in one page as its bound allows. Where that ends
// within a day, the cursor carries the sums of this day along, to be gone on with. It also holds
// where the walk ends, so that all pages show one moment.

import type { DataOf, QueryOf } from '../contract/contract.ts';
import type { CollectionEndpoint } from '../contract/endpoint.ts';
import type { PageRequest } from '../contract/page.ts';
import { canonicalQuantity } from '../core/decimal.ts';
import { limits } from '../core/limits.ts';
import type { GrantedLocationId, MerchantId } from '../core/principal.ts';
import { type Detail, Problem } from '../core/problem.ts';
import type { Reader } from '../core/statement.ts';
import { journalOf, mismatch } from '../journal/known.ts';
import { lastPositionAt } from '../journal/store.ts';
import { listDays } from './contract.ts';
import { type DaySum, findZone, type Reached, type SummedUp, sumDays } from './daily-store.ts';
import { beginnings, datesBetween, daysBetween } from './days.ts';

type Query = QueryOf<typeof listDays>;
type Day = DataOf<typeof listDays>;

/** Beyond every line of an operation. */
const lastLine = 2_147_483_647;

/** What a cursor holds. */
interface Walk {
  readonly journal: string;
  readonly zone: string;
  readonly until: number;
  /** The number of the next day to show. */
  readonly day: number;
  readonly reached: Reached;
  readonly carried: readonly DaySum[];
}

export const dailyEndpoint: CollectionEndpoint<typeof listDays> = {
  contract: listDays,
  check: rangeFaults,
  async run(reader, { principal: { merchant }, location, query, page }) {
    if (location === undefined) throw new Problem('location_not_granted');
    const dates = datesBetween(query.from, query.to);
    const items: Day[] = [];
    let walk = await walkOf(reader, merchant, location, { query, page });
    const meta = { timezone: walk.zone };
    const begins = beginnings(dates, walk.zone);
    for (let n = 0; n < stepsPerPage && items.length < page.limit; n += 1) {
      const { zone: _zone, ...place } = walk;
      const folder = { merchant, location, product: query.product_id };
      const sums = await reader.query(sumDays({ ...folder, ...place, beginnings: begins }));
      const step = stepOf(sums, walk, { dates, limit: page.limit - items.length });
      items.push(...step.items);
      if (step.next === undefined) return { items, next: undefined, meta };
      walk = step.next;
    }
    return { items, next: JSON.stringify(walk), meta };
  },
};

const stepsPerPage = limits.movementsSummedMax / limits.movementsSummedAtOnce;

function rangeFaults({ from, to }: Query): Detail[] {
  const days = daysBetween(from, to) + 1;
  const fault = (message: string): Detail[] => [
    { field: 'query.to', code: 'value_not_allowed', message },
  ];
  if (days < 1) return fault('must not be before from');
  return days > limits.daysMax ? fault(`must be within ${limits.daysMax} days of from`) : [];
}

/** That of the cursor, or a new one: from before the first day to what has happened by now. */
async function walkOf(
  reader: Reader,
  merchant: MerchantId,
  location: GrantedLocationId,
  { query, page }: { readonly query: Query; readonly page: PageRequest },
): Promise<Walk> {
  const { id } = await journalOf(reader, merchant, {
    ...{ parameter: 'cursor', position: undefined, journal: undefined },
  });
  if (page.after !== undefined) {
    const walk = JSON.parse(page.after) as Walk;
    if (walk.journal !== id) throw mismatch('cursor', 'is of another journal');
    return walk;
  }
  const [place] = await reader.query(findZone(merchant, location));
  const zone = place?.timezone ?? 'UTC';
  const [begin = '', end = ''] = [query.from, query.to].map((date, n) =>
    String(beginnings([date], zone)[n]),
  );
  const [before] = await reader.query(lastPositionAt(merchant, begin, 'before'));
  const [last] = await reader.query(lastPositionAt(merchant, end, 'before'));
  return {
    ...{ journal: id, zone, until: last?.position ?? 0, day: 1, carried: [] },
    reached: [before?.position ?? 0, lastLine],
  };
}

interface Step {
  readonly items: readonly Day[];
  /** Where to go on; undefined behind the last day. */
  readonly next: Walk | undefined;
}

/** The days that were summed up as a whole, as many as fit. */
function stepOf(
  sums: readonly SummedUp[],
  walk: Walk,
  { dates, limit }: { readonly dates: readonly string[]; readonly limit: number },
): Step {
  const looked = sums.reduce((count, sum) => count + sum.looked, 0);
  const isWhole = looked < limits.movementsSummedAtOnce;
  /** The day that goes on in the next step; behind the last one there is none. */
  const unfinished = isWhole ? dates.length + 1 : (sums.at(-1)?.day ?? walk.day);
  const end = Math.min(unfinished, walk.day + limit);
  const sumsOf = (day: number) => sums.filter((sum) => sum.day === day);
  const items = dates
    .slice(walk.day - 1, end - 1)
    .map((date, n) => dayOf(date, sumsOf(walk.day + n)));
  if (end > dates.length) return { items, next: undefined };
  const isCut = end < unfinished;
  const done = isCut ? sums.filter(({ day }) => day < end) : sums;
  const next: Walk = {
    ...walk,
    day: end,
    reached: done.reduce((far, { reached }) => further(far, reached), walk.reached),
    carried: isCut ? [] : sumsOf(end).map(carriedOf),
  };
  return { items, next };
}

function dayOf(date: string, sums: readonly SummedUp[]): Day {
  const reasons = sums.map(({ reason, movements, quantity_in, quantity_out }) => ({
    reason: reason as Day['reasons'][number]['reason'],
    movements,
    quantity_in: canonicalQuantity(quantity_in),
    quantity_out: canonicalQuantity(quantity_out),
  }));
  return { date, movements: reasons.reduce((sum, one) => sum + one.movements, 0), reasons };
}

const carriedOf = ({ day, reason, movements, quantity_in, quantity_out }: SummedUp): DaySum => ({
  ...{ day, reason, movements, quantity_in, quantity_out },
});

function further(far: Reached, other: Reached | null): Reached {
  if (other === null) return far;
  const [position, line] = other;
  return position > far[0] || (position === far[0] && line > far[1]) ? [position, line] : far;
}
