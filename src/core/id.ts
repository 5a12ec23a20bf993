// Public IDs: a prefix that names the kind and 26 characters of lower-case Crockford base 32
// holding a UUIDv7 (RFC 9562). They sort by the time they were minted, byte by byte, which is why
// keyset pages need no other sort key. Clients must treat them as opaque.

import { randomFillSync } from 'node:crypto';
import { limits } from './limits.ts';

/** Names the kind of thing: `cus_`. Each resource declares its own. */
export type IdPrefix = `${string}_`;

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const shape = /^[a-z]{2,4}_[0-9a-hjkmnp-tv-z]{26}$/;
const randomBits = 74n;
const version = 7n << 12n;
const variant = 2n << 62n;

/** A new ID, for the present moment. */
export function mintId(prefix: IdPrefix): string {
  return prefix + encode(BigInt(Date.now()), random());
}

/**
 * A new ID that sorts after `previous`, whatever the clock says: a process whose clock is behind
 * continues from the previous ID's time instead of its own.
 */
export function mintIdAfter(prefix: IdPrefix, previous: string | undefined): string {
  const fresh = mintId(prefix);
  if (previous === undefined || fresh > previous) return fresh;
  const { time, bits } = decode(previous.slice(prefix.length));
  const next = bits + 1n + (random() >> 42n);
  const overflow = next >> randomBits !== 0n;
  return prefix + (overflow ? encode(time + 1n, random()) : encode(time, next));
}

/**
 * What to look an ID up by: itself, or a value no row has when it cannot be one of ours. Strings
 * that the database would refuse (a NUL) therefore never reach it.
 */
export function lookupId(id: string): string {
  return id.length <= limits.idLengthMax && shape.test(id) ? id : '';
}

/**
 * How far an ID's own time may be from the time its row states: both are read within one batch, and
 * a batch that stalls for a second is ended by the database.
 */
const idTimeSlack = 10_000;

/** An ID that sorts before every ID of a row stating this time (RFC 3339) or a later one. */
export function idFloor(prefix: IdPrefix, time: string | undefined): string | undefined {
  if (time === undefined) return undefined;
  return prefix + encode(clampTime(Date.parse(time) - idTimeSlack), 0n);
}

/** UUIDv7 holds 48 bits of milliseconds since 1970. */
function clampTime(time: number): bigint {
  return BigInt(Math.min(Math.max(time, 0), 2 ** 48 - 1));
}

const pool = new Uint8Array(16 * 64);
let unused = 0;

/** 74 random bits. Random bytes are drawn 64 IDs at a time: one system call each was 2 µs. */
function random(): bigint {
  if (unused < 16) {
    randomFillSync(pool);
    unused = pool.length;
  }
  unused -= 16;
  const view = new DataView(pool.buffer, unused, 16);
  return (view.getBigUint64(0) << 10n) | (view.getBigUint64(8) >> 54n);
}

const bytes = new Uint8Array(16);
const halves = new DataView(bytes.buffer);

/** Bit by bit of small numbers: the same on one large BigInt took twice as long. */
function encode(time: bigint, bits: bigint): string {
  halves.setBigUint64(0, (time << 16n) | version | (bits >> 62n));
  halves.setBigUint64(8, variant | (bits & ((1n << 62n) - 1n)));
  let text = '';
  // 26 characters hold two bits more than 16 bytes: those in front are 0.
  let rest = 0;
  let width = 2;
  for (const byte of bytes) {
    rest = (rest << 8) | byte;
    width += 8;
    while (width >= 5) {
      width -= 5;
      text += alphabet.charAt((rest >> width) & 31);
    }
    rest &= (1 << width) - 1;
  }
  return text;
}

function decode(text: string): { time: bigint; bits: bigint } {
  let value = 0n;
  for (const character of text) value = (value << 5n) | BigInt(alphabet.indexOf(character));
  const high = (value >> 64n) & ((1n << 12n) - 1n);
  return { time: value >> 80n, bits: (high << 62n) | (value & ((1n << 62n) - 1n)) };
}
