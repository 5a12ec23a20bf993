// Queries: a filter that is misspelt, repeated or unusable is refused, and never widens a result.

import { alike, type Draft, type WireCase } from './case.ts';

type Row = readonly [name: string, bytes: WireCase['bytes']];

const products = (query: string): Row => [
  query.length > 60 ? `${query.slice(0, 40)}… (${query.length})` : query,
  (to) => to.get(`/api/v1/products?${query}`),
];

const levels = (name: string, query: (to: Draft) => string): Row => [
  name,
  (to) => to.get(`/api/v1/inventory/levels?${query(to)}`),
];

const here = (to: Draft) => `location_id=${to.shop.locations[0]}`;

const unknown = alike({ status: 400, code: 'unknown_parameter' }, [
  products('page=2'),
  products('Limit=5'),
  products('limit%20=5'),
  products('%6cimit=5&sku_=1'),
  products('limit[]=5'),
  products('sku[gt]=1'),
  products('__proto__=1'),
  products('__proto__[status]=archived'),
  products('constructor=1&toString=2'),
  products('hasOwnProperty=1'),
  products('=1'),
  products('limit=5;sku=1&a'),
  products('%00=1'),
  products('?limit=5'),
  ['a parameter of a member', (to) => to.read().replace('credential', 'credential?limit=1')],
  ['a parameter of a write', (to) => to.body('{}').replace('adjustments', 'adjustments?dry=1')],
]);

const invalid = alike({ status: 400, code: 'invalid_parameter' }, [
  ...['', '0', '-1', '+1', '201', '1e2', '1.0', '05', '0x5', '%205', '5%20', '5,6', '%d9%a3'].map(
    (limit) => products(`limit=${limit}`),
  ),
  products('limit=99999999999999999999'),
  products('limit'),
  products('limit=5&limit=5'),
  products('limit=5&%6cimit=6'),
  products('status=active&status=active'),
  products('status='),
  products('status=Active'),
  products('status=active%00'),
  products('sku=%00'),
  products('q=%00'),
  products('updated_after=yesterday'),
  products('updated_after=2026-02-30T00:00:00Z'),
  products('updated_after=2026-01-01T00:00:00+01:00'),
  products('updated_after=0000-01-01T00:00:00Z'),
  products(`sku=${'a'.repeat(5_000)}`),
  levels('a location twice', (to) => `${here(to)}&${here(to)}`),
  levels('an empty location', () => 'location_id='),
  levels('a location of 65 characters', () => `location_id=${'l'.repeat(65)}`),
  levels('101 products', (to) => here(to) + '&product_id=p'.repeat(101)),
  levels('an empty product', (to) => `${here(to)}&product_id=`),
  levels('a product of 65 characters', (to) => `${here(to)}&product_id=${'p'.repeat(65)}`),
]);

const others: readonly WireCase[] = [
  ...alike({ status: 400, code: 'malformed_request' }, [
    products('limit=%zz'),
    products('limit=%'),
    products('sku=%c0%af'),
    products('sku=%ff'),
    products('sku=%ed%a0%80'),
    products('%ff=1'),
  ]),
  ...alike({ status: 400, code: 'missing_parameter' }, [
    levels('no location', () => ''),
    levels('only blanks and ampersands', () => '&&&'),
  ]),
  ...alike({ status: 400, code: 'invalid_cursor' }, [
    products('cursor='),
    products('cursor=x'),
    products('cursor=%00'),
    products(`cursor=${'A'.repeat(4_000)}`),
    products('cursor=%f0%9f%99%82'),
  ]),
  ...alike({ status: 403, code: 'location_not_granted' }, [
    levels('a location that is none', () => 'location_id=x'),
    levels('a location with a NUL', () => 'location_id=%00'),
    levels('a location with a quote', () => 'location_id=%27%20or%201=1--'),
  ]),
  ...alike({ status: 200 }, [
    products(''),
    products('&&'),
    products('limit=200&'),
    products('%6cimit=1'),
    products('sku=%27;drop%20table%20products--&q=%25_%5C'),
    products('q=+++'),
    levels('100 products', (to) => here(to) + '&product_id=p'.repeat(100)),
    levels('a product with a NUL', (to) => `${here(to)}&product_id=%00`),
  ]),
];

export const queries: readonly WireCase[] = [...unknown, ...invalid, ...others];
