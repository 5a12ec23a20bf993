import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { extent } from '../../test/kit/extent.ts';
import { anySpelling, type Spelling, spelled } from '../../test/kit/spelling.ts';
import { ordinaryBody } from './contract.ts';
import { decodeJsonObject, JsonFault, type JsonObject } from './json.ts';

/** Of six members and what is in them, all values together are well below 160. */
const few = { maxKeys: 6 };

/** Without the one name that is refused, and without numbers that no zeros can follow. */
const anyObject = fc
  .dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }), few)
  .filter((value) => !/-0\b|[0-9]e[+-]|__proto__/.test(JSON.stringify(value)));

/** The members of objects sorted: a spelling turns them. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return members.map(([name, one]) => [name, sorted(one)]);
}

const decode = (text: string) => decodeJsonObject(Buffer.from(text, 'utf8'), ordinaryBody);

describe('the strict JSON decoder', () => {
  test('reads every object that JSON.stringify writes, to an equal value', () => {
    const value = fc.dictionary(
      fc.string({ unit: 'grapheme' }).filter((name) => name !== '__proto__'),
      fc.jsonValue({ maxDepth: 5 }),
      few,
    );
    fc.assert(
      fc.property(value, (object) => {
        const text = JSON.stringify(object);
        fc.pre(!text.includes('__proto__'));
        expect(JSON.stringify(decode(text))).toBe(JSON.stringify(JSON.parse(text)));
      }),
      { numRuns: extent(300, 2_000) },
    );
  });

  test('accepts nothing that JSON.parse refuses', () => {
    const fragment = fc.constantFrom(...'{}[]",:\\u0aE+-. \n\t1truefalsn'.split(''), '"a"', ':1');
    fc.assert(
      fc.property(fc.array(fragment, { maxLength: 14 }), (fragments) => {
        const text = `{${fragments.join('')}}`;
        let accepted: unknown;
        try {
          accepted = decode(text);
        } catch (error) {
          expect(error).toBeInstanceOf(JsonFault);
          return;
        }
        expect(JSON.stringify(accepted)).toBe(JSON.stringify(JSON.parse(text)));
      }),
      { numRuns: extent(2_000, 20_000) },
    );
  });

  test('reads the same value from every text of it', () => {
    fc.assert(
      fc.property(anyObject, anySpelling, (object, spelling) => {
        const text = spelled(object as JsonObject, spelling);
        expect(JSON.stringify(sorted(decode(text)))).toBe(JSON.stringify(sorted(object)));
        expect(JSON.stringify(decode(text))).toBe(JSON.stringify(JSON.parse(text)));
      }),
      { numRuns: extent(300, 3_000) },
    );
  });

  test('accepts no bytes that JSON.parse refuses, and reads no other value from them', () => {
    const member = fc.jsonValue({ maxDepth: 3 });
    const seed = fc.dictionary(fc.string({ unit: 'grapheme' }), member, few);
    const edits = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(seed, edits, fc.nat(2), (object, changes, how) => {
        const bytes = [...Buffer.from(JSON.stringify(object), 'utf8')];
        for (const [n, byte] of changes) {
          const at = n % bytes.length;
          bytes.splice(at, how === 0 ? 0 : 1, ...(how === 2 ? [] : [byte]));
        }
        let accepted: unknown;
        try {
          accepted = decodeJsonObject(Uint8Array.from(bytes), ordinaryBody);
        } catch (error) {
          expect(error).toBeInstanceOf(JsonFault);
          return;
        }
        const text = new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.from(bytes));
        expect(JSON.stringify(accepted)).toBe(JSON.stringify(JSON.parse(text)));
      }),
      { numRuns: extent(1_000, 10_000) },
    );
  });

  test('refuses a member that is there twice, however deep and however it is written', () => {
    const name = fc.string({ unit: 'grapheme' }).filter((one) => one !== '__proto__');
    fc.assert(
      fc.property(name, fc.nat(6), anySpelling, anySpelling, (twice, depth, one, other) => {
        const member = (spelling: Spelling) =>
          spelled({ [twice]: 1 }, spelling)
            .trim()
            .slice(1, -1);
        const object = `{"${twice === 'x' ? 'y' : 'x'}":1,${member(one)},${member(other)}}`;
        const text = `${'{"a":'.repeat(depth)}${object}${'}'.repeat(depth)}`;
        expect(() => JSON.parse(text)).not.toThrow();
        expect(() => decode(text)).toThrow('twice');
      }),
      { numRuns: extent(1_000, 10_000) },
    );
  });

  test('refuses a lone surrogate wherever it stands', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 10 });
    const lone = fc.integer({ min: 0xd800, max: 0xdfff });
    fc.assert(
      fc.property(text, text, lone, fc.boolean(), (before, after, unit, isName) => {
        const inside = JSON.stringify(before).slice(1, -1);
        const written = `"${inside}\\u${unit.toString(16)}${JSON.stringify(after).slice(1)}`;
        const body = isName ? `{${written}:1}` : `{"a":[${written}]}`;
        expect(() => decode(body)).toThrow(JsonFault);
      }),
      { numRuns: extent(300, 2_000) },
    );
  });

  test('refuses every text in another encoding than UTF-8', () => {
    const object = fc.dictionary(fc.string(), fc.string(), { minKeys: 1 });
    fc.assert(
      fc.property(object, (one) => {
        const text = JSON.stringify(one);
        const wide = Buffer.from(text, 'utf16le');
        for (const bytes of [wide, Buffer.from(wide).swap16(), Buffer.from(`\ufeff${text}`)]) {
          expect(() => decodeJsonObject(bytes, ordinaryBody)).toThrow(JsonFault);
        }
      }),
      { numRuns: 500 },
    );
  });

  test('takes eight levels of any shape, and no ninth', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { minLength: 1, maxLength: 12 }), (shape) => {
        const open = shape.map((isArray) => (isArray ? '[' : '{"a":')).join('');
        const close = shape.map((isArray) => (isArray ? ']' : '}'));
        const text = `{"a":${open}1${close.reverse().join('')}}`;
        if (shape.length < 8) expect(JSON.stringify(decode(text))).toBe(text);
        else expect(() => decode(text)).toThrow('levels');
      }),
      { numRuns: 1_000 },
    );
  });

  test.each([
    ['a duplicate member', '{"a":1,"a":1}'],
    ['an escaped duplicate', '{"a":1,"\\u0061":2}'],
    ['a nested duplicate', '{"a":[{"b":1,"b":2}]}'],
    ['a lone high surrogate', '{"a":"\\ud800"}'],
    ['a lone low surrogate', '{"a":"\\udc00x"}'],
    ['surrogates in the wrong order', '{"a":"\\udc00\\ud800"}'],
    ['a lone surrogate in a name', '{"\\ud800":1}'],
    ['a byte order mark', '\uFEFF{}'],
    ['__proto__', '{"__proto__":{"polluted":true}}'],
    ['an escaped __proto__', '{"__pr\\u006fto__":1}'],
    ['a number beyond the doubles', '{"a":1e400}'],
    ['a leading zero', '{"a":01}'],
    ['a raw control character', '{"a":"\u0001"}'],
    ['an array', '[]'],
    ['a string', '"a"'],
    ['null', 'null'],
    ['nothing', ''],
    ['text after the end', '{} {}'],
    ['a trailing comma', '{"a":1,}'],
    ['a comment', '{/**/}'],
    ['single quotes', "{'a':1}"],
    ['NaN', '{"a":NaN}'],
    ['nine levels', '{"a":[[[[[[[[1]]]]]]]]}'],
    ['depth beyond any stack', `{"a":${'['.repeat(30_000)}`],
  ])('refuses %s', (_name, text) => {
    expect(() => decode(text)).toThrow(JsonFault);
  });

  test('refuses bytes that are not UTF-8', () => {
    for (const bytes of ['7b2261223a22ff227d', '7b2261223a22c0af227d', '7b2261223a22eda080227d']) {
      expect(() => decodeJsonObject(Buffer.from(bytes, 'hex'), ordinaryBody)).toThrow(JsonFault);
    }
  });

  test('keeps strings exactly: pairs of surrogates, NUL, and both normal forms', () => {
    expect(decode('{"a":"\\ud83d\\ude00","b":"\\u0000","c":"é","d":"e\u0301"}')).toEqual({
      a: '😀',
      b: '\0',
      c: 'é',
      d: 'e\u0301',
    });
  });

  test('gives objects without a prototype and never -0', () => {
    const decoded = decode('{"constructor":1,"toString":-0}');
    expect(Object.getPrototypeOf(decoded)).toBeNull();
    expect(decoded).toEqual({ constructor: 1, toString: 0 });
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  test('takes eight levels', () => {
    expect(() => decode('{"a":[[[[[[[1]]]]]]]}')).not.toThrow();
  });

  test('takes 160 values, however they are spread, and no more', () => {
    const shape = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 10 });
    fc.assert(
      fc.property(shape, fc.boolean(), (sizes, isArray) => {
        const groups = sizes.map((size, group) => {
          const inner = Array.from({ length: size }, (_, n) => (isArray ? '1' : `"${n}":1`));
          return `"${group}":${isArray ? `[${inner}]` : `{${inner}}`}`;
        });
        const count = sizes.reduce((sum, size) => sum + 1 + size, 0);
        const filled = Array.from(
          { length: Math.max(0, 160 - count) },
          (_, n) => `"more${n}":null`,
        );
        const text = [...groups, ...filled].join(',');
        if (count <= 160) expect(() => decode(`{${text}}`)).not.toThrow();
        expect(() => decode(`{${text},"one":1}`)).toThrow('more than 160 values');
      }),
      { numRuns: 500 },
    );
  });
});
