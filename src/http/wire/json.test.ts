import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeJsonObject, JsonFault } from './json.ts';

const decode = (text: string) => decodeJsonObject(Buffer.from(text, 'utf8'));

describe('the strict JSON decoder', () => {
  test('reads every object that JSON.stringify writes, to an equal value', () => {
    const value = fc.dictionary(
      fc.string({ unit: 'grapheme' }).filter((name) => name !== '__proto__'),
      fc.jsonValue({ maxDepth: 5 }),
    );
    fc.assert(
      fc.property(value, (object) => {
        const text = JSON.stringify(object);
        fc.pre(!text.includes('__proto__'));
        expect(JSON.stringify(decode(text))).toBe(JSON.stringify(JSON.parse(text)));
      }),
      { numRuns: 2_000 },
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
      { numRuns: 20_000 },
    );
  });

  test.each([
    ['a duplicate member', '{"a":1,"a":1}'],
    ['an escaped twin', '{"a":1,"\\u0061":2}'],
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
      expect(() => decodeJsonObject(Buffer.from(bytes, 'hex'))).toThrow(JsonFault);
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

  test('decides 64 KiB of hostile text within 50 ms', () => {
    const texts = [
      `{"a":"${'\\u0061'.repeat(10_000)}"}`,
      `{${Array.from({ length: 8_000 }, (_, i) => `"${i}":1`).join(',')}}`,
      `{"a":${'['.repeat(60_000)}`,
      `{"a":"${'\\'.repeat(60_000)}`,
      `{"a":${'1'.repeat(60_000)}}`,
    ];
    for (const text of texts) {
      const started = performance.now();
      try {
        decode(text);
      } catch (error) {
        expect(error).toBeInstanceOf(JsonFault);
      }
      expect(performance.now() - started).toBeLessThan(50);
    }
  });
});
