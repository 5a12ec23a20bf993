// What every collection promises, derived from its contract: pages, cursors and filters.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CollectionContract } from '../src/contract/contract.ts';
import { mintId } from '../src/core/id.ts';
import type { Answer } from './kit/api.ts';
import { type Case, collections, pathOf, send, withoutRequestId } from './kit/cases.ts';
import { withoutLimits } from './kit/database.ts';
import { type Environment, startEnvironment } from './kit/environment.ts';
import { extentName, isProof, numbersTo, shareOf } from './kit/extent.ts';
import { createTestMerchant, type TestMerchant } from './kit/merchant.ts';

let service: Environment;
let shop: TestMerchant;
let foreign: TestMerchant;

beforeAll(async () => {
  service = await startEnvironment();
  await withoutLimits(service.db);
  shop = await createTestMerchant(service);
  foreign = await createTestMerchant(service, 'Other Shop');
});
afterAll(() => service.stop());

interface Filter {
  readonly name: string;
  readonly isRequired: boolean;
  readonly schema: {
    readonly type?: string;
    readonly format?: string;
    readonly enum?: readonly string[];
    readonly maxItems?: number;
    readonly items?: { readonly enum?: readonly string[] };
  };
}

/** An entry without when it was last used: that may be by the caller, between two pages. */
const withoutUse = ({ last_used_at: _, ...entry }: Record<string, unknown>) => entry;

function filtersOf({ query }: CollectionContract): Filter[] {
  const required = new Set<string>(query.required ?? []);
  return Object.entries(query.properties).map(([name, schema]) => ({
    name,
    isRequired: required.has(name),
    schema: schema as unknown as Filter['schema'],
  }));
}

/** A value that the filter accepts and that none of the requests before had. */
function validValue({ name, schema }: Filter, at: TestMerchant): string {
  if (name === 'location_id') return at.locations[1] ?? '';
  if (name === 'journal') return at.journal;
  if (name.endsWith('position')) return '0';
  if (schema.type === 'integer') return '0';
  if (schema.format === 'date') return new Date().toISOString().slice(0, 10);
  if (schema.format === 'date-time') return '2026-01-31T12:00:00Z';
  if (schema.format === 'email') return 'ada@example.com';
  if (schema.format === 'moment') return 'now';
  return schema.enum?.[0] ?? schema.items?.enum?.[0] ?? 'something';
}

const faultsOf = (answer: Answer) =>
  answer.body.error.details.map((one: { field: string; code: string }) => [one.field, one.code]);

async function firstCursor(one: Case, at: TestMerchant): Promise<string> {
  const answer = await send(one, at, at.api, { query: { limit: '1' } });
  const cursor = answer.body.meta.next_cursor;
  expect(typeof cursor, JSON.stringify(answer.body)).toBe('string');
  return cursor;
}

test('a page has 50 entries by default, and at most 200', async () => {
  const merchant = await service.given.merchant();
  const api = service.api.as((await service.given.credential(merchant)).token);
  await Promise.all(Array.from({ length: 201 }, () => service.given.product(merchant)));
  const usual = await api.get('/products');
  expect(usual.body.data).toHaveLength(50);
  const largest = await api.get('/products?limit=200');
  expect(largest.body.data).toHaveLength(200);
  const rest = await api.get(`/products?limit=200&cursor=${largest.body.meta.next_cursor}`);
  expect(rest.body.data).toHaveLength(1);
  expect(rest.body.meta).not.toHaveProperty('next_cursor');
});

describe.each(shareOf(collections, 2, 0))(`$name (${extentName})`, (one) => {
  const filters = filtersOf(one.contract);

  test('takes a limit of 1 to 200, in plain digits, once', async () => {
    for (const limit of ['1', '200']) {
      expect((await send(one, shop, shop.api, { query: { limit } })).status).toBe(200);
    }
    const bad = ['0', '201', '-1', 'abc', '1e2', '1.0', '05', '0x10', ' 5', '+5', '٥', ''];
    for (const limit of bad) {
      const answer = await send(one, shop, shop.api, { query: { limit } });
      expect([limit, answer.status, answer.code]).toEqual([limit, 400, 'invalid_parameter']);
      expect(faultsOf(answer)).toEqual([['query.limit', expect.any(String)]]);
    }
    const twice = await send(one, shop, shop.api, { search: 'limit=5&limit=5' });
    expect([twice.status, twice.code]).toEqual([400, 'invalid_parameter']);
  });

  test('gives all entries, each once, over pages of one', async () => {
    const whole = await send(one, shop, shop.api);
    expect(whole.body.data.length).toBeGreaterThan(1);
    expect(whole.body.meta).not.toHaveProperty('next_cursor');
    const entries: Record<string, unknown>[] = [];
    let cursor: string | undefined;
    do {
      const query = { limit: '1', ...(cursor === undefined ? {} : { cursor }) };
      const page: Answer = await send(one, shop, shop.api, { query });
      expect(page.body.data).toHaveLength(1);
      entries.push(...page.body.data);
      cursor = page.body.meta.next_cursor;
    } while (cursor !== undefined && entries.length <= whole.body.data.length);
    expect(entries.map(withoutUse)).toEqual(whole.body.data.map(withoutUse));
  });

  test('lets the limit change from one page to the next', async () => {
    const whole = await send(one, shop, shop.api);
    const cursor = await firstCursor(one, shop);
    const rest = await send(one, shop, shop.api, { query: { cursor, limit: '200' } });
    expect(rest.body.data.map(withoutUse)).toEqual(whole.body.data.slice(1).map(withoutUse));
  });

  test('refuses a cursor in which any character was changed', async () => {
    const cursor = await firstCursor(one, shop);
    const places = isProof ? [...cursor].keys() : numbersTo(cursor.length - 1, 12);
    const tampered = [...places].map((at) => {
      const other = cursor[at] === 'A' ? 'B' : 'A';
      return cursor.slice(0, at) + other + cursor.slice(at + 1);
    });
    const cuts = [cursor.slice(0, -1), cursor.slice(1), `${cursor}A`, `${cursor}=`];
    cuts.push('', 'x', '....', '\0', 'A'.repeat(4_000));
    for (const bad of [...tampered, ...cuts]) {
      const answer = await send(one, shop, shop.api, { query: { cursor: bad } });
      expect([bad, answer.status, answer.code]).toEqual([bad, 400, 'invalid_cursor']);
      expect(faultsOf(answer)).toEqual([['query.cursor', 'malformed']]);
    }
  });

  test('refuses a cursor of another collection, another path or another merchant', async () => {
    const others = collections.filter((other) => other.name !== one.name);
    const cursors = [await firstCursor(one, foreign)];
    for (const other of others) cursors.push(await firstCursor(other, shop));
    for (const cursor of cursors) {
      const answer = await send(one, shop, shop.api, { query: { cursor } });
      expect([answer.status, answer.code]).toEqual([400, 'invalid_cursor']);
      expect(faultsOf(answer)).toEqual([['query.cursor', 'malformed']]);
    }
    if (!one.contract.path.includes('{id}')) return;
    const cursor = await firstCursor(one, shop);
    const id = shop.products[1] ?? '';
    const elsewhere = await send(one, shop, shop.api, { id, query: { cursor } });
    expect([elsewhere.status, elsewhere.code]).toEqual([400, 'invalid_cursor']);
  });

  test('refuses a cursor with other filters than those it was issued for', async () => {
    const cursor = await firstCursor(one, shop);
    for (const filter of filters) {
      const query = { [filter.name]: validValue(filter, shop), cursor };
      const answer = await send(one, shop, shop.api, { query });
      expect([filter.name, answer.status, answer.code]).toEqual([
        filter.name,
        400,
        'invalid_cursor',
      ]);
      expect(faultsOf(answer)).toEqual([['query.cursor', 'filter_mismatch']]);
    }
  });

  test('takes a cursor as often as it is sent, also from another credential', async () => {
    const cursor = await firstCursor(one, shop);
    const { token } = await service.given.credential(shop.merchant);
    const answers = await Promise.all(
      [shop.api, shop.api, service.api.as(token)].map((api) =>
        send(one, shop, api, { query: { cursor } }),
      ),
    );
    const bodies = answers.map((answer) => JSON.stringify(withoutRequestId(answer)));
    expect(new Set(bodies).size).toBe(1);
  });

  test('accepts each filter, once unless it is a list, and names an unusable value', async () => {
    for (const filter of filters) {
      const { name, schema } = filter;
      const value = validValue(filter, shop);
      const answer = await send(one, shop, shop.api, { query: { [name]: value } });
      expect([name, answer.status]).toEqual([name, 200]);
      const pair = `${name}=${encodeURIComponent(value)}`;
      const search = filter.isRequired ? pair : `${pair}&${pair}`;
      const twice = await send(one, shop, shop.api, { search });
      const expected = schema.type === 'array' ? 200 : 400;
      expect([name, twice.status]).toEqual([name, expected]);
      if (expected === 400) expect(faultsOf(twice)).toEqual([[`query.${name}`, 'not_repeatable']]);
      for (const bad of unusable(filter)) {
        const refused = await send(one, shop, shop.api, { query: { [name]: bad } });
        expect([name, bad, refused.status, refused.code]).toEqual([
          name,
          bad,
          400,
          'invalid_parameter',
        ]);
        expect(faultsOf(refused)).toEqual([[`query.${name}`, expect.any(String)]]);
      }
    }
  });

  for (const { name, schema, isRequired } of filters) {
    if (isRequired) {
      test(`needs ${name}`, async () => {
        const [path = '', search] = pathOf(one, shop).split('?');
        const query = new URLSearchParams(search);
        query.delete(name);
        const answer = await shop.api.get(`${path}?${query}`);
        expect([answer.status, answer.code]).toEqual([400, 'missing_parameter']);
        expect(faultsOf(answer)).toEqual([[`query.${name}`, 'required']]);
      });
    }
    if (schema.maxItems !== undefined) {
      const most = schema.maxItems;
      test(`takes ${name} up to ${most} times`, async () => {
        const repeated = (times: number) =>
          Array.from({ length: times }, () => `${name}=${mintId('prod_')}`).join('&');
        const full = await send(one, shop, shop.api, { search: repeated(most) });
        expect([full.status, full.body.data]).toEqual([200, []]);
        const over = await send(one, shop, shop.api, { search: repeated(most + 1) });
        expect([over.status, over.code]).toEqual([400, 'invalid_parameter']);
        expect(faultsOf(over)).toEqual([[`query.${name}`, 'too_many']]);
      });
    }
    if (name === 'location_id') {
      test('gives one 403 for an unknown location and for one that is not granted', async () => {
        const [granted = '', other = ''] = shop.locations;
        const { token } = await service.given.credential(shop.merchant, { locations: [granted] });
        const api = service.api.as(token);
        const bodies = new Set<string>();
        for (const id of [other, foreign.locations[0] ?? '', mintId('loc_'), 'x', '\0']) {
          const answer = await send(one, shop, api, { query: { location_id: id } });
          expect([id, answer.status, answer.code]).toEqual([id, 403, 'location_not_granted']);
          bodies.add(JSON.stringify(withoutRequestId(answer)));
        }
        expect(bodies.size).toBe(1);
        const own = await send(one, shop, api, { query: { location_id: granted } });
        expect(own.status).toBe(200);
      });
    }
  }

  test('ignores an Idempotency-Key, unless it is a filter here', async () => {
    if (one.contract.keyFilter === true) return;
    const answer = await send(one, shop, shop.api, { headers: { 'idempotency-key': 'short' } });
    expect(answer.status).toBe(200);
  });
});

function unusable({ schema }: Filter): string[] {
  if (schema.format === 'date') return ['', 'yesterday', '2026-02-30', '2026-1-1', '20260131', '0'];
  if (schema.format === 'date-time' || schema.format === 'moment') {
    return ['', 'yesterday', '2026-01-31', '2026-02-30T00:00:00Z', '2026-01-31T12:00:00', '0'];
  }
  if (schema.enum !== undefined) return ['', 'nothing', schema.enum[0]?.toUpperCase() ?? ''];
  if (schema.format === 'email') return ['', 'ada', 'ada@example'];
  if (schema.type === 'integer') return ['', '-1', '1.5', 'x', '999'];
  return [];
}
