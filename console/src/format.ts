// How values are read and written: numbers and times in the reader's locale. Quantities are decimal
// texts from end to end: a floating-point number would change some of them.

/** Some systems name a language that is none. */
const [locale = 'en'] = [...navigator.languages, 'en'].filter(isLocale);

function isLocale(name: string): boolean {
  try {
    return Intl.getCanonicalLocales(name).length === 1;
  } catch {
    return false;
  }
}

// Charts ask for it by themselves, and fail at one that is none.
if (!isLocale(navigator.language)) Object.defineProperty(navigator, 'language', { value: locale });

const parts = new Intl.NumberFormat(locale).formatToParts(12_345.6);
const partOf = (type: string) => parts.find((part) => part.type === type)?.value ?? '';
const decimalSign = partOf('decimal') || '.';
const groupSign = partOf('group');

/** A decimal text, digit by digit, with the signs of the locale. */
export function quantityText(value: string): string {
  const decimals = value.split('.')[1]?.length ?? 0;
  // Given a text, the formatter is exact (ECMA-402, section 16.5.16).
  return new Intl.NumberFormat(locale, {
    minimumFractionDigits: decimals,
    maximumFractionDigits: 20,
  }).format(value as `${number}`);
}

/** The same with a sign: what was added, or taken away. */
export function changeText(value: string): string {
  return value.startsWith('-') ? `−${quantityText(value.slice(1))}` : `+${quantityText(value)}`;
}

/** What somebody typed, as the service reads it; undefined when it is no quantity. */
export function quantityOf(typed: string): string | undefined {
  const plain = typed
    .trim()
    .replaceAll(/[\s\u00a0\u202f]/g, '')
    .replaceAll('−', '-');
  const text =
    decimalSign === ','
      ? plain
          .replaceAll(groupSign === '.' && /\.\d{3}(\D|$)/.test(plain) ? '.' : '\0', '')
          .replace(',', '.')
      : plain.replaceAll(groupSign === ',' ? ',' : '\0', '');
  return /^-?\d{1,15}(\.\d{1,6})?$/.test(text) ? text : undefined;
}

const moments = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' });
const exact = new Intl.DateTimeFormat(locale, { dateStyle: 'full', timeStyle: 'long' });
const days = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short' });

export const momentText = (time: string): string => moments.format(new Date(time));

/** With seconds and time zone, for who asks. */
export const exactMomentText = (time: string): string => exact.format(new Date(time));

/** A day of the service, YYYY-MM-DD, as it is called, wherever the reader is. */
export const dayText = (day: string): string => days.format(new Date(`${day}T12:00:00`));

const clock = new Intl.DateTimeFormat(locale, { timeStyle: 'short' });
const exactClock = new Intl.DateTimeFormat(locale, { timeStyle: 'medium' });

/** A mark of a time axis whose marks are so many seconds apart. */
export function tickText(seconds: number, apart: number): string {
  const time = new Date(seconds * 1_000);
  if (apart >= 86_400) return days.format(time);
  return (apart < 60 ? exactClock : clock).format(time);
}

const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });
const steps = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const;

/** "5 minutes ago", and the date when it is longer than a week ago. */
export function agoText(time: string, now = Date.now()): string {
  const seconds = (new Date(time).getTime() - now) / 1000;
  if (Math.abs(seconds) > 7 * 86_400) return momentText(time);
  const [unit, size] = steps.find(([, one]) => Math.abs(seconds) >= one) ?? ['minute', 60];
  return relative.format(Math.round(seconds / size), unit);
}

export const countText = (count: number): string => new Intl.NumberFormat(locale).format(count);
