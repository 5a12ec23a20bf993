// A link of the audit trail's chain: where a record stands, what its line says of that itself, and
// how its hash is made. It is done here once more, because the proof must not rest on the
// database's own function.

import { createHash } from 'node:crypto';
import type { AuditRecord, Position } from './store.ts';

/** Of a record that was found sound; without a place before the first one. */
export interface Link {
  readonly place: Position | undefined;
  readonly hash: string;
}

export const chainStart: Link = { place: undefined, hash: '00'.repeat(32) };

export function linkOf({ day, number, hash }: AuditRecord): Link {
  return { place: { day, number }, hash };
}

/** SHA-256 of the hash before and the line in UTF-8, in hexadecimal as hashes are. */
export function hashAfter(hash: string, line: string): string {
  return createHash('sha256').update(hash, 'hex').update(line, 'utf8').digest('hex');
}

/** What a line says of its own place, and the first one of a day of the record before it. */
export interface StatedPlace extends Position {
  readonly follows: Position | undefined;
}

const beginning =
  /^\{"day":"([0-9-]+)","number":([0-9]+)(?:,"follows":\{"day":"([0-9-]+)","number":([0-9]+)\})?,"/;

/** Undefined when the line does not begin as lines of the trail do. */
export function statedPlace(line: string): StatedPlace | undefined {
  const [, day, number, followedDay, followedNumber] = beginning.exec(line) ?? [];
  if (day === undefined) return undefined;
  const follows =
    followedDay === undefined ? undefined : { day: followedDay, number: Number(followedNumber) };
  return { day, number: Number(number), follows };
}

/** Below zero when the first comes before the second. */
export function comparePlaces(one: Position, other: Position): number {
  if (one.day !== other.day) return one.day < other.day ? -1 : 1;
  return one.number - other.number;
}

/** Whether a record is the one that comes next. */
export function isNext(last: Link, record: AuditRecord): boolean {
  const stated = statedPlace(record.line);
  return (
    stated !== undefined &&
    comparePlaces(stated, record) === 0 &&
    isNextPlace(last.place, record) &&
    hashAfter(last.hash, record.line) === record.hash
  );
}

function isNextPlace(last: Position | undefined, { day, number }: Position): boolean {
  return last?.day === day ? number === last.number + 1 : number === 1;
}
