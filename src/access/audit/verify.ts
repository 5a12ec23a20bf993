// Proves that the audit trail is the one that was written. It recomputes every hash from the line
// and the hash before it. It does so here, because the database's function may have been altered.
// It reports the first record that does not fit, and reads no further than the end was when it
// began.

import { createHash } from 'node:crypto';
import type { Reader } from '../../core/statement.ts';
import {
  type AuditPosition,
  type AuditRecord,
  type ChainEnd,
  findChainEnd,
  recordsAfter,
} from './store.ts';

export interface ChainReport {
  readonly ok: boolean;
  /** How many records are sound, from the first one on. */
  readonly records: number;
  /** The last of them. A copy of its hash, kept elsewhere, shows when a trail was made anew. */
  readonly last: (AuditPosition & { readonly hash: string }) | null;
  readonly fault: ChainFault | null;
}

export interface ChainFault {
  /**
   * - `missing`: a record that was there is not.
   * - `inserted`: a record that was never appended.
   * - `altered`: its line, its place or its hash is not what was written.
   * - `end_missing`: the database does not know where the chain ends.
   * - `hash_missing`: the chain is sound by itself, but it is not the one that the hash is of.
   */
  readonly kind: 'missing' | 'inserted' | 'altered' | 'end_missing' | 'hash_missing';
  /** Which record; null when the fault is not in a record. */
  readonly day: string | null;
  readonly number: number | null;
  readonly message: string;
}

/** A range of this many records takes some 30 ms and is about 1 MB. */
const rangeSizeDefault = 2_000;

const firstHash = '00'.repeat(32);

/**
 * @param options.expect a hash that was kept elsewhere: the chain must contain it.
 * @throws DatabaseFailure
 */
export async function verifyChain(
  reader: Reader,
  options: { readonly expect?: string | undefined; readonly rangeSize?: number } = {},
): Promise<ChainReport> {
  const { expect, rangeSize = rangeSizeDefault } = options;
  const [end] = await reader.query(findChainEnd());
  let hashBefore = firstHash;
  let last: AuditRecord | undefined;
  let records = 0;
  let isMet = expect === undefined;
  let fault: ChainFault | undefined;
  for await (const record of recordsUntil(reader, end, rangeSize)) {
    fault = recordFault(hashBefore, last, record);
    if (fault !== undefined) break;
    hashBefore = last?.hash ?? firstHash;
    last = record;
    records += 1;
    isMet ||= record.hash === expect;
  }
  fault ??= endFault(last, end);
  if (!isMet) {
    const message = `no record has the hash ${expect}: this is another trail`;
    fault ??= faultOf('hash_missing', undefined, message);
  }
  return {
    ok: fault === undefined,
    records,
    last: last === undefined ? null : { day: last.day, number: last.number, hash: last.hash },
    fault: fault ?? null,
  };
}

/** The records up to the end. Without an end, all there are. */
async function* recordsUntil(
  reader: Reader,
  end: ChainEnd | undefined,
  rangeSize: number,
): AsyncGenerator<AuditRecord, undefined> {
  if (end?.day === null) return;
  const stop = end === undefined ? undefined : { day: end.day, number: end.number };
  let after: AuditRecord | undefined;
  do {
    const range = await reader.query(recordsAfter(after, rangeSize));
    for (const record of range) {
      if (stop !== undefined && compare(record, stop) > 0) return;
      yield record;
    }
    after = range.at(-1);
  } while (after !== undefined);
}

/**
 * What is wrong with a record, when all before it are sound.
 * @param hashBefore the hash before the last sound record's.
 */
function recordFault(
  hashBefore: string,
  last: AuditRecord | undefined,
  record: AuditRecord,
): ChainFault | undefined {
  const stated = statedPlace(record.line);
  const isAtItsPlace = stated !== undefined && compare(stated, record) === 0;
  const follows = record.number === 1 ? stated?.follows : undefined;
  const expected = last?.day === record.day ? last.number + 1 : 1;
  const isExpected = record.number === expected && (follows === undefined || isSame(last, follows));
  const isHashed = hashAfter(last?.hash ?? firstHash, record.line) === record.hash;
  if (isAtItsPlace && isExpected && isHashed) return undefined;
  if (last !== undefined && hashAfter(hashBefore, record.line) === record.hash) {
    return faultOf('inserted', last, 'the record after it continues the one before it');
  }
  if (stated === undefined) {
    return faultOf('altered', record, 'its line does not begin as a line of the trail');
  }
  if (!isAtItsPlace) {
    return faultOf('altered', record, `its line says that it is ${nameOf(stated)}`);
  }
  if (record.number > expected) {
    const missing = { day: record.day, number: expected };
    return faultOf('missing', missing, `the next record is ${nameOf(record)}`);
  }
  if (follows !== undefined && !isSame(last, follows)) return followFault(last, record, follows);
  return faultOf('altered', record, 'its hash does not fit its line and the hash before it');
}

/** The first record of a day names the one before it, so that a whole missing day is noticed. */
function followFault(
  last: AuditRecord | undefined,
  record: AuditRecord,
  follows: AuditPosition,
): ChainFault {
  const message = `${nameOf(record)} follows ${nameOf(follows)}`;
  const isSameDay = last?.day === follows.day;
  if (last !== undefined && compare(last, follows) > 0) {
    const number = isSameDay ? follows.number + 1 : 1;
    return faultOf('inserted', { day: last.day, number }, message);
  }
  const number = isSameDay ? last.number + 1 : 1;
  return faultOf('missing', { day: follows.day, number }, message);
}

/** What is wrong with the end, once all records up to it are sound. */
function endFault(
  last: AuditRecord | undefined,
  end: ChainEnd | undefined,
): ChainFault | undefined {
  if (end === undefined) {
    return faultOf('end_missing', undefined, 'the row that says where the chain ends is missing');
  }
  if (end.day !== null) {
    const place = { day: end.day, number: end.number };
    if (last === undefined || compare(last, place) < 0) {
      const number = last?.day === place.day ? last.number + 1 : 1;
      return faultOf('missing', { day: place.day, number }, `the chain ends at ${nameOf(place)}`);
    }
    if (last.hash !== end.hash) {
      return faultOf('altered', place, 'its hash is not the one that the end of the chain has');
    }
  }
  if (end.beyond === null) return undefined;
  return faultOf('inserted', end.beyond, 'it is after the end of the chain');
}

const beginning =
  /^\{"day":"([0-9-]+)","number":([0-9]+)(?:,"follows":\{"day":"([0-9-]+)","number":([0-9]+)\})?,"/;

/** The place that a line says it has, and the first one of a day the record before it. */
function statedPlace(line: string): (AuditPosition & { follows?: AuditPosition }) | undefined {
  const [, day, number, followedDay, followedNumber] = beginning.exec(line) ?? [];
  if (day === undefined) return undefined;
  const place = { day, number: Number(number) };
  if (followedDay === undefined) return place;
  return { ...place, follows: { day: followedDay, number: Number(followedNumber) } };
}

/** SHA-256 of the hash before and the line in UTF-8. Hashes are in hexadecimal. */
function hashAfter(hash: string, line: string): string {
  return createHash('sha256').update(hash, 'hex').update(line, 'utf8').digest('hex');
}

/** Below zero when the first comes before the second. */
function compare(one: AuditPosition, other: AuditPosition): number {
  if (one.day !== other.day) return one.day < other.day ? -1 : 1;
  return one.number - other.number;
}

function isSame(one: AuditPosition | undefined, other: AuditPosition): boolean {
  return one !== undefined && compare(one, other) === 0;
}

function nameOf({ day, number }: AuditPosition): string {
  return `record ${number} of ${day}`;
}

function faultOf(
  kind: ChainFault['kind'],
  place: AuditPosition | undefined,
  message: string,
): ChainFault {
  return { kind, day: place?.day ?? null, number: place?.number ?? null, message };
}
