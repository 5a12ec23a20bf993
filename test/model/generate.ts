// Makes commands up, the usual ones most often.

import fc from 'fast-check';
import type { Scope } from '../../src/core/principal.ts';
import { scopes } from '../../src/resources.ts';
import { anyBody, anyPatch, defaults, externalIds, type Noun } from '../kit/bodies.ts';
import { anySpelling } from '../kit/spelling.ts';
import { batch } from './batches.ts';
import * as does from './commands.ts';
import type { Draft } from './drafts.ts';
import { managed } from './generate-access.ts';
import { number, plain, rarely, stockWrites } from './generate-stock.ts';
import * as operator from './operator.ts';
import * as reads from './pages.ts';
import { listDays, listStock } from './stock.ts';
import { type List, listNames } from './world.ts';

/** Mostly somebody who may do everything: of the one merchant, or of the other. */
const anybody = fc.oneof({ weight: 3, arbitrary: fc.nat(1) }, { weight: 2, arbitrary: number });
/** Mostly those, and who holds less: of the locations, or of the scopes. */
const staff = fc.oneof(
  { weight: 4, arbitrary: fc.nat(1) },
  { weight: 3, arbitrary: fc.constantFrom(2, 4) },
  { weight: 2, arbitrary: number },
);
const nouns = fc.constantFrom('customers' as const, 'products' as const, 'locations' as const);
const creates: fc.Arbitrary<Draft> = fc
  .constantFrom(
    'customers' as const,
    'products' as const,
    'products' as const,
    'locations' as const,
  )
  .chain((noun) =>
    fc.record({ kind: fc.constant('create'), noun: fc.constant(noun), body: anyBody(noun) }, plain),
  );

const changes: fc.Arbitrary<Draft> = nouns.chain((noun) =>
  fc.record(
    {
      kind: fc.constant('change'),
      noun: fc.constant(noun),
      which: number,
      body: anyPatch(noun),
      ifMatch: rarely('none', fc.constantFrom('current', 'stale'), 3),
    },
    plain,
  ),
);

/** Of so few IDs that most are there already; with all members, or with some. */
const upserts: fc.Arbitrary<Draft> = nouns.chain((noun) =>
  fc.record(
    {
      kind: fc.constant('upsert'),
      noun: fc.constant(noun),
      named: fc.constantFrom(...externalIds, ...externalIds, 'gid://shop/1?&%2F'),
      body: fc.oneof(anyBody(noun), anyPatch(noun)),
    },
    plain,
  ),
);

const sending = {
  by: anybody,
  spelling: anySpelling,
  copies: rarely(1, fc.constant(3), 8),
};

const writes = (what: fc.Arbitrary<Draft>, by = anybody) =>
  fc
    .record(
      {
        what,
        key: rarely<'new' | number>('new', number, 8),
        spoil: rarely<number | null>(null, number, 8),
        ...sending,
        by,
      },
      plain,
    )
    .map(does.write);

const batches = fc
  .record(
    {
      by: anybody,
      writes: fc.array(
        fc.record(
          {
            what: fc.oneof(
              { weight: 3, arbitrary: fc.oneof(...stockWrites) },
              { weight: 2, arbitrary: fc.oneof(creates, changes, upserts) },
            ),
            key: rarely<'new' | number>('new', number, 4),
            spoil: rarely<number | null>(null, number, 8),
          },
          plain,
        ),
        { minLength: 1, maxLength: 6 },
      ),
      times: rarely(1, fc.constant(2), 3),
    },
    plain,
  )
  .map(batch);

const replays = fc
  .record(
    {
      which: number,
      how: fc.constantFrom('same', 'same', 'same', 'changed', 'changed', 'spoilt', 'mended'),
      member: number,
      ...sending,
    },
    plain,
  )
  .map(does.replay);

const filtersOf: Readonly<Record<List['name'], readonly string[]>> = {
  customers: ['email', 'external_id', 'status', 'updated_after', 'q'],
  products: ['sku', 'barcode', 'external_id', 'status', 'updated_after', 'q'],
  locations: ['status', 'code', 'external_id'],
  levels: ['updated_after', 'as_of', 'as_of_position', 'low_stock'],
  'product levels': ['as_of', 'as_of_position'],
  movements: [
    'location_id',
    'reason',
    'operation_id',
    'recorded_after',
    'recorded_before',
    'order',
    'after_position',
  ],
  transfers: ['location_id', 'short'],
  counts: ['location_id'],
  reservations: ['status', 'location_id', 'reference'],
  operations: ['type', 'status', 'request_id', 'credential_id'],
  events: ['location_id', 'after_position', 'low_stock'],
  people: ['status'],
  tokens: ['status'],
};

const anyFilters = (name: List['name']) => {
  const single = fc.subarray([...filtersOf[name]]).map((names) => names.slice(0, 2));
  const isByProduct = name === 'levels' || name === 'movements' || name === 'events';
  const products = isByProduct ? rarely(0, fc.nat(3), 2) : fc.constant(0);
  const types = name === 'events' ? rarely(0, fc.nat(3), 2) : fc.constant(0);
  return fc.tuple(single, products, types).chain(([names, ...counts]) => {
    const repeated = ['product_id', 'type'].flatMap((filter, n) =>
      Array.from({ length: counts[n] ?? 0 }, () => filter),
    );
    const twice = names.filter((filter) => filter === 'sku' || filter === 'external_id');
    const all = [...names, ...twice, ...repeated];
    return fc.tuple(...all.map((filter) => fc.tuple(fc.constant(filter), number)));
  });
};

const turning = {
  by: anybody,
  which: number,
  limits: fc.array(fc.constantFrom(1, 2, 3, 7, 200), { minLength: 1, maxLength: 3, size: 'max' }),
  pages: fc.constantFrom(1, 2, 99),
};

const lists = fc
  .constantFrom(...listNames)
  .chain((name) =>
    fc.record(
      {
        name: fc.constant(name),
        filters: rarely<readonly (readonly [string, number])[]>([], anyFilters(name), 2),
        key: name === 'operations' ? rarely<number | null>(null, number, 4) : fc.constant(null),
        ...turning,
      },
      plain,
    ),
  )
  .map(reads.list);

const moments = fc
  .record(
    {
      name: fc.constantFrom('levels' as const, 'levels' as const, 'product levels' as const),
      filters: fc.tuple(fc.tuple(fc.constantFrom('as_of', 'as_of_position'), number)),
      key: fc.constant(null),
      ...turning,
    },
    plain,
  )
  .map(reads.list);

/** Of which there are few: so a page at a time. */
const papers = fc
  .constantFrom(
    ...(['transfers', 'counts', 'reservations', 'reservations', 'people', 'tokens'] as const),
  )
  .chain((name) =>
    fc.record(
      {
        name: fc.constant(name),
        filters: rarely<readonly (readonly [string, number])[]>([], anyFilters(name), 2),
        key: fc.constant(null),
        ...turning,
        limits: fc.constantFrom([1], [2, 1]),
      },
      plain,
    ),
  )
  .map(reads.list);

const feeds = fc
  .record(
    {
      name: fc.constant('events' as const),
      filters: anyFilters('events'),
      key: fc.constant(null),
      ...turning,
    },
    plain,
  )
  .map(reads.list);

const maybe = rarely<number | null>(null, number, 3);
const pageLimits = fc.array(fc.constantFrom(1, 2, 3, 7, 200), { minLength: 1, maxLength: 3 });
const ofStock = { by: anybody, location: number, limits: pageLimits };

const stocks = fc
  .record(
    {
      ...ofStock,
      sort: fc.nat(2),
      q: maybe,
      status: maybe,
      moment: maybe,
      low: rarely(false, fc.constant(true), 3),
    },
    plain,
  )
  .map(listStock);

/** As of a moment, and a page at a time. */
const pastStocks = fc
  .record(
    {
      ...{ by: fc.nat(1), location: fc.nat(1), limits: fc.constant([1]), sort: fc.nat(1) },
      ...{ q: fc.constant(null), status: fc.constant(null), moment: number },
      low: fc.constant(false),
    },
    plain,
  )
  .map(listStock);

const days = fc
  .record(
    { ...ofStock, product: maybe, before: fc.nat(2), days: fc.integer({ min: 1, max: 4 }) },
    plain,
  )
  .map(listDays);

const goesOn = fc.record(turning, plain).map(reads.goOn);

const gets = fc
  .record(
    {
      by: anybody,
      which: number,
      name: fc.constantFrom(
        ...([
          'movements',
          'transfers',
          'counts',
          'reservations',
          'customers',
          'products',
          'locations',
          'operations',
          'people',
          'tokens',
        ] as const),
      ),
    },
    plain,
  )
  .map(does.get);

const locations = fc.oneof(
  fc.constant('all' as const),
  fc.uniqueArray(fc.nat(4), { maxLength: 2, size: 'max' }),
);
const held: fc.Arbitrary<readonly Scope[]> = fc.oneof(
  fc.constant([...scopes]),
  fc.subarray([...scopes]),
);

const access = fc.oneof(
  fc.record({ merchant: number, scopes: held, locations }, plain).map(operator.issue),
  fc.record({ which: number, locations }, plain).map(operator.grant),
  fc.record({ which: number, scopes: held }, plain).map(operator.rescope),
  fc.record({ which: number, hasOverlap: fc.boolean() }, plain).map(operator.rotate),
  fc.record({ which: number }, plain).map(operator.revoke),
  fc.record({ merchant: number, which: number }, plain).map(operator.erase),
);

const due = fc.record({ merchant: rarely(0, fc.constant(1), 3), which: number }, plain);

const anyBroken = fc
  .record({ by: anybody, which: number, how: fc.constantFrom(...does.allBreaks) }, plain)
  .map(does.broken);

/** One command of any kind. */
export const anyCommand: fc.Arbitrary<does.Command> = fc.oneof(
  ...stockWrites.map(({ weight, arbitrary }) => ({ weight, arbitrary: writes(arbitrary) })),
  { weight: 6, arbitrary: due.map(operator.lapse) },
  { weight: 8, arbitrary: due.map(operator.expire) },
  { weight: 18, arbitrary: writes(creates) },
  { weight: 18, arbitrary: writes(changes) },
  { weight: 18, arbitrary: writes(upserts) },
  { weight: 60, arbitrary: writes(managed, staff) },
  { weight: 6, arbitrary: fc.record({ which: number }, plain).map(does.enter) },
  { weight: 20, arbitrary: batches },
  { weight: 30, arbitrary: replays },
  { weight: 24, arbitrary: lists },
  { weight: 9, arbitrary: moments },
  { weight: 14, arbitrary: papers },
  { weight: 15, arbitrary: feeds },
  { weight: 12, arbitrary: stocks },
  { weight: 6, arbitrary: pastStocks },
  { weight: 5, arbitrary: days },
  { weight: 12, arbitrary: goesOn },
  { weight: 9, arbitrary: gets },
  { weight: 12, arbitrary: access },
  { weight: 3, arbitrary: anyBroken },
  { weight: 3, arbitrary: fc.record({ by: anybody }, plain).map(does.self) },
  { weight: 3, arbitrary: fc.constant(null).map(operator.age) },
  { weight: 1, arbitrary: fc.constant(null).map(does.restart) },
);

/** What each run begins with: two merchants, who may do what there, and a little of everything. */
export function opening(): does.Command[] {
  const all = [...scopes];
  const create = (by: number, noun: Noun, members: object) =>
    does.write({
      by,
      key: 'new',
      spoil: null,
      what: { kind: 'create', noun, body: { ...defaults[noun], ...members } },
    });
  return [
    operator.open({ name: 'Corner Shop' }),
    operator.open({ name: 'Other Shop' }),
    operator.issue({ merchant: 0, scopes: all, locations: 'all' }),
    operator.issue({ merchant: 1, scopes: all, locations: 'all' }),
    ...['Main Street', 'Harbour'].map((name) => create(0, 'locations', { name })),
    create(1, 'locations', { name: 'Elsewhere' }),
    create(0, 'products', { name: 'Flour' }),
    create(0, 'products', { name: 'Sugar', unit: { code: 'kg', precision: 3 } }),
    does.sever(),
    create(1, 'products', { name: 'Salt' }),
    ...[0, 1].map((by) => create(by, 'customers', { name: 'Ada', email: 'ada@example.com' })),
    does.sever(),
    operator.issue({ merchant: 0, scopes: all, locations: [0] }),
    operator.issue({
      merchant: 0,
      scopes: ['inventory.read', 'inventory.write'],
      locations: 'all',
    }),
  ];
}

/** What each run that is made up begins with besides: who works there. */
export function staffed(): does.Command[] {
  const asked = (what: Draft) => does.write({ by: 0, key: 'new', spoil: null, what });
  const invite = (name: string, role: string) =>
    asked({ kind: 'invite', body: { name, role }, places: 'all' });
  const some: readonly Scope[] = ['access.write', 'access.read', 'customers.read', 'products.read'];
  return [
    operator.issue({ merchant: 0, scopes: some, locations: 'all' }),
    invite('Ada', 'owner'),
    invite('Grace', 'viewer'),
    asked({ kind: 'make token', body: { name: 'Till', scopes: [...some] }, places: 'all' }),
  ];
}

/** What each run ends with: somebody who may see everything does. */
export function closing(): does.Command[] {
  const whole = { by: -1, filters: [], key: null, limits: [200], pages: 99 };
  const seen = [0, 1].flatMap((merchant) => [
    operator.issue({ merchant, scopes: [...scopes], locations: 'all' }),
    ...listNames.map((name) => reads.list({ name, which: 0, ...whole })),
    ...[1, 2].map((which) => reads.list({ name: 'levels', which, ...whole })),
  ]);
  return [does.sever(), ...seen];
}
