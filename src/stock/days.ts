// When days begin in a time zone. The zones are those of the platform, which has accepted each
// location's; the database may know others.

const day = 86_400_000;

/** What the database takes for a time. */
const earliest = Date.parse('0001-01-01T00:00:00.000Z');
const latest = Date.parse('9999-12-31T23:59:59.999Z');

/** The days from one to another, both of them among these: `2026-01-31`. */
export function datesBetween(from: string, to: string): string[] {
  const first = Date.parse(from);
  const count = daysBetween(from, to) + 1;
  return Array.from({ length: Math.max(count, 0) }, (_, n) => dateOf(first + n * day));
}

/** How many days later `to` is than `from`. */
export const daysBetween = (from: string, to: string): number =>
  Math.round((Date.parse(to) - Date.parse(from)) / day);

/**
 * When each of the days begins in a zone, and when the last one ends. A day begins at the first
 * moment that has its date: at midnight, the first of two, or later where there is none.
 */
export function beginnings(dates: readonly string[], zone: string): string[] {
  const clock = clockOf(zone);
  const midnights = dates.map((date) => Date.parse(date));
  const end = (midnights.at(-1) ?? 0) + day;
  return [...midnights, end].map((midnight) => {
    const begins = beginningOf(midnight, clock);
    return new Date(Math.min(Math.max(begins, earliest), latest)).toISOString();
  });
}

/** What clocks of the zone show at a moment, as if it were UTC: whole seconds. */
type Clock = (moment: number) => number;

/** No zone was ever further from UTC. */
const furthest = 18 * 3_600_000;

function beginningOf(midnight: number, clock: Clock): number {
  // The date never goes back by more than a clock that is set back around midnight.
  let before = midnight - furthest;
  let at = midnight + furthest;
  for (const guess of guesses(midnight, clock)) {
    if (clock(guess) >= midnight) at = Math.min(at, guess);
    else before = Math.max(before, guess);
  }
  if (clock(at - 1000) < midnight) return at;
  while (at - before > 1) {
    const middle = Math.floor((before + at) / 2);
    if (clock(middle) >= midnight) at = middle;
    else before = middle;
  }
  return at;
}

/** The moments at which it is midnight, by what the zone has around it: nearly always right. */
function guesses(midnight: number, clock: Clock): number[] {
  const offsetAt = (moment: number) => clock(moment) - moment;
  const early = midnight - offsetAt(midnight - furthest);
  return [early, midnight - offsetAt(midnight + furthest)];
}

function clockOf(timeZone: string): Clock {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    calendar: 'iso8601',
    hourCycle: 'h23',
    era: 'short',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  return (moment) => {
    const part: Record<string, string> = {};
    for (const { type, value } of format.formatToParts(moment)) part[type] = value;
    const year = part.era?.startsWith('B') === true ? 1 - Number(part.year) : Number(part.year);
    const { month, day: date, hour, minute, second } = part;
    const shown = new Date(0);
    shown.setUTCFullYear(year, Number(month) - 1, Number(date));
    return shown.setUTCHours(Number(hour), Number(minute), Number(second));
  };
}

const dateOf = (moment: number): string => new Date(moment).toISOString().slice(0, 10);
