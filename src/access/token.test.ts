import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { extent } from '../../test/kit/extent.ts';
import { isSecret, isToken, mintToken } from './token.ts';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const kinds = ['pat', 'oat', 'ocs', 'ort'] as const;
const isAny = (text: string) => isToken(text) || isSecret(text);

const token = fc.constantFrom('pat' as const, 'oat' as const, 'ocs' as const).map(mintToken);
const place = fc.nat(52);

const splice = (text: string, at: number, length: number, by: string) =>
  text.slice(0, at) + by + text.slice(at + length);

describe('a token', () => {
  test('is recognised as what it is, and as nothing else', () => {
    for (const kind of kinds) {
      for (let n = 0; n < 200; n += 1) {
        const text = mintToken(kind);
        expect([isToken(text), isSecret(text)]).toEqual([/pat|oat/.test(kind), kind === 'ocs']);
      }
    }
  });

  test('with any one character changed is refused', () => {
    for (const kind of ['pat', 'oat', 'ocs'] as const) {
      for (let n = 0; n < 4; n += 1) {
        const text = mintToken(kind);
        for (let at = 0; at < text.length; at += 1) {
          for (const other of [...alphabet, '_', '-', ' ', '=', '\0', 'é']) {
            const wrong = splice(text, at, 1, other);
            if (wrong !== text && isAny(wrong)) throw new Error(`${wrong} for ${text}`);
          }
        }
      }
    }
  });

  test('with any one bit flipped is refused', () => {
    fc.assert(
      fc.property(token, place, fc.nat(7), (text, at, bit) => {
        const bytes = Buffer.from(text, 'latin1');
        bytes[at % bytes.length] = (bytes[at % bytes.length] ?? 0) ^ (1 << bit);
        expect(isAny(bytes.toString('latin1'))).toBe(false);
      }),
      { numRuns: extent(1_000, 10_000) },
    );
  });

  test('cut, extended, doubled or with two characters swapped is refused', () => {
    fc.assert(
      fc.property(token, place, fc.constantFrom(...alphabet), (text, at, extra) => {
        const end = at % text.length;
        const swapped = splice(text, end, 2, `${text[end + 1] ?? ''}${text[end] ?? ''}`);
        const wrong = [
          text.slice(0, end),
          text.slice(end + 1),
          splice(text, end, 1, ''),
          splice(text, end, 0, extra),
          text + extra,
          text + text,
          ` ${text}`,
          `${text}\n`,
        ];
        for (const one of wrong) expect(isAny(one), one).toBe(false);
        if (swapped !== text) expect(isAny(swapped)).toBe(false);
      }),
      { numRuns: extent(300, 3_000) },
    );
  });

  test('of random characters in the right form is refused', () => {
    const text = fc.stringMatching(/^tb_(pat|oat|ocs)_[0-9A-Za-z]{46}$/);
    fc.assert(
      fc.property(text, (made) => {
        expect(isAny(made)).toBe(false);
      }),
      { numRuns: extent(1_000, 10_000) },
    );
  });
});
