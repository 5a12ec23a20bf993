// Says what is wrong where the chain of the audit trail breaks, and which record is the first that
// is not as it was written. Where hashes alone leave two answers open, the message names both.

import { comparePlaces, hashAfter, type Link, statedPlace } from './link.ts';
import type { AuditRecord, ChainEnd, Position } from './store.ts';

export interface ChainFault {
  /**
   * - `missing`: a record that was there is not.
   * - `inserted`: a record that nobody appended.
   * - `misplaced`: a record with the line of another one.
   * - `altered`: its line or its hash is not what was written.
   * - `end_missing`: the database no longer knows where the chain ends.
   * - `hash_missing`: the chain is sound by itself, and not the one that the hash was kept of.
   */
  readonly kind: 'missing' | 'inserted' | 'misplaced' | 'altered' | 'end_missing' | 'hash_missing';
  /** Which record; null when it is none. */
  readonly day: string | null;
  readonly number: number | null;
  readonly message: string;
}

/** A record that does not come next, and what is around it. */
export interface Break {
  /** The link before the last sound one. */
  readonly before: Link;
  readonly last: Link;
  readonly record: AuditRecord;
  readonly next: AuditRecord | undefined;
}

export function recordFault({ before, last, record, next }: Break): ChainFault {
  if (last.place !== undefined && hashAfter(before.hash, record.line) === record.hash) {
    return inserted(last.place);
  }
  const stated = statedPlace(record.line);
  if (stated !== undefined && comparePlaces(stated, record) !== 0) {
    return fault('misplaced', record, `it has the line of ${nameOf(stated)}`);
  }
  if (next !== undefined && hashAfter(last.hash, next.line) === next.hash) return inserted(record);
  const missing = missingBefore(last.place, record);
  if (missing !== undefined) {
    return fault('missing', missing, `the next one is ${nameOf(record)}`);
  }
  if (stated === undefined) {
    return fault('altered', record, 'its line does not begin as those of the trail do');
  }
  return followFault(last.place, record, stated.follows) ?? hashFault(last, record, next);
}

/** What is wrong with the end, once all records up to there are sound. */
export function endFault(last: Link, end: ChainEnd | undefined): ChainFault | undefined {
  if (end === undefined) {
    return fault('end_missing', undefined, 'the row that says where the chain ends is missing');
  }
  if (end.day !== null) {
    const place = { day: end.day, number: end.number };
    const { place: lastPlace = { day: '', number: 0 } } = last;
    if (comparePlaces(lastPlace, place) < 0) {
      const number = lastPlace.day === place.day ? lastPlace.number + 1 : 1;
      const message = `the chain went on until ${nameOf(place)}`;
      return fault('missing', { day: place.day, number }, message);
    }
    if (last.hash !== end.hash) {
      return fault('altered', place, 'its hash is not the one that the end of the chain names');
    }
  }
  if (end.beyond === null) return undefined;
  return fault('inserted', end.beyond, 'it stands beyond the end of the chain');
}

export function hashMissing(hash: string): ChainFault {
  const message = `no record has the hash ${hash}: this is not the trail that it was kept of`;
  return fault('hash_missing', undefined, message);
}

function nameOf({ day, number }: Position): string {
  return `number ${number} of ${day}`;
}

function inserted(place: Position): ChainFault {
  return fault('inserted', place, 'the record after it follows from the one before it');
}

function missingBefore(last: Position | undefined, record: Position): Position | undefined {
  const expected = last?.day === record.day ? last.number + 1 : 1;
  return record.number > expected ? { day: record.day, number: expected } : undefined;
}

/** The first record of a day says which one it follows: what is not there is missing. */
function followFault(
  last: Position | undefined,
  record: Position,
  follows: Position | undefined,
): ChainFault | undefined {
  if (follows === undefined || record.number !== 1) return undefined;
  const distance = last === undefined ? -1 : comparePlaces(last, follows);
  if (distance === 0) return undefined;
  const isSameDay = last?.day === follows.day;
  if (distance > 0 && last !== undefined) {
    const number = isSameDay ? follows.number + 1 : 1;
    return fault(
      'inserted',
      { day: last.day, number },
      `${nameOf(record)} follows ${nameOf(follows)}`,
    );
  }
  const number = isSameDay && last !== undefined ? last.number + 1 : 1;
  const message = `${nameOf(record)} follows ${nameOf(follows)}`;
  return fault('missing', { day: follows.day, number }, message);
}

function hashFault(last: Link, record: AuditRecord, next: AuditRecord | undefined): ChainFault {
  const computed = hashAfter(last.hash, record.line);
  if (next !== undefined && hashAfter(computed, next.line) === next.hash) {
    return fault('altered', record, 'its hash is not that of its line');
  }
  const other = last.place === undefined ? '' : `, or ${nameOf(last.place)} with its hash`;
  return fault('altered', record, `its hash is not that of its line: the line was changed${other}`);
}

function fault(kind: ChainFault['kind'], place: Position | undefined, message: string): ChainFault {
  return { kind, day: place?.day ?? null, number: place?.number ?? null, message };
}
