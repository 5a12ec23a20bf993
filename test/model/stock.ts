// What a shop asks of its stock: the list of products with what is on hand, in each order, and the
// sums of days. What they must be is made of products, levels and movements alone.

import { expect } from 'vitest';
import type { JsonObject } from '../../src/contract/json.ts';
import { barcodes, searched, skus } from '../kit/bodies.ts';
import { plain, readAnswer, refusalAnswer } from './answers.ts';
import { agedBy, type Command, command, type Real } from './commands.ts';
import { callerOf } from './drafts.ts';
import { placeOf } from './ledger.ts';
import { isLow } from './low.ts';
import { notGrantedIn, type Refusal, refusalOfCaller } from './rules.ts';
import { hasWords, levelsOf } from './views.ts';
import {
  type Caller,
  type Merchant,
  pick,
  quantityOf,
  reaches,
  unitsOf,
  type World,
} from './world.ts';

const orders = ['name', 'sku', 'quantity'] as const;
type Order = (typeof orders)[number];

interface StockDraft {
  readonly by: number;
  readonly location: number;
  readonly sort: number;
  readonly q: number | null;
  readonly status: number | null;
  readonly moment: number | null;
  /** Only what has run out. */
  readonly low: boolean;
  readonly limits: readonly number[];
}

export const listStock = (draft: StockDraft): Command =>
  command('listStock', draft, async (world, real) => {
    const caller = callerOf(world, draft.by);
    const { merchant } = caller.credential;
    const sort = orders[draft.sort % orders.length] ?? 'name';
    const words = [...searched, ...skus, ...barcodes];
    const q = draft.q === null ? undefined : words[draft.q % words.length];
    const status =
      draft.status === null ? undefined : (['active', 'archived'] as const)[draft.status % 2];
    const asked = draft.moment === null ? undefined : momentAsked(merchant, draft.moment);
    const location = locationOf(world, merchant, draft.location);
    const query = new URLSearchParams({
      ...{ location_id: location, sort },
      ...(q !== undefined && { q }),
      ...(status !== undefined && { status }),
      ...(draft.low && { low_stock: 'true' }),
      ...asked?.query,
    });
    const refusal = refusalOf(caller, location, () => faultsOf(asked, sort, draft.low));
    const mayRead = caller.credential.scopes.includes('products.read');
    const rows = () =>
      stockOf(merchant, location, asked?.position)
        .filter((row) => row.status === (status ?? 'active'))
        .filter((row) => q === undefined || hasWords(row, q))
        .filter((row) => !draft.low || isLow(merchant, row))
        .sort((a, b) => compare(keyOf(sort, a), keyOf(sort, b)));
    const meta = asked && {
      as_of_position: String(asked.position),
      journal: merchant.journal.id,
    };
    const moment = (draft.low ? ' of what is low' : '') + (asked ? ' as of a moment' : '');
    await turnPages(
      real,
      caller,
      { path: `/stock?${query}`, limits: draft.limits },
      {
        name: `stock by ${sort}${moment}`,
        refusal,
        rows: mayRead ? rows : () => [],
        meta: (mayRead && meta) || {},
      },
    );
  });

interface Asked {
  readonly query: Readonly<Record<string, string>>;
  readonly position: number;
}

function momentAsked({ journal }: Merchant, n: number): Asked {
  const { times, id } = journal;
  const aged = times.filter((at) => Date.parse(at) < Date.now() - agedBy / 2);
  const time = n % 3 === 1 ? aged[n % aged.length] : undefined;
  if (time !== undefined) {
    return { query: { as_of: time }, position: times.filter((at) => at <= time).length };
  }
  if (n % 3 === 0) return { query: { as_of: 'now' }, position: times.length };
  const position = n % (times.length + 1);
  return { query: { as_of_position: String(position), journal: id }, position };
}

/** What only the present has. */
function faultsOf(asked: Asked | undefined, sort: Order, low: boolean): JsonObject[] {
  if (asked === undefined) return [];
  const moment = Object.keys(asked.query).filter((name) => name.startsWith('as_of'));
  const fields = [
    ...(low ? [...moment, 'low_stock'] : []),
    ...(sort === 'quantity' ? ['sort'] : []),
  ];
  return fields.map((name) => ({ field: `query.${name}`, code: 'value_not_allowed' }));
}

/** Every product that is tracked, with what its level is, or was. */
function stockOf(merchant: Merchant, location: string, moment: number | undefined): JsonObject[] {
  const levels = new Map(
    levelsOf(merchant, moment)
      .filter((level) => level.location_id === location)
      .map((level) => [level.product_id, level]),
  );
  const nothing = moment === undefined ? '0' : null;
  const products = [...merchant.products.values()].filter((one) => one.inventory_tracked === true);
  return products.map(({ id = null, name = null, sku = null, barcode = null, ...product }) => {
    const { status = null, unit = null, low_stock_at = null } = product;
    // One that never moved may have been counted.
    const counted = moment === undefined ? merchant.counted.get(placeOf(id, location)) : undefined;
    const level = levels.get(id) ?? {
      ...{ quantity: '0', reserved_quantity: nothing, available_quantity: nothing },
      ...{ updated_at: null, counted_at: counted?.at ?? null, counted_by: counted?.by ?? null },
    };
    const { version: _, last_movement_id: __, ...shown } = level;
    const said = { name, sku, barcode, status, unit, low_stock_at };
    return { ...shown, product_id: id, location_id: location, ...said };
  });
}

/** What a row is sorted by: texts as bytes. */
function keyOf(sort: Order, { name, sku, quantity, product_id }: JsonObject): readonly string[] {
  const folded = String(name).normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  const keys = {
    name: folded,
    sku: sku === null ? '1' : `0${sku}`,
    quantity: unitsOf(String(quantity)).toString().padStart(30, '0'),
  };
  return [keys[sort], String(product_id)];
}

function compare(a: readonly string[], b: readonly string[]): number {
  const difference = a.map((text, n) => Buffer.compare(Buffer.from(text), Buffer.from(b[n] ?? '')));
  return difference.find((one) => one !== 0) ?? 0;
}

interface DailyDraft {
  readonly by: number;
  readonly location: number;
  readonly product: number | null;
  /** How many days before today it begins. */
  readonly before: number;
  readonly days: number;
  readonly limits: readonly number[];
}

const day = 86_400_000;

export const listDays = (draft: DailyDraft): Command =>
  command('listDays', draft, async (world, real) => {
    const caller = callerOf(world, draft.by);
    const { merchant } = caller.credential;
    const location = locationOf(world, merchant, draft.location);
    const first = Date.now() - draft.before * day;
    const dates = Array.from({ length: draft.days }, (_, n) =>
      new Date(first + n * day).toISOString().slice(0, 10),
    );
    const product =
      draft.product === null ? undefined : pick([...merchant.products.keys()], [], draft.product);
    const query = new URLSearchParams({
      ...{ location_id: location, from: dates[0] ?? '', to: dates.at(-1) ?? '' },
      ...(product !== undefined && { product_id: product }),
    });
    const timezone = String(merchant.locations.get(location)?.timezone);
    const movements = [...merchant.movements.values()].filter(
      (one) =>
        one.location_id === location && (product === undefined || one.product_id === product),
    );
    await turnPages(
      real,
      caller,
      { path: `/inventory/daily?${query}`, limits: draft.limits },
      {
        name: 'days',
        refusal: refusalOf(caller, location, () => []),
        rows: () => dates.map((date) => dayOf(date, timezone, movements)),
        meta: { timezone },
      },
    );
  });

/** The date that clocks of a zone show. */
function dateIn(timeZone: string, at: unknown): string {
  const format = new Intl.DateTimeFormat('en-CA', { timeZone, dateStyle: 'short' });
  return format.format(new Date(String(at)));
}

function dayOf(date: string, timezone: string, movements: readonly JsonObject[]): JsonObject {
  const own = movements.filter(({ recorded_at }) => dateIn(timezone, recorded_at) === date);
  const reasons = [...new Set(own.map(({ reason }) => String(reason)))].sort();
  const sum = (units: readonly bigint[]) => quantityOf(units.reduce((all, one) => all + one, 0n));
  return {
    date,
    movements: own.length,
    reasons: reasons.map((reason) => {
      const of = own.filter((one) => one.reason === reason);
      const changes = of.map((one) => changeOf(one));
      return {
        ...{ reason, movements: of.length },
        quantity_in: sum(changes.filter((one) => one > 0n)),
        quantity_out: sum(changes.filter((one) => one < 0n).map((one) => -one)),
      };
    }),
  };
}

const changeOf = ({ quantity_before, quantity_after }: JsonObject): bigint =>
  unitsOf(String(quantity_after)) - unitsOf(String(quantity_before));

function locationOf({ merchants }: World, merchant: Merchant, n: number): string {
  const foreign = merchants.find((one) => one !== merchant);
  return pick([...merchant.locations.keys()], [...(foreign?.locations.keys() ?? [])], n);
}

/** In the order in which requests are judged: the caller, the query, the location. */
function refusalOf(
  caller: Caller,
  location: string,
  faults: () => readonly JsonObject[],
): Refusal | undefined {
  const refusal = refusalOfCaller(caller, 'inventory.read');
  if (refusal !== undefined) return refusal;
  const details = faults();
  if (details.length > 0) return { status: 400, code: 'invalid_parameter', details };
  const { credential } = caller;
  const isGranted = credential.merchant.locations.has(location) && reaches(credential, location);
  return isGranted ? undefined : notGrantedIn(['query.location_id']);
}

/** To the end, with one limit after the other: each row once, in order. */
async function turnPages(
  real: Real,
  caller: Caller,
  { path, limits }: { readonly path: string; readonly limits: readonly number[] },
  {
    name,
    refusal,
    rows,
    meta,
  }: {
    readonly name: string;
    readonly refusal: Refusal | undefined;
    readonly rows: () => readonly JsonObject[];
    readonly meta: object;
  },
): Promise<void> {
  let rest = refusal === undefined ? rows() : [];
  for (let page = 0, cursor = ''; ; page += 1) {
    const limit = limits[page % limits.length] ?? 50;
    const answer = await real.send(caller, 'GET', `${path}&limit=${limit}${cursor}`);
    if (refusal !== undefined) {
      expect(plain(answer)).toEqual(refusalAnswer(refusal));
      real.note(`list ${name} ${refusal.code}`);
      return;
    }
    expect(plain(answer)).toEqual(readAnswer(rest.slice(0, limit)));
    const { request_id: _, next_cursor, ...said } = answer.body.meta;
    expect(said).toEqual(meta);
    rest = rest.slice(limit);
    expect(next_cursor !== undefined, 'there is a next cursor').toBe(rest.length > 0);
    real.note(`list ${name} ${page === 0 ? 'first' : 'next'} page`);
    if (next_cursor === undefined) return;
    cursor = `&cursor=${encodeURIComponent(next_cursor)}`;
  }
}
