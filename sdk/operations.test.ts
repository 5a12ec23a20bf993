import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { nameInClient } from '../scripts/client.ts';
import { newKey } from '../test/kit/api.ts';
import { type Case, cases, freshBody, onceId, pathOf, send } from '../test/kit/cases.ts';
import { document } from '../test/kit/conformance.ts';
import { type Environment, startEnvironment } from '../test/kit/environment.ts';
import { createTestMerchant, type TestMerchant } from '../test/kit/merchant.ts';
import { NotFoundError, RefusedError, Tallybook, VersionError } from './main.ts';
import { routes } from './operations.ts';
import type { Pages, Result } from './result.ts';

let service: Environment;
let shop: TestMerchant;
let tb: Tallybook;

beforeAll(async () => {
  service = await startEnvironment();
  shop = await createTestMerchant(service);
  tb = new Tallybook({ baseUrl: `${service.api.origin}/api/v1/`, token: shop.token });
});
afterAll(() => service.stop());

type Answered = Result<unknown, Readonly<Record<string, string>>>;
type Method = (...args: unknown[]) => Promise<Answered> & Pages<unknown, unknown>;

function methodOf(operationId: string): Method {
  const parts = nameInClient(operationId).split('.');
  const found = parts.reduce((at: unknown, part) => Object(at)[part], tb);
  if (typeof found !== 'function') throw new Error(`${operationId} has no method`);
  return found as Method;
}

/** The valid request of an operation as arguments of its method. */
async function argumentsOf(one: Case, key: string): Promise<unknown[]> {
  const { contract, example } = one;
  const query = example.query?.(shop) ?? {};
  const id = (await onceId(one, shop, shop.api, key)) ?? example.id?.(shop);
  const before = id === undefined ? [] : [id];
  if (contract.kind !== 'write') return [...before, query];
  return [...before, ...Object.values(query), freshBody(one, shop), { idempotencyKey: key }];
}

test('each operation of the document has a method, and each method an operation', () => {
  const ids = Object.values(document.paths).flatMap((item) =>
    Object.values(item).map((one) => one.operationId),
  );
  expect(Object.keys(routes).sort()).toEqual(ids.map(nameInClient).sort());
  for (const id of ids) expect(methodOf(id)).toBeTypeOf('function');
});

describe.each(cases)('$name', (one) => {
  const { contract, name } = one;

  test('answers through its method what the service answers', async () => {
    const key = newKey();
    const args = await argumentsOf(one, key);
    const result = await methodOf(name)(...args);
    expect(result.requestId).toMatch(/^req_/);
    expect(result.requestId).toBe(result.meta.request_id);
    if (contract.kind === 'write') {
      const body = args.at(-2);
      const again = await send(one, shop, shop.api, { key, body });
      expect(again.headers.get('idempotent-replayed')).toBe('true');
      expect(again.status).toBe(result.status);
      const { operation_id, position } = again.body.meta;
      expect([result.operationId, result.position]).toEqual([operation_id, position]);
      expect(result.replayed).toBe(false);
      expect((await methodOf(name)(...args)).replayed).toBe(true);
      // What is shown once is null from then on.
      const once = { ...('token' in result.data && { token: null }) };
      const shown = 'invitation' in result.data ? { invitation: null } : once;
      if (name !== 'batches.submit') expect(again.body.data).toEqual({ ...result.data, ...shown });
    } else {
      const { body } = await shop.api.get(pathOf(one, shop));
      expect(result.data).toEqual(body.data);
      expect(result.operationId).toBeUndefined();
    }
  });

  if (contract.kind === 'collection') {
    test('gives every item of every page', async () => {
      const [first, second] = await argumentsOf(one, newKey());
      const query = second ?? first;
      const ids = second === undefined ? [] : [first];
      const whole = await methodOf(name)(...ids, { ...Object(query), limit: 200 });
      expect(whole.meta.next_cursor).toBeUndefined();
      const items: unknown[] = [];
      for await (const item of methodOf(name)(...ids, { ...Object(query), limit: 1 })) {
        items.push(item);
      }
      expect(items).toEqual(whole.data);
    });
  }
});

test('a page is continued by its cursor', async () => {
  const first = await tb.products.list({ limit: 2 });
  expect(first.nextCursor).toBeTypeOf('string');
  const second = await tb.products.list({ limit: 2, cursor: first.nextCursor });
  expect(new Set([...first.data, ...second.data].map(({ id }) => id)).size).toBe(
    first.data.length + second.data.length,
  );
});

test('a filter is repeated, and one that is undefined is not sent', async () => {
  const found = await tb.products.list({
    external_id: ['product-1', 'product-2'],
    sku: undefined,
  });
  expect(found.data.map(({ external_id }) => external_id).sort()).toEqual([
    'product-1',
    'product-2',
  ]);
});

test('a record that has not changed is not sent again', async () => {
  const [id = ''] = shop.customers;
  const { data } = await tb.customers.get(id);
  const unchanged = await tb.customers.get(id, { ifNoneMatch: data.version });
  expect([unchanged.status, unchanged.data]).toEqual([304, null]);
  expect(unchanged.requestId).toMatch(/^req_/);
});

test('a change of another version is refused, with its class and code', async () => {
  const [id = ''] = shop.locations;
  const { data } = await tb.locations.get(id);
  await tb.locations.update(id, { name: 'New' }, { ifMatch: data.version });
  const late = tb.locations.update(id, { name: 'Late' }, { ifMatch: data.version });
  await expect(late).rejects.toBeInstanceOf(VersionError);
  await expect(late).rejects.toMatchObject({
    code: 'precondition_failed',
    status: 412,
    retryable: false,
    operationId: expect.stringMatching(/^op_/),
    details: [expect.objectContaining({ current_version: data.version + 1 })],
  });
});

test('an error names what is wrong, and the request', async () => {
  const wrong = tb.customers.create({ name: '', email: 'nobody' });
  await expect(wrong).rejects.toBeInstanceOf(RefusedError);
  await expect(wrong).rejects.toMatchObject({
    code: 'validation_failed',
    requestId: expect.stringMatching(/^req_/),
    operationId: undefined,
    details: [{ field: 'name' }, { field: 'email' }],
  });
  await expect(tb.products.get('prod_none')).rejects.toBeInstanceOf(NotFoundError);
});

test('an ID that would name another route is refused before anything is sent', async () => {
  for (const id of ['', '.', '..', undefined as unknown as string]) {
    await expect(tb.products.get(id)).rejects.toThrow(TypeError);
  }
  await expect(tb.products.get('../customers')).rejects.toBeInstanceOf(NotFoundError);
});
