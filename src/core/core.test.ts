import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { extent } from '../../test/kit/extent.ts';
import { CursorSealer } from '../contract/cursor.ts';
import { formats } from '../contract/format.ts';
import { canonicalQuantity, decimalPlaces, quantityFault, subtract, zero } from './decimal.ts';
import { idFloor, lookupId, mintId, mintIdAfter } from './id.ts';
import { adviceOf, isRetryable, type ProblemCode, problemKinds } from './problem.ts';

/** A quantity as a count of hundred-thousandths and one of its many spellings. */
const quantity = fc.tuple(fc.bigInt(0n, 10n ** 17n - 1n), fc.nat(8)).map(([units, zeros]) => {
  const digits = units.toString().padStart(6, '0');
  const spelled = `${digits.slice(0, -5)}.${digits.slice(-5)}${'0'.repeat(zeros)}`;
  return { units, spelled };
});

const unitsOf = (text: string): bigint => {
  const [whole = '', fraction = ''] = text.replace('-', '').split('.');
  const units = BigInt(whole + fraction.padEnd(5, '0'));
  return text.startsWith('-') ? -units : units;
};

/** How many decimals a count of hundred-thousandths needs. */
const placesOf = (units: bigint): number =>
  [0, 1, 2, 3, 4].find((places) => units % 10n ** BigInt(5 - places) === 0n) ?? 5;

/** What the contract says of a quantity, character by character instead of by pattern. */
function expectedFault(sent: string): string | undefined {
  const isNegative = sent.startsWith('-');
  const [whole = '', fraction, ...more] = (isNegative ? sent.slice(1) : sent).split('.');
  const areDigits = (text: string) =>
    text !== '' && [...text].every((one) => one >= '0' && one <= '9');
  const isDecimal = areDigits(whole) && (fraction === undefined || areDigits(fraction));
  const hasLeadingZero = whole.length > 1 && whole.startsWith('0');
  if (!isDecimal || more.length > 0 || hasLeadingZero) return 'invalid_format';
  if (isNegative) return 'must_not_be_negative';
  if (BigInt(whole) >= 10n ** 12n) return 'too_large';
  const beyond = (fraction ?? '').slice(5);
  return [...beyond].every((digit) => digit === '0') ? undefined : 'too_many_decimal_places';
}

describe('quantities', () => {
  test('have one canonical spelling, equal to the number that was sent', () => {
    fc.assert(
      fc.property(quantity, ({ units, spelled }) => {
        expect(quantityFault(spelled)).toBeUndefined();
        const canonical = canonicalQuantity(spelled);
        expect(unitsOf(canonical)).toBe(units);
        expect(canonical).toMatch(/^(0|[1-9][0-9]*)(\.[0-9]*[1-9])?$/);
        expect(canonicalQuantity(canonical)).toBe(canonical);
      }),
      { numRuns: extent(500, 5_000) },
    );
  });

  test('subtract exactly', () => {
    fc.assert(
      fc.property(quantity, quantity, (a, b) => {
        const delta = subtract(canonicalQuantity(a.spelled), canonicalQuantity(b.spelled));
        expect(unitsOf(delta)).toBe(a.units - b.units);
        expect(delta).not.toBe('-0');
      }),
      { numRuns: extent(500, 5_000) },
    );
  });

  test('add up: what leads from one to the next leads from the first to the last', () => {
    fc.assert(
      fc.property(fc.array(quantity, { minLength: 2, maxLength: 8 }), (path) => {
        const stops = path.map(({ spelled }) => canonicalQuantity(spelled));
        const deltas = stops.slice(1).map((stop, at) => subtract(stop, stops[at] ?? zero));
        const total = deltas.reduce((sum, delta) => sum + unitsOf(delta), 0n);
        expect(total).toBe(unitsOf(stops.at(-1) ?? '') - unitsOf(stops[0] ?? ''));
        for (const delta of deltas) expect(canonicalQuantity(delta)).toBe(delta);
      }),
      { numRuns: extent(200, 1_000) },
    );
  });

  test('are the same text exactly when they are the same number', () => {
    const near = fc.tuple(fc.bigInt(0n, 300n), fc.nat(8)).map(([units, zeros]) => {
      const digits = (units * 10n).toString().padStart(6, '0');
      return { units, spelled: `${digits.slice(0, -5)}.${digits.slice(-5)}${'0'.repeat(zeros)}` };
    });
    fc.assert(
      fc.property(near, near, (a, b) => {
        const isSame = canonicalQuantity(a.spelled) === canonicalQuantity(b.spelled);
        expect(isSame).toBe(a.units === b.units);
        expect(decimalPlaces(canonicalQuantity(a.spelled))).toBe(placesOf(a.units * 10n));
      }),
      { numRuns: extent(500, 5_000) },
    );
  });

  test('are exactly the texts of the grammar and its bounds, whatever else is sent', () => {
    const text = fc.string({ unit: fc.constantFrom(...'0123456789..-+e_ ٣５\n'), maxLength: 20 });
    const likely = fc.tuple(fc.stringMatching(/^[0-9]{1,14}$/), fc.stringMatching(/^[0-9]{0,8}$/));
    const decimal = likely.map(([whole, part]) => (part === '' ? whole : `${whole}.${part}`));
    fc.assert(
      fc.property(
        fc.oneof(
          text,
          decimal,
          decimal.map((one) => `-${one}`),
        ),
        (sent) => {
          expect(quantityFault(sent)?.code).toBe(expectedFault(sent));
        },
      ),
      { numRuns: extent(2_000, 20_000) },
    );
  });

  test.each([
    ['', 'invalid_format'],
    ['NaN', 'invalid_format'],
    ['Infinity', 'invalid_format'],
    ['1e5', 'invalid_format'],
    ['+5', 'invalid_format'],
    ['.5', 'invalid_format'],
    ['5.', 'invalid_format'],
    ['05', 'invalid_format'],
    ['0x10', 'invalid_format'],
    ['1_000', 'invalid_format'],
    ['1,5', 'invalid_format'],
    [' 5', 'invalid_format'],
    ['5\n', 'invalid_format'],
    ['٣', 'invalid_format'],
    ['５', 'invalid_format'],
    [`1.${'0'.repeat(63)}`, 'invalid_format'],
    ['-1', 'must_not_be_negative'],
    ['-0', 'must_not_be_negative'],
    ['1234567890123', 'too_large'],
    ['0.123456', 'too_many_decimal_places'],
  ])('%j is refused as %s', (text, code) => {
    expect(quantityFault(text)?.code).toBe(code);
  });

  test('count the decimal places they use', () => {
    expect(decimalPlaces(canonicalQuantity('1.500'))).toBe(1);
    expect(decimalPlaces(canonicalQuantity('1.000'))).toBe(0);
  });
});

describe('IDs', () => {
  test('begin with what they are: prod_, imv_, op_', () => {
    expect(mintId('prod_')).toMatch(/^prod_[0-9a-hjkmnp-tv-z]{26}$/);
    expect(mintId('imv_')).toMatch(/^imv_[0-9a-hjkmnp-tv-z]{26}$/);
    expect(mintId('op_')).toMatch(/^op_[0-9a-hjkmnp-tv-z]{26}$/);
  });

  test('look like their kind and sort by time', () => {
    const ids = Array.from({ length: 1_000 }, () => mintId('imv_'));
    expect(new Set(ids).size).toBe(1_000);
    for (const id of ids) expect(id).toMatch(/^imv_[0-9a-hjkmnp-tv-z]{26}$/);
    for (const id of ids) {
      expect(id > (idFloor('imv_', new Date().toISOString()) ?? '')).toBe(true);
    }
  });

  test('minted after another sort after it, however far its clock was ahead', () => {
    let last = idFloor('imv_', new Date(Date.now() + 3_600_000).toISOString());
    for (let i = 0; i < 1_000; i += 1) {
      const next = mintIdAfter('imv_', last);
      expect(next > (last ?? '')).toBe(true);
      last = next;
    }
    const greatestOfItsMillisecond = `imv_${'01k9x3v7c2'}fzzzvzzzzzzzzzzz`;
    expect(mintIdAfter('imv_', greatestOfItsMillisecond) > greatestOfItsMillisecond).toBe(true);
  });

  test('that are not ours are looked up as nothing', () => {
    for (const text of ['', 'x', 'prod_\0', 'PROD_01K9X3V7C2E4R8T1M5N6P0Q9SA', 'a'.repeat(65)]) {
      expect(lookupId(text)).toBe('');
    }
    const id = mintId('prod_');
    expect(lookupId(id)).toBe(id);
  });
});

describe('cursors', () => {
  const sealer = new CursorSealer('secret');
  const scope = { route: 'products.list ', merchant: 'mer_1', filters: '[]' };

  test('open to what was sealed, for their own route, merchant and filters alone', () => {
    const cursor = sealer.seal(scope, 'prod_1');
    expect(sealer.open(scope, cursor)).toEqual({ kind: 'valid', after: 'prod_1' });
    expect(sealer.open({ ...scope, route: 'customers.list ' }, cursor).kind).toBe('malformed');
    expect(sealer.open({ ...scope, merchant: 'mer_2' }, cursor).kind).toBe('malformed');
    expect(sealer.open({ ...scope, filters: '[1]' }, cursor).kind).toBe('filter_mismatch');
    expect(new CursorSealer('other').open(scope, cursor).kind).toBe('malformed');
  });

  test('with any one bit flipped, cut or extended are refused', () => {
    const cursor = sealer.seal(scope, 'prod_1');
    const bytes = Buffer.from(cursor, 'base64url');
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const flipped = Buffer.from(bytes);
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(sealer.open(scope, flipped.toString('base64url')).kind).toBe('malformed');
    }
    for (let length = 0; length < cursor.length; length += 1) {
      expect(sealer.open(scope, cursor.slice(0, length)).kind).toBe('malformed');
    }
    expect(sealer.open(scope, `${cursor}A`).kind).toBe('malformed');
    expect(sealer.open(scope, `${cursor} `).kind).toBe('malformed');
  });

  test('with any characters changed, added, moved or left out are refused', () => {
    const cursor = sealer.seal(scope, 'prod_1');
    const letters = fc.string({
      unit: fc.constantFrom(...'Aa0_-=+/ \0é', ...cursor),
      maxLength: 3,
    });
    const edit = fc.record({ at: fc.nat(cursor.length), cut: fc.nat(3), put: letters });
    fc.assert(
      fc.property(fc.array(edit, { minLength: 1, maxLength: 3 }), (edits) => {
        const edited = edits.reduce(
          (text, { at, cut, put }) => text.slice(0, at) + put + text.slice(at + cut),
          cursor,
        );
        fc.pre(edited !== cursor);
        expect(sealer.open(scope, edited).kind).toBe('malformed');
      }),
      { numRuns: extent(300, 3_000) },
    );
  });

  const text = fc.string({ unit: fc.constantFrom(...'ab "[],\\é0'), maxLength: 8 });
  const anyScope = fc.record({ route: text, merchant: text, filters: text });

  test('open only for the scope they were sealed for, whatever the texts are', () => {
    fc.assert(
      fc.property(anyScope, anyScope, text, (own, other, after) => {
        const cursor = sealer.seal(own, after);
        expect(sealer.open(own, cursor)).toEqual({ kind: 'valid', after });
        const isPlace = own.route === other.route && own.merchant === other.merchant;
        const elsewhere = own.filters === other.filters ? 'valid' : 'filter_mismatch';
        expect(sealer.open(other, cursor).kind).toBe(isPlace ? elsewhere : 'malformed');
        const filtered = sealer.open({ ...own, filters: other.filters }, cursor).kind;
        expect(filtered).toBe(elsewhere);
      }),
      { numRuns: extent(300, 3_000) },
    );
  });

  test('are refused with any one character replaced, put in or left out', () => {
    const signs = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=+/. é';
    const edit = fc.tuple(fc.nat(), fc.constantFrom(...signs), fc.nat(2));
    fc.assert(
      fc.property(anyScope, text, edit, (own, after, [n, sign, how]) => {
        const cursor = sealer.seal(own, after);
        const at = n % cursor.length;
        const cut = cursor.slice(at + (how === 1 ? 0 : 1));
        const wrong = cursor.slice(0, at) + (how === 2 ? '' : sign) + cut;
        if (wrong !== cursor) expect(sealer.open(own, wrong).kind).toBe('malformed');
      }),
      { numRuns: extent(2_000, 20_000) },
    );
  });

  test('are never the same twice, and show nothing of what they hold', () => {
    const cursors = Array.from({ length: 500 }, () => sealer.seal(scope, 'prod_1'));
    expect(new Set(cursors).size).toBe(500);
    for (const cursor of cursors) {
      const bytes = Buffer.from(cursor, 'base64url').toString('latin1');
      expect(bytes).not.toContain('prod_');
      expect(bytes).not.toContain('mer_');
    }
  });
});

describe('formats', () => {
  const accepts = (format: keyof typeof formats, text: string) =>
    formats[format](text) === undefined;

  test('e-mail takes what is in use and refuses the rest', () => {
    const good = ['a@b.co', "o'brien+tag@shop.example", 'jörg@bücher.example', 'a.b@c-d.e1'];
    const bad = [
      'a',
      '@b.co',
      'a@',
      'a@b',
      'a b@c.de',
      'a@b..co',
      '.a@b.co',
      'a.@b.co',
      'a..b@c.d',
    ];
    const worse = ['a@b.co\r\nBcc: x@y.zz', 'a@@b.co', '"a"@b.co', 'a@-b.co', 'a@[1.2.3.4]'];
    for (const text of good) expect(accepts('email', text), text).toBe(true);
    for (const text of [...bad, ...worse]) expect(accepts('email', text), text).toBe(false);
  });

  test('e-mail is decided within 50 ms, whatever is sent', () => {
    for (const text of [
      `${'a.'.repeat(30_000)}@`,
      `a@${'a-'.repeat(30_000)}`,
      '@'.repeat(60_000),
    ]) {
      const started = performance.now();
      accepts('email', text);
      expect(performance.now() - started).toBeLessThan(50);
    }
  });

  test('times are RFC 3339 and exist', () => {
    const good = ['2026-01-31T12:00:00Z', '2024-02-29t00:00:00.123456789+02:00'];
    const bad = [
      '2026-02-29T00:00:00Z',
      '2026-01-31',
      '2026-01-31T24:00:00Z',
      '0000-01-01T00:00:00Z',
    ];
    for (const text of good) expect(accepts('date-time', text), text).toBe(true);
    for (const text of [...bad, '2026-01-31T12:00:00', '2026-01-31T12:00:00 02:00', 'now']) {
      expect(accepts('date-time', text), text).toBe(false);
    }
  });

  test('time zones are those of IANA, by their exact names', () => {
    for (const text of [
      'UTC',
      'Europe/Berlin',
      'America/Argentina/Ushuaia',
      'EST',
      'Asia/Calcutta',
    ]) {
      expect(accepts('time-zone', text), text).toBe(true);
    }
    for (const text of [
      'PST',
      'IST',
      'AST',
      'SystemV/AST4',
      'europe/berlin',
      '+01:00',
      'Mars/Base',
    ]) {
      expect(accepts('time-zone', text), text).toBe(false);
    }
  });

  test('names are not blank and hold no control characters', () => {
    for (const text of [' ', '\u00a0\u2003', 'a\nb', 'a\u0085b', '\u007f']) {
      expect(accepts('name', text), JSON.stringify(text)).toBe(false);
    }
    for (const text of ['a', ' a ', '名前', 'e\u0301', '\u202eevil']) {
      expect(accepts('name', text), text).toBe(true);
    }
  });
});

test('a problem says to send the same request again exactly when it is retryable', () => {
  for (const [code, { status }] of Object.entries(problemKinds)) {
    const saysAgain = /same request again/.test(adviceOf(code as ProblemCode));
    expect([code, saysAgain]).toEqual([code, isRetryable(status)]);
  }
  const passing = Object.values(problemKinds).filter(({ status }) => isRetryable(status));
  expect(new Set(passing.map(({ status }) => status))).toEqual(new Set([408, 429, 500, 503, 504]));
});
