// Sequences that are run whatever is made up besides, by `npm test` half of them: those that showed
// a fault, in the service or planted into it, as short as they were found to be. Number 8 is the
// first write after those that each run begins with.

import type { JsonObject } from '../../src/contract/json.ts';
import { defaults } from '../kit/bodies.ts';
import { type Command, type ReplayDraft, replay, restart, write } from './commands.ts';
import type { Draft, ListDraft, WriteDraft } from './drafts.ts';
import { age, erase, expire, grant, lapse, rescope, revoke, rotate } from './operator.ts';
import { goOn, list } from './pages.ts';

const send = (by: number, what: Draft, more: Partial<WriteDraft> = {}): Command =>
  write({ by, what, key: 'new', spoil: null, ...more });

const set = (target: number | 'same', more: Partial<Draft & { kind: 'adjust' }> = {}): Draft => ({
  kind: 'adjust',
  product: 0,
  location: 0,
  target,
  expected: 'none',
  reason: 'stock_count',
  note: null,
  reference: null,
  ...more,
});

const remarks = { note: null, reference: null };
const some = [{ product: 0, quantity: 300_000 }];

const transfer = (reason: string, more: Partial<Draft & { kind: 'transfer' }> = {}): Draft => ({
  ...{ kind: 'transfer', sides: 'out', from: 0, to: 0, lines: some, shortage: 'refuse' },
  ...{ coming: 'receipt', leaving: reason },
  ...remarks,
  ...more,
});

const reserve = (expiry: number | null): Draft => ({
  ...{ kind: 'reserve', location: 0, lines: some, expiry },
  ...remarks,
});
const release = (which: number): Draft => ({ kind: 'release', which, note: null });
const fulfil = (which: number): Draft => ({ kind: 'fulfil', which, reason: 'sale', ...remarks });

const count = (counted: number | 'same', since: number | null): Draft => ({
  ...{ kind: 'count', location: 0, since, journal: 'own', ...remarks },
  lines: [{ product: 0, counted, expected: 'current', since: null }],
});

const change = (body: JsonObject): Draft => ({
  kind: 'change',
  noun: 'products',
  which: 0,
  body,
  ifMatch: 'current',
});

const again = (which: number, more: Partial<ReplayDraft> = {}): Command =>
  replay({ which, how: 'same', member: 0, by: 0, ...more });

const asOf = (filter: string, n: number): Command =>
  list({
    by: 0,
    name: 'levels',
    which: 0,
    filters: [[filter, n]],
    key: null,
    limits: [1],
    pages: 1,
  });

const feed = (by: number, filters: ListDraft['filters'], pages = 1): Command =>
  list({ by, name: 'events', which: 0, filters, key: null, limits: [2], pages });

const five = 500_000;
const seven = 700_000;
const customer = { ...defaults.customers, name: 'Zoë', email: 'zoe@example.com' };

export const kept: readonly { readonly name: string; readonly commands: readonly Command[] }[] = [
  {
    name: 'a replay shows the level as it is, not as it was',
    commands: [send(0, set(five)), send(0, set(seven)), again(8)],
  },
  {
    name: 'a refusal stays one after the level has moved',
    commands: [send(0, set('same')), send(0, set(five)), again(8), again(8, { how: 'changed' })],
  },
  {
    name: 'a lost grant or scope stops a replay, until it is there again',
    commands: [
      send(2, set(five)),
      grant({ which: 2, locations: [] }),
      again(8),
      grant({ which: 2, locations: 'all' }),
      again(8),
      rescope({ which: 2, scopes: ['inventory.read'] }),
      again(8),
      revoke({ which: 2 }),
      again(8),
    ],
  },
  {
    name: 'a key outlives the token and the process it was sent with',
    commands: [
      send(0, set(five)),
      rotate({ which: 0, hasOverlap: false }),
      restart(),
      again(8),
      again(8, { copies: 3 }),
    ],
  },
  {
    name: 'a key of another merchant, credential or kind of write is another key',
    commands: [
      send(0, set(five)),
      send(1, set(five), { key: 8 }),
      send(2, set(seven), { key: 8 }),
      send(0, { kind: 'create', noun: 'customers', body: customer }, { key: 8 }),
      send(0, set(five, { location: 1 }), { key: 8 }),
    ],
  },
  {
    name: 'a change of nothing keeps the version, and its replay shows what came after',
    commands: [send(0, change({})), send(0, change({ name: 'Rye' })), again(8), again(9)],
  },
  {
    name: 'an erased customer is gone for replays, and its external ID is free',
    commands: [
      send(0, { kind: 'create', noun: 'customers', body: { ...customer, external_id: 'E-1' } }),
      erase({ merchant: 0, which: 1 }),
      again(8),
      send(0, { kind: 'create', noun: 'customers', body: { ...customer, external_id: 'E-1' } }),
    ],
  },
  {
    name: 'a key that was refused for what it said is free, and one that is bound is not',
    commands: [
      send(0, set(five), { spoil: 4 }),
      again(8, { how: 'mended' }),
      again(8, { how: 'spoilt' }),
    ],
  },
  {
    name: 'a list goes on behind the last entry that was seen, at a page that is full as well',
    commands: [
      list({ by: 0, name: 'products', which: 0, filters: [], key: null, limits: [1], pages: 1 }),
      send(0, { kind: 'create', noun: 'products', body: { ...defaults.products, name: 'Oats' } }),
      list({ by: 0, name: 'products', which: 0, filters: [], key: null, limits: [3], pages: 1 }),
      goOn({ by: 0, which: 0, limits: [2], pages: 9 }),
    ],
  },
  {
    name: 'levels as of a moment stay what they were, whatever is written between the pages',
    commands: [
      send(0, set(five)),
      send(0, set(five, { product: 1 })),
      ...['as_of', 'as_of_position'].map((filter) => asOf(filter, 9)),
      send(0, set(seven)),
      send(0, set(seven, { product: 1 })),
      ...[0, 1].map((which) => goOn({ by: 0, which, limits: [1], pages: 9 })),
      erase({ merchant: 0, which: 0 }),
      erase({ merchant: 0, which: 0 }),
      age(),
      ...[6, 7, 8, 9, 10, 11, 12].flatMap((n) => [asOf('as_of', n), asOf('as_of_position', n)]),
    ],
  },
  {
    name: 'a count adds what has moved since its position, and one that finds nothing is recorded',
    commands: [
      send(0, set(five)),
      send(0, transfer('sale')),
      send(0, count(seven, 1)),
      send(0, count('same', null)),
      send(0, count(0, 3)),
      again(10),
      again(11),
      feed(0, [['location_id', 0]], 9),
    ],
  },
  {
    name: 'what is put aside is left alone but by counts and damage, and ends once',
    commands: [
      send(0, set(five)),
      send(0, reserve(null)),
      send(0, transfer('sale')),
      send(0, transfer('damage')),
      send(0, fulfil(0)),
      send(0, release(0)),
      send(0, fulfil(0)),
      again(9),
      again(11),
      feed(0, [['product_id', 0]], 9),
    ],
  },
  {
    name: 'what has expired counts no more, whether or not anything has told it',
    commands: [
      send(0, set(five)),
      send(0, reserve(7)),
      send(0, reserve(7)),
      lapse({ merchant: 0, which: 0 }),
      send(0, release(0)),
      send(0, reserve(7)),
      again(9),
      expire({ merchant: 0, which: 0 }),
      send(0, fulfil(0)),
      feed(0, [['location_id', 0]], 9),
    ],
  },
  {
    name: 'the feed goes on where it was, and shows what its reader may see when it is read',
    commands: [
      feed(2, []),
      feed(0, [
        ['location_id', 0],
        ['product_id', 0],
      ]),
      send(0, set(five)),
      send(0, set(seven, { location: 1 })),
      send(0, change({ name: 'Rye' })),
      grant({ which: 2, locations: [] }),
      erase({ merchant: 0, which: 0 }),
      goOn({ by: 2, which: 0, limits: [1], pages: 1 }),
      rescope({ which: 2, scopes: ['events.read', 'inventory.read'] }),
      goOn({ by: 2, which: 1, limits: [1], pages: 9 }),
      grant({ which: 2, locations: 'all' }),
      goOn({ by: 2, which: 0, limits: [2], pages: 9 }),
      goOn({ by: 0, which: 0, limits: [2], pages: 9 }),
      ...[0, 4, 84, 85, 88, 90].map((n) => feed(0, [['after_position', n]], 9)),
    ],
  },
];
