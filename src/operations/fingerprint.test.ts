import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalJson, fingerprint, hashKey, type Meaning } from './fingerprint.ts';

const key = '0123456789abcdef';
const adjust: Meaning = {
  type: 'inventory.adjust',
  id: '',
  ifMatch: undefined,
  body: {
    product_id: 'prod_01k9x3v7c2e4r8t1m5n6p0q9sa',
    location_id: 'loc_01k9x3v7c2e4r8t1m5n6p0q9sb',
    target_quantity: '12.5',
    reason: 'stock_count',
    expected_quantity: null,
    note: 'né "q" \\ \u2028 😀',
    reference: null,
  },
};
const patch: Meaning = {
  type: 'products.update',
  id: 'prod_01k9x3v7c2e4r8t1m5n6p0q9sa',
  ifMatch: 7,
  body: { price: null, unit: { precision: 3, code: 'kg' }, metadata: { a: null, B: 'x' } },
};

describe('a fingerprint', () => {
  // Frozen: a database made by an earlier version holds these. A change here turns every retry
  // across the upgrade into 409; give a new meaning a new version instead.
  test('is what it always was', () => {
    expect(hashKey(key).toString('hex')).toBe(
      'cf85687b5303a708313ec86cad9e86bdede8bb5e7c921c8c73e0673c7b1f43d3',
    );
    expect(fingerprint(key, adjust).toString('hex')).toBe(
      '7004feca6301f97b79d42bf0222f939f0cb60a25ec38e2d39fcd21bc07529a83',
    );
    expect(fingerprint(key, patch).toString('hex')).toBe(
      '5e0806eb72f01ce0495010d1324566da49cbcc52335d245ecf157563af01da05',
    );
  });

  test('does not depend on the order of members, at any depth', () => {
    const shuffled = (value: unknown): unknown =>
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? Object.fromEntries(
            Object.entries(value)
              .map(([name, member]) => [name, shuffled(member)])
              .reverse(),
          )
        : value;
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (body) => {
        expect(fingerprint(key, { ...adjust, body: shuffled(body) })).toEqual(
          fingerprint(key, { ...adjust, body }),
        );
      }),
    );
  });

  test('differs for every difference in meaning', () => {
    const body = adjust.body as Record<string, unknown>;
    const others: [string, Meaning][] = [
      [key, { ...adjust, type: 'products.create' }],
      [key, { ...adjust, id: 'x' }],
      [key, { ...adjust, ifMatch: 1 }],
      ['0123456789abcdeF', adjust],
      ...Object.keys(body).map((name): [string, Meaning] => [
        key,
        { ...adjust, body: { ...body, [name]: 'other' } },
      ]),
      ...Object.keys(body).map((name): [string, Meaning] => [
        key,
        { ...adjust, body: { ...body, [name]: undefined } },
      ]),
    ];
    const prints = others.map(([one, meaning]) => fingerprint(one, meaning).toString('hex'));
    expect(new Set([fingerprint(key, adjust).toString('hex'), ...prints]).size).toBe(
      others.length + 1,
    );
  });

  test('cannot be confused by where one member ends and the next begins', () => {
    expect(canonicalJson({ a: 'b","c":"d' })).not.toBe(canonicalJson({ a: 'b', c: 'd' }));
    expect(canonicalJson({ a: null })).not.toBe(canonicalJson({ a: undefined }));
    expect(canonicalJson({ a: '1' })).not.toBe(canonicalJson({ a: 1 }));
  });
});
