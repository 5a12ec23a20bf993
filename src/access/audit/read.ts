// Reads the audit trail: the newest records for a person, all of them for an export. It reads a
// bounded range at a time, so that memory does not grow with the trail, and searches lines as text,
// because it must also work when somebody has altered a line.

import type { Reader } from '../../core/statement.ts';
import { type AuditPosition, type AuditRecord, recordsAfter, recordsBefore } from './store.ts';

/** Which records are wanted. Times are RFC 3339 in UTC with milliseconds. */
export interface AuditFilter {
  /** The first moment of the range. */
  readonly since?: string | undefined;
  /** The first moment after the range. */
  readonly until?: string | undefined;
  readonly merchant?: string | undefined;
  readonly credential?: string | undefined;
  /** An action such as `token.create`, or all that begin with `token`. */
  readonly action?: string | undefined;
}

/** A range of this many records is about 1 MB. */
const rangeSizeDefault = 2_000;

/** The newest records that are wanted, the newest last. */
export async function newestRecords(
  reader: Reader,
  filter: AuditFilter,
  limit: number,
): Promise<AuditRecord[]> {
  const isWanted = matcherOf(filter);
  const { since } = filter;
  const found: AuditRecord[] = [];
  for (let place: AuditPosition | undefined; ; ) {
    const range = await reader.query(recordsBefore(place, rangeSizeDefault));
    found.push(...range.filter(isWanted).slice(0, limit - found.length));
    place = range.at(-1);
    // The day of a line is never before the day of what it reports.
    const isPast = since !== undefined && place !== undefined && place.day < since.slice(0, 10);
    if (place === undefined || isPast || found.length === limit) return found.reverse();
  }
}

/** All records that are wanted, in the order of the chain, some at a time. */
export async function* allRecords(
  reader: Reader,
  filter: AuditFilter,
  rangeSize = rangeSizeDefault,
): AsyncGenerator<readonly AuditRecord[]> {
  const isWanted = matcherOf(filter);
  // The first number of the first day that can hold one.
  let place: AuditPosition | undefined =
    filter.since === undefined ? undefined : { day: filter.since.slice(0, 10), number: 0 };
  for (;;) {
    const range = await reader.query(recordsAfter(place, rangeSize));
    const wanted = range.filter(isWanted);
    if (wanted.length > 0) yield wanted;
    place = range.at(-1);
    if (place === undefined) return;
  }
}

/** Quotes inside of a value are escaped, so only a member of the line can look like these. */
function matcherOf(filter: AuditFilter): (record: AuditRecord) => boolean {
  const { since, until, merchant, credential, action } = filter;
  const parts = [
    ...(merchant === undefined ? [] : [`"merchant_id":"${merchant}"`]),
    ...(credential === undefined ? [] : [`"credential_id":"${credential}"`]),
    ...(action === undefined ? [] : [`"action":"${action}${action.includes('.') ? '"' : '.'}`]),
  ];
  return ({ line }) => {
    if (!parts.every((part) => line.includes(part))) return false;
    if (since === undefined && until === undefined) return true;
    // Times in one form sort as text.
    const at = /"at":"([^"]*)"/.exec(line)?.[1];
    return at !== undefined && at >= (since ?? '') && (until === undefined || at < until);
  };
}

/**
 * A record as one line of JSON: the line as it is stored, with its hash as the last member. Without
 * that member it is the very text that the hash was made from.
 */
export function exportedLine({ line, hash }: AuditRecord): string {
  return `${line.replace(/\}$/, '')},"hash":"${hash}"}`;
}
