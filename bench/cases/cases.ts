// What is measured. A new case is one more entry here, and a function that says what is sent.

import type { MerchantGroup } from '../setup/merchants.ts';
import { type Case, numbersOf, type Pair, type Part } from './case.ts';
import * as reads from './reads.ts';
import * as writes from './writes.ts';

const fewLevels = 64;
const fewMerchants = 64;

/** The cases of one merchant that has nothing but its own rows. */
export function casesOfOne({ served, raw }: Pair): readonly Case[] {
  const numbers = numbersOf(served);
  const one = (name: string, title: string, part: Part): Case => ({
    name,
    title,
    server: 'service',
    parts: [{ ...part, weight: 1 }],
    callers: served.merchants,
    numbers,
  });
  const spread = writes.adjustSpread(raw, raw.products);
  const levels = raw.products.toLocaleString('en');
  const movement = reads.getMovement(served, raw);
  return [
    one('adjust-spread', `adjust, ${levels} levels`, spread),
    {
      ...one('adjust-64', `adjust, ${fewLevels} levels`, writes.adjustSpread(raw, fewLevels)),
      numbers: { ...numbers, products: fewLevels },
    },
    one('adjust-one', 'adjust, one level', writes.adjustOne(raw)),
    one('create-customer', 'create customer', writes.createCustomer(raw)),
    one('replay', 'replay an adjustment', writes.replay(raw, numbers.usedKeys)),
    one('list-products', 'list 50 products', reads.listOfProducts(raw)),
    one('list-levels', 'list 50 levels', reads.listOfLevels(raw)),
    one('filter-levels', 'levels of 100 products', reads.listOfFilteredLevels(raw)),
    one('list-movements', 'list 50 movements, newest first', reads.listOfMovements(raw)),
    one('get-product', 'get product', reads.getProduct(raw)),
    one('get-movement', 'get movement', movement),
    {
      ...one('mixed', 'mixed: 80 % reads', spread),
      parts: [
        { ...spread, weight: 4 },
        { ...reads.getProduct(raw), weight: 6 },
        { ...movement, weight: 2 },
        { ...reads.listOfProducts(raw), weight: 3 },
        { ...reads.listOfLevels(raw), weight: 3 },
        { ...reads.listOfMovements(raw), weight: 2 },
      ],
    },
  ];
}

/** The cases of many merchants, each request by any of them. */
export function casesOfMany({ served, raw }: Pair): readonly Case[] {
  const all = served.merchants.length;
  const sizes = [...new Set([Math.min(fewMerchants, all), all])];
  return sizes.map((size, index) => ({
    name: index === 0 ? 'adjust-few-merchants' : 'adjust-many-merchants',
    title: `adjust, ${size.toLocaleString('en')} merchants`,
    server: 'service',
    parts: [{ ...writes.adjustMerchants(raw, size), weight: 1 }],
    callers: served.merchants.slice(0, size),
    numbers: numbersOf(served),
  }));
}

/** The yardstick of `get-product`: a route that does nothing but answer as much. */
export function bareCase(served: MerchantGroup): Case {
  const request = { method: 'GET', path: '/api/v1/products/any', answer: 'other' } as const;
  return {
    name: 'bare-route',
    title: 'a bare route that answers a product',
    server: 'bare',
    parts: [{ request, raw: undefined, weight: 1 }],
    callers: served.merchants,
    numbers: numbersOf(served),
  };
}

/** @throws Error when `names` holds a case that is not there. Empty: all. */
export function chosen(all: readonly Case[], names: readonly string[]): readonly Case[] {
  const unknown = names.find((name) => !all.some((one) => one.name === name));
  if (unknown !== undefined) {
    const known = all.map(({ name }) => name).join(', ');
    throw new Error(`there is no case "${unknown}"; there are ${known}`);
  }
  return names.length === 0 ? all : all.filter(({ name }) => names.includes(name));
}
