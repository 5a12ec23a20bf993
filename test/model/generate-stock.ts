// Makes writes of stock up: few products and places, and quantities that meet, so that what is
// there is often less than what is asked for.

import fc from 'fast-check';
import { reasons, references } from '../kit/bodies.ts';
import { comingReasons, leavingReasons } from '../kit/stock-bodies.ts';
import type { StockDraft } from './stock-drafts.ts';

export const plain = { noNullPrototype: true } as const;
export const number = fc.nat(99);
export const rarely = <T>(usual: T, other: fc.Arbitrary<T>, among: number): fc.Arbitrary<T> =>
  fc.oneof({ weight: among - 1, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: other });

const expected = rarely('none' as const, fc.constantFrom('current', 'current', 'wrong'), 3);

/** A few places, and targets that meet often, so that levels have chains and no-ops. */
const adjustments: fc.Arbitrary<StockDraft> = fc.record(
  {
    kind: fc.constant('adjust'),
    product: number,
    location: number,
    target: fc.oneof(
      { weight: 6, arbitrary: fc.nat(12).map((whole) => whole * 100_000) },
      { weight: 1, arbitrary: fc.constant('same' as const) },
      { weight: 2, arbitrary: fc.nat(3_000_000) },
    ),
    expected,
    reason: fc.constantFrom(...reasons),
    note: fc.constantFrom(null, 'Count 7', 'né\u0301'),
    reference: fc.constantFrom(null, 'PO "7"'),
  },
  plain,
);

const linesUpTo = (most: number) =>
  fc.array(
    fc.record(
      {
        product: number,
        quantity: fc.oneof(
          { weight: 5, arbitrary: fc.integer({ min: 1, max: most }).map((n) => n * 100_000) },
          { weight: 1, arbitrary: fc.integer({ min: 1, max: 3_000_000 }) },
        ),
      },
      plain,
    ),
    { minLength: 1, maxLength: 3 },
  );

const transfers: fc.Arbitrary<StockDraft> = fc.record(
  {
    kind: fc.constant('transfer'),
    sides: fc.constantFrom('in', 'in', 'out', 'out', 'between'),
    from: number,
    to: number,
    lines: linesUpTo(9),
    coming: fc.constantFrom(...comingReasons),
    leaving: fc.constantFrom(...leavingReasons),
    shortage: rarely('refuse', fc.constant('record'), 3),
    note: fc.constantFrom(null, 'Delivery 7'),
    reference: fc.constantFrom(null, 'receipt 1'),
  },
  plain,
);

const since = rarely<number | null>(null, number, 3);

const counts: fc.Arbitrary<StockDraft> = fc.record(
  {
    kind: fc.constant('count'),
    location: number,
    lines: fc.array(
      fc.record(
        {
          product: number,
          counted: fc.oneof(
            { weight: 5, arbitrary: fc.nat(12).map((whole) => whole * 100_000) },
            { weight: 3, arbitrary: fc.constant('same' as const) },
            { weight: 1, arbitrary: fc.nat(3_000_000) },
          ),
          expected,
          since,
        },
        plain,
      ),
      { minLength: 1, maxLength: 4 },
    ),
    since,
    journal: rarely('own', fc.constantFrom('own', 'none', 'foreign'), 4),
    note: fc.constantFrom(null, 'Shelf 7'),
    reference: fc.constantFrom(null, 'count 1'),
  },
  plain,
);

const reservations: fc.Arbitrary<StockDraft> = fc.record(
  {
    kind: fc.constant('reserve'),
    location: number,
    lines: linesUpTo(4),
    expiry: fc.oneof(
      { weight: 6, arbitrary: fc.integer({ min: 2, max: 80 }) },
      { weight: 4, arbitrary: fc.constant(null) },
      { weight: 1, arbitrary: fc.constantFrom(-1, 91) },
    ),
    note: fc.constantFrom(null, 'Blue bag'),
    reference: fc.constantFrom(null, ...references),
  },
  plain,
);

const which = fc.oneof({ weight: 2, arbitrary: fc.nat(2) }, { weight: 1, arbitrary: number });
const ends: fc.Arbitrary<StockDraft> = fc.oneof(
  fc.record(
    { kind: fc.constant('release'), which, note: fc.constantFrom(null, 'Not wanted') },
    plain,
  ),
  fc.record(
    {
      kind: fc.constant('fulfil'),
      which,
      reason: fc.constantFrom(...leavingReasons),
      note: fc.constantFrom(null, 'Parcel 7'),
      reference: fc.constantFrom(null, 'invoice 1'),
    },
    plain,
  ),
);

/** How often each is made up, among all commands. */
export const stockWrites = [
  { weight: 32, arbitrary: adjustments },
  { weight: 28, arbitrary: transfers },
  { weight: 22, arbitrary: counts },
  { weight: 26, arbitrary: reservations },
  { weight: 24, arbitrary: ends },
];
