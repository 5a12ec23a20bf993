import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Answer, Api } from '../../test/kit/api.ts';
import { withoutLimits } from '../../test/kit/database.ts';
import { type Environment, startEnvironment } from '../../test/kit/environment.ts';
import { ageLedger } from '../../test/kit/ledger.ts';

interface Item {
  readonly product_id: string;
  readonly name: string;
  readonly quantity: string;
  readonly updated_at: string | null;
}

interface Moved {
  readonly product_id: string;
  readonly position: string;
  readonly quantity_after: string;
  readonly recorded_at: string;
}

let service: Environment;
let merchant: string;
let location: string;
let api: Api;
let journal: string;
let last: number;
let moved: readonly Moved[];
/** By name. */
let products: readonly Item[];

beforeAll(async () => {
  service = await startEnvironment();
  await withoutLimits(service.db);
  const { given } = service;
  merchant = await given.merchant();
  location = await given.location(merchant);
  const elsewhere = await given.location(merchant);
  api = service.api.as((await given.credential(merchant)).token);
  const ids: string[] = [];
  for (const sku of ['C', 'A', null, 'D', 'B']) {
    const { body } = await api.post('/products', { name: `Box ${ids.length}`, sku });
    ids.push(body.data.id);
  }
  for (let n = 1; n <= 30; n += 1) await adjust(ids[(n * n) % 4], n);
  await adjust(ids[1], 900, elsewhere);
  products = ids.map((product_id, n) => ({
    ...{ product_id, name: `Box ${n}`, quantity: '0', updated_at: null },
  }));
  const { body } = await api.get(
    `/inventory/movements?location_id=${location}&order=asc&limit=200`,
  );
  moved = body.data;
  ({ journal } = body.meta);
  last = Number((await api.get(path('&as_of=now'))).body.meta.as_of_position);
});
afterAll(() => service.stop());

async function adjust(product_id: string | undefined, target: number, place = location) {
  const answer = await api.post('/inventory/adjustments', {
    ...{ product_id, location_id: place, target_quantity: `${target}`, reason: 'correction' },
  });
  expect(answer.status).toBe(201);
}

const path = (more: string) => `/stock?location_id=${location}${more}`;

async function walk(one: string): Promise<{ items: Item[]; meta: object[] }> {
  const items: Item[] = [];
  const meta: object[] = [];
  for (let rest: string | undefined = one; rest !== undefined; ) {
    const answer: Answer = await api.get(rest);
    expect([answer.status, answer.body.error]).toEqual([200, undefined]);
    items.push(...answer.body.data);
    const { as_of_position, journal: of, next_cursor: next } = answer.body.meta;
    meta.push({ as_of_position, journal: of });
    rest = next === undefined ? undefined : `${one}&cursor=${encodeURIComponent(next)}`;
  }
  return { items, meta };
}

const unknown = {
  ...{ reserved_quantity: null, available_quantity: null, counted_at: null, counted_by: null },
};

/** What the movements up to a position leave of each product, by name. */
const left = (position: number) =>
  products.map((product) => {
    const movement = moved.findLast(
      (one) => one.product_id === product.product_id && Number(one.position) <= position,
    );
    const quantity = movement?.quantity_after ?? '0';
    return { ...product, quantity, updated_at: movement?.recorded_at ?? null, ...unknown };
  });

describe('the stock of a location as of a position', () => {
  test('is what the movements up to it leave, in each order, on any pages', async () => {
    const bySku = [1, 4, 0, 3, 2];
    for (let position = 0; position <= last; position += 1) {
      const more = `&as_of_position=${position}&journal=${journal}&limit=${1 + (position % 4)}`;
      const named = await walk(path(more));
      const expected = left(position);
      expect(named.items).toMatchObject(expected);
      expect(named.items).toHaveLength(expected.length);
      expect(named.meta).toEqual(
        named.meta.map(() => ({ as_of_position: `${position}`, journal })),
      );
      const sorted = await walk(path(`${more}&sort=sku`));
      expect(sorted.items).toMatchObject(bySku.map((n) => expected[n]));
      const found = await walk(path(`${more}&q=box%203`));
      expect(found.items).toMatchObject([expected[3]]);
    }
  });

  test('stays the same over all pages of a walk, whatever is written between them', async () => {
    const before = (await walk(path('&as_of=now'))).items;
    const items: Item[] = [];
    let cursor = '';
    do {
      const page = await api.get(path(`&as_of=now&limit=2${cursor}`));
      items.push(...page.body.data);
      const next = page.body.meta.next_cursor;
      cursor = next === undefined ? '' : `&cursor=${encodeURIComponent(next)}`;
      for (const [n, { product_id }] of products.entries()) {
        await adjust(product_id, 1_000 + items.length * 10 + n);
      }
    } while (cursor !== '');
    expect(items).toEqual(before);
  });

  test('needs the journal of the position, one moment, and a cursor of this journal', async () => {
    const refusals: [string, string, string][] = [
      ['&as_of_position=3', 'missing_parameter', 'query.journal'],
      ['&as_of_position=3&journal=jrn_x', 'journal_mismatch', 'query.journal'],
      ['&journal=jrn_x', 'journal_mismatch', 'query.journal'],
      [`&as_of_position=9999&journal=${journal}`, 'journal_mismatch', 'query.as_of_position'],
      ['&as_of=2999-01-01T00:00:00Z', 'invalid_parameter', 'query.as_of'],
      [`&as_of=now&as_of_position=3&journal=${journal}`, 'invalid_parameter', 'query.as_of'],
    ];
    for (const [more, code, field] of refusals) {
      const answer = await api.get(path(more));
      expect([more, answer.status, answer.code]).toEqual([more, 400, code]);
      expect(answer.body.error.details[0]).toMatchObject({ field });
    }
  });
});

test('the stock at a time is what it was after the last operation by then', async () => {
  await ageLedger(service.db, [merchant], 60_000);
  const { body } = await api.get(
    `/inventory/movements?location_id=${location}&order=asc&limit=200`,
  );
  const movements: readonly Moved[] = body.data;
  for (const { recorded_at } of movements.slice(0, 12)) {
    const { items, meta } = await walk(path(`&as_of=${recorded_at}`));
    const { as_of_position } = meta[0] as { as_of_position: string };
    expect(items.map(({ quantity }) => quantity)).toEqual(
      left(Number(as_of_position)).map(({ quantity }) => quantity),
    );
    const later = movements.find(({ position }) => Number(position) > Number(as_of_position));
    expect(later === undefined || later.recorded_at > recorded_at).toBe(true);
  }
});
