// The forms of text. First the formats that schemas name: each says not only whether a string is
// acceptable but which code and message to answer, so that one schema serves the published document
// and the error details. Then times as the database takes them, and the words that `q` finds.
// All patterns are linear: no backtracking on hostile input.

import { quantityFault } from '../core/decimal.ts';
import type { DetailCode } from '../core/problem.ts';

/** Why a value is refused, ready to become an entry of `error.details`. */
export interface Fault {
  readonly code: DetailCode;
  readonly message: string;
}

type Check = (text: string) => Fault | undefined;

export const formats = {
  quantity: quantityFault,
  text: controlCharacterFault,
  name: (text) => controlCharacterFault(text) ?? blankFault(text),
  email: emailFault,
  phone: (text) =>
    /^\+[1-9][0-9]{1,14}$/.test(text)
      ? undefined
      : { code: 'invalid_format', message: 'must be an E.164 number such as "+4930123456"' },
  'time-zone': timeZoneFault,
  date: dateFault,
  'date-time': dateTimeFault,
  moment: (text) => (text === 'now' ? undefined : momentFault(text)),
} as const satisfies Record<string, Check>;

export type Format = keyof typeof formats;

/** Unicode category Cc: C0, DEL and C1. They have no place in a name and forge log lines. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it finds.
const controlCharacter = /[\u0000-\u001f\u007f-\u009f]/;

function controlCharacterFault(text: string): Fault | undefined {
  return controlCharacter.test(text)
    ? { code: 'invalid_format', message: 'must not contain control characters' }
    : undefined;
}

function blankFault(text: string): Fault | undefined {
  return text !== '' && text.trim() === ''
    ? { code: 'invalid_format', message: 'must not be blank' }
    : undefined;
}

const emailLocal = /^[^\s@"(),:;<>[\]\\]{1,64}$/u;
const emailLabel = /^[\p{L}\p{N}](?:[\p{L}\p{M}\p{N}-]{0,61}[\p{L}\p{M}\p{N}])?$/u;

/**
 * The addresses in use (RFC 5321 with the international parts of RFC 6531), without quoted local
 * parts and address literals: a local part, one @, and a domain of at least two labels.
 */
function emailFault(text: string): Fault | undefined {
  const at = text.indexOf('@');
  const local = text.slice(0, Math.max(at, 0));
  const labels = text.slice(at + 1).split('.');
  const isAddress =
    at > 0 &&
    controlCharacterFault(text) === undefined &&
    emailLocal.test(local) &&
    !local.startsWith('.') &&
    !local.endsWith('.') &&
    !local.includes('..') &&
    labels.length >= 2 &&
    labels.every((label) => emailLabel.test(label));
  return isAddress
    ? undefined
    : { code: 'invalid_email', message: 'must be an e-mail address such as "ada@example.com"' };
}

/** What the platform knows beyond IANA: three-letter names of its own, some with two meanings. */
const notOfIana = /^(?!(?:CET|EET|EST|GMT|HST|MET|MST|PRC|ROC|ROK|UCT|UTC|WET)$)[A-Z]{3}$|^SystemV/;

function timeZoneFault(text: string): Fault | undefined {
  const fault: Fault = {
    code: 'unknown_value',
    message: 'must be an IANA time zone such as "Europe/Berlin"',
  };
  if (!/^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/.test(text) || notOfIana.test(text)) return fault;
  try {
    const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions();
    // Other libraries know a zone by its exact name only.
    return timeZone.toLowerCase() === text.toLowerCase() && timeZone !== text ? fault : undefined;
  } catch {
    return fault;
  }
}

const clock = '(?:[01]\\d|2[0-3]):[0-5]\\d';
const dateTime = new RegExp(
  `^(\\d{4})-(\\d{2})-(\\d{2})[Tt]${clock}:[0-5]\\d(?:\\.\\d{1,9})?(?:[Zz]|[+-]${clock})$`,
);

/** RFC 3339, without leap seconds. */
function dateTimeFault(text: string): Fault | undefined {
  return isOfDate(dateTime.exec(text))
    ? undefined
    : {
        code: 'invalid_format',
        message: 'must be an RFC 3339 time such as "2026-01-31T12:00:00Z" (encode + as %2B)',
      };
}

function dateFault(text: string): Fault | undefined {
  return isOfDate(/^(\d{4})-(\d{2})-(\d{2})$/.exec(text))
    ? undefined
    : { code: 'invalid_format', message: 'must be a date such as "2026-01-31"' };
}

/** Whether there is such a day. PostgreSQL does not have the year 0. */
function isOfDate(found: RegExpExecArray | null): boolean {
  const [, year = '0', month = '0', day = '0'] = found ?? [];
  const date = new Date(Date.UTC(2000, Number(month) - 1, 1));
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  const exists = date.getUTCMonth() + 1 === Number(month) && date.getUTCDate() === Number(day);
  return Number(year) >= 1 && exists;
}

function momentFault(text: string): Fault | undefined {
  const fault = dateTimeFault(text);
  return fault && { ...fault, message: fault.message.replace('be', 'be "now" or') };
}

const earliest = Date.parse('0001-01-01T00:00:00.000Z');
const latest = Date.parse('9999-12-31T23:59:59.999Z');

/**
 * A time that the format accepts, as the database takes it: in UTC, within its years (it refuses
 * offsets from 16 hours on), rounded to the milliseconds that rows have: up, which leaves both "at
 * or after" and "before" exact, or down, which leaves "at or before" exact.
 */
export function utcTime(text: string, rounded: 'up' | 'down' = 'up'): string {
  const beyondMilliseconds = /\.\d{3}(\d+)/.exec(text)?.[1] ?? '';
  const isUp = rounded === 'up' && /[1-9]/.test(beyondMilliseconds);
  const time = Date.parse(text) + (isUp ? 1 : 0);
  return new Date(Math.min(Math.max(time, earliest), latest)).toISOString();
}

/** Far below the 2,046 bytes that the database takes, also after compatibility decomposition. */
const wordLengthMax = 128;

const accent = /[\u0300-\u036f]/g;
const word = /[\p{L}\p{N}\p{M}]+/gu;

/**
 * The words of texts as a tsvector literal; letters, marks and digits need no quoting. They are cut
 * here, not by the database: its parser takes `shop.com`, `red/L` and `AB-100` for a host, a path
 * and a negative number, and folds case by a locale that is the operator's choice.
 */
export function searchText(...texts: readonly (string | null)[]): string {
  return words(texts.join(' ')).join(' ');
}

/**
 * A tsquery literal that asks for all words of `q`, each as a beginning. Without a single word it
 * is empty, which matches nothing.
 */
export function searchQuery(q: string): string {
  return words(q)
    .map((each) => `${each}:*`)
    .join(' & ');
}

/** So much of a name says where it is in a list; what is equal so far is sorted by ID. */
const sortedLengthMax = 64;

/** What names are sorted by. The database would sort by a locale that is the operator's choice. */
export function sortText(text: string): string {
  return [...plainText(text)].slice(0, sortedLengthMax).join('');
}

/** Each word once: lower case, without accents, one form per character. */
function words(text: string): string[] {
  const found = plainText(text).match(word) ?? [];
  return [...new Set(found.map((each) => [...each].slice(0, wordLengthMax).join('')))];
}

function plainText(text: string): string {
  return text.normalize('NFKD').replace(accent, '').toLowerCase();
}
