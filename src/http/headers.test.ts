import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { extent } from '../../test/kit/extent.ts';
import { Problem } from '../core/problem.ts';
import { idempotencyKey, ifMatchVersion, isNoneMatch } from './headers.ts';

const codeOf = (run: () => unknown): string => {
  try {
    run();
    return 'accepted';
  } catch (error) {
    return error instanceof Problem ? error.code : String(error);
  }
};

/** By their numbers, instead of by a pattern: from the exclamation mark to the tilde. */
const isVisible = (byte: number) => byte >= 33 && byte <= 126;

describe('an Idempotency-Key', () => {
  const judged = (key: string) => codeOf(() => idempotencyKey({ 'idempotency-key': key }));

  test('takes each byte that is visible ASCII, wherever it stands, and no other', () => {
    for (let byte = 0; byte < 256; byte += 1) {
      for (const at of [0, 7, 15, 16]) {
        const key = `${'k'.repeat(at)}${String.fromCharCode(byte)}${'k'.repeat(16 - at)}`;
        const expected = isVisible(byte) ? 'accepted' : 'idempotency_key_invalid';
        expect([byte, at, judged(key)]).toEqual([byte, at, expected]);
      }
    }
  });

  test('has 16 to 255 of them', () => {
    for (let length = 0; length <= 300; length += 1) {
      const expected = length >= 16 && length <= 255 ? 'accepted' : 'idempotency_key_invalid';
      expect([length, judged('k'.repeat(length))]).toEqual([length, expected]);
    }
    expect(codeOf(() => idempotencyKey({}))).toBe('idempotency_key_required');
  });

  test('is taken as it is', () => {
    const byte = fc.integer({ min: 33, max: 126 }).map((code) => String.fromCharCode(code));
    fc.assert(
      fc.property(fc.string({ unit: byte, minLength: 16, maxLength: 255 }), (key) => {
        expect(idempotencyKey({ 'idempotency-key': key })).toBe(key);
      }),
    );
  });
});

describe('If-Match', () => {
  test('names exactly one version, in quotes, or is refused', () => {
    const sign = fc.constantFrom(...'"0123456789W/* ,-+e.'.split(''));
    const text = fc.oneof(
      fc.string({ unit: sign, maxLength: 8 }),
      fc.nat().map((version) => `"${version}"`),
    );
    fc.assert(
      fc.property(text, (sent) => {
        const inside = sent.slice(1, -1);
        const isTag = sent.length > 2 && sent.startsWith('"') && sent.endsWith('"');
        const isVersion = isTag && String(Number(inside)) === inside && Number(inside) > 0;
        const isWhole = isVersion && [...inside].every((one) => one >= '0' && one <= '9');
        const expected = isWhole ? 'accepted' : 'malformed_request';
        expect(codeOf(() => ifMatchVersion({ 'if-match': sent }, true))).toBe(expected);
        expect(codeOf(() => ifMatchVersion({ 'if-match': sent }, false))).toBe('malformed_request');
      }),
      { numRuns: extent(500, 5_000) },
    );
  });
});

test.each([
  ['"7"', true],
  ['W/"7"', true],
  ['"6", "7"', true],
  ['"6" ,W/"7"', true],
  [' * ', true],
  ['"77"', false],
  ['7', false],
  ['"6","8"', false],
  ['"7', false],
  ['', false],
])('If-None-Match %s', (value, expected) => {
  expect(isNoneMatch({ 'if-none-match': value }, '"7"')).toBe(expected);
});

test('nothing matches where there is no ETag, and no header names nothing', () => {
  expect(isNoneMatch({ 'if-none-match': '*' }, undefined)).toBe(false);
  expect(isNoneMatch({}, '"7"')).toBe(false);
});
