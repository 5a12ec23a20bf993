// Keys bound by a version whose rules were wider, or on a platform that knew other time zones,
// letters or currencies: the same request is still the same request, though today it would be
// refused. The earlier version is a node of its own on the same database.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { endpoints } from '../../src/app.ts';
import type { AnyWriteEndpoint, Endpoint } from '../../src/contract/endpoint.ts';
import { type Api, newKey } from '../kit/api.ts';
import { type Environment, startEnvironment, startNode } from '../kit/environment.ts';

let service: Environment;
let earlier: Awaited<ReturnType<typeof startNode>>;
let before: Api;
let now: Api;
let ids: Readonly<Record<'location' | 'product', string>>;

beforeAll(async () => {
  service = await startEnvironment();
  earlier = await startNode(service.db.serviceUrl, undefined, endpoints.map(wider));
  const merchant = await service.given.merchant();
  const { token } = await service.given.credential(merchant);
  [before, now] = [earlier.api.as(token), service.api.as(token)];
  ids = {
    location: await service.given.location(merchant),
    product: await service.given.product(merchant),
  };
  await now.post('/products', { name: 'First', sku: 'TAKEN' });
});
afterAll(async () => {
  await earlier.stop();
  await service.stop();
});

/** The endpoint as a version had it that checked types and quantities, and nothing else. */
function wider(endpoint: Endpoint): Endpoint {
  if (endpoint.contract.kind !== 'write') return endpoint;
  const { check: _, ...write } = endpoint as AnyWriteEndpoint;
  const body = JSON.parse(JSON.stringify(write.contract.body), (name, value) => {
    const isRule = ['minLength', 'maxLength', 'pattern', 'enum'].includes(name);
    return isRule || (name === 'format' && value !== 'quantity') ? undefined : value;
  });
  return { ...write, contract: { ...write.contract, body } };
}

interface Bound {
  readonly name: string;
  readonly method: 'POST' | 'PATCH';
  readonly path: () => string;
  readonly body: () => Record<string, unknown>;
  /** The member that is refused today, and another value of it, refused as well. */
  readonly member: string;
  readonly other: unknown;
  /** What is answered to the first request, and to each replay. */
  readonly status: number;
}

const create = (noun: string, body: Record<string, unknown>, member: string, other: unknown) => ({
  name: `a new one of ${noun}`,
  method: 'POST' as const,
  path: () => `/${noun}`,
  body: () => body,
  member,
  other,
  status: 201,
});

const bound: readonly Bound[] = [
  create('locations', { name: 'Old Town', timezone: 'Mars/Base' }, 'timezone', 'Mars/Crater'),
  create('customers', { name: 'Ada', email: 'ada@localhost' }, 'email', 'bea@localhost'),
  create(
    'products',
    { name: 'Kuna', price: { currency: 'HRK', amount: '1.20' }, unit: null },
    'price',
    { currency: 'HRK', amount: '1.21' },
  ),
  {
    ...create('products', { name: 'B', sku: 'TAKEN', barcode: 'x'.repeat(70) }, 'barcode', '\n'),
    name: 'a refusal',
    status: 422,
  },
  {
    name: 'a change',
    method: 'PATCH',
    path: () => `/locations/${ids.location}`,
    body: () => ({ timezone: 'Mars/Base', code: null }),
    member: 'timezone',
    other: 'Mars/Crater',
    status: 200,
  },
  {
    name: 'an adjustment',
    method: 'POST',
    path: () => '/inventory/adjustments',
    body: () => ({
      product_id: ids.product,
      location_id: ids.location,
      target_quantity: '7.00',
      reason: 'stock_count',
      note: 'two\nlines',
    }),
    member: 'note',
    other: 'two\nother lines',
    status: 201,
  },
];

describe.each(bound)('$name, bound when the rules were wider', (one) => {
  const send = (api: Api, key: string, change: object = {}) => {
    const body = Object.entries({ ...one.body(), ...change }).reverse();
    return api.send(one.method, one.path(), JSON.stringify(Object.fromEntries(body)), { key });
  };
  const operations = () => service.db.sql('select id from operations order by id');

  test('replays, and any other request is 409', async () => {
    const key = newKey();
    const first = await send(before, key);
    expect([first.status, first.headers.get('idempotent-replayed')]).toEqual([one.status, null]);
    const all = await operations();
    const again = await send(now, key);
    expect(again.status).toBe(one.status);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.headers.get('location')).toBe(first.headers.get('location'));
    expect(again.body.meta.operation_id).toBe(first.body.meta.operation_id);
    expect(again.body.data).toEqual(first.body.data);
    expect(again.body.error).toEqual(first.body.error);
    for (const change of [{ [one.member]: one.other }, { [one.member]: 7 }, { colour: 'red' }]) {
      const other = await send(now, key, change);
      expect([change, other.code]).toEqual([change, 'idempotency_key_reused']);
    }
    expect(await operations()).toEqual(all);
  });

  test('is refused under a key that is not bound, and binds none', async () => {
    const all = await operations();
    const refused = await send(now, newKey());
    expect([refused.status, refused.code]).toEqual([422, 'validation_failed']);
    expect(await operations()).toEqual(all);
  });
});
