// What is measured. A new case is one more entry here, and a function that says what is sent.

import type { MerchantGroup } from '../setup/merchants.ts';
import { type Case, numbersOf, type Pair, type Part } from './case.ts';
import * as reads from './reads.ts';
import * as writes from './writes.ts';

const fewLevels = 64;
const fewMerchants = 64;

/** As they are named on the command line, by the database that they are measured on. */
export const caseNames = {
  one: [
    ...['adjust-spread', 'adjust-64', 'adjust-one', 'create-customer', 'replay'],
    ...['list-products', 'list-levels', 'filter-levels', 'list-movements'],
    ...['get-product', 'get-movement', 'mixed', 'bare-route'],
  ],
  many: ['adjust-few-merchants', 'adjust-many-merchants', 'adjust-large-merchant'],
} as const;

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

/** The cases of many merchants, each request by any of them; and of one that is much larger. */
export function casesOfMany(many: Pair, large: Pair): readonly Case[] {
  const all = many.served.merchants.length;
  const few = Math.min(fewMerchants, all);
  const of = (name: string, merchants: number): Case => ({
    name,
    title: `adjust, ${merchants.toLocaleString('en')} merchants`,
    server: 'service',
    parts: [{ ...writes.adjustMerchants(many.raw, merchants), weight: 1 }],
    callers: many.served.merchants.slice(0, merchants),
    numbers: numbersOf(many.served),
  });
  return [
    of('adjust-few-merchants', few),
    ...(all > few ? [of('adjust-many-merchants', all)] : []),
    {
      name: 'adjust-large-merchant',
      title: 'adjust, a large one of these',
      server: 'service',
      parts: [{ ...writes.adjustSpread(large.raw, large.raw.products), weight: 1 }],
      callers: large.served.merchants,
      numbers: numbersOf(large.served),
    },
  ];
}

/** The yardstick of `get-product`: a route that does nothing but answer as much. */
export function bareCase(served: MerchantGroup): Case {
  const request = { method: 'GET', path: '/api/v1/products/any', answer: 'other' } as const;
  return {
    name: 'bare-route',
    title: 'bare route, as large',
    server: 'bare',
    parts: [{ request, raw: undefined, weight: 1 }],
    callers: served.merchants,
    numbers: numbersOf(served),
  };
}

/** Those with one of the names; all when there is none. */
export function chosen(all: readonly Case[], names: readonly string[]): readonly Case[] {
  return names.length === 0 ? all : all.filter(({ name }) => names.includes(name));
}

/** Whether keys must have been used before it is measured. */
export function isReplay({ parts }: Case): boolean {
  return parts.some(({ request }) => request.answer === 'replay');
}
