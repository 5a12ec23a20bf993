// Requests that a client sends down one connection without waiting: they are done one after the
// other, each gets its own answer, and nothing is done for a connection that is not there any more.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { limits } from '../../src/core/limits.ts';
import { newKey } from '../kit/api.ts';
import { type Environment, startEnvironment } from '../kit/environment.ts';
import { createTestMerchant, type TestMerchant } from '../kit/merchant.ts';
import { RawConnection } from '../kit/raw.ts';
import { faultsOf } from './answer.ts';
import { Draft } from './case.ts';

let service: Environment;
let shop: TestMerchant;
let draft: Draft;

beforeAll(async () => {
  service = await startEnvironment();
  shop = await createTestMerchant(service);
  draft = new Draft(shop);
});
afterAll(() => service.stop());

const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

/** Sends everything at once and gives back as many answers. */
async function pipeline(requests: readonly string[]) {
  const connection = await RawConnection.open(service.api.origin);
  connection.send(requests.join(''));
  const answers = [];
  for (const _ of requests) answers.push(await connection.next());
  return { connection, answers };
}

function write(method: string, path: string, body: object, key = newKey()): string {
  const content = JSON.stringify(body);
  const lines = [draft.host, draft.auth, draft.json, `Idempotency-Key: ${key}`];
  const length = `Content-Length: ${content.length}`;
  return draft.message(`${method} /api/v1${path} HTTP/1.1`, [...lines, length], content);
}

const customer = (name: string, key?: string) =>
  write('POST', '/customers', { name, email: 'ada@example.com' }, key);

const adjustment = (product: number, target: number) =>
  write('POST', '/inventory/adjustments', {
    product_id: shop.products[product],
    location_id: shop.locations[0],
    target_quantity: `${target}`,
    reason: 'correction',
  });

/** While nobody can write customers. It must take less than 2 s. */
async function whileLocked(body: () => Promise<void>): Promise<void> {
  const session = await service.db.session();
  await session.query('begin');
  await session.query('lock table customers in exclusive mode');
  try {
    await body();
  } finally {
    await session.query('rollback');
  }
}

async function waitingWrites(): Promise<number> {
  const rows = await service.db.sql(
    `select 1 from pg_locks where not granted and relation = 'customers'::regclass
       and database = (select oid from pg_database where datname = current_database())`,
  );
  return rows.length;
}

async function customersNamed(name: string): Promise<number> {
  return (await service.db.sql('select 1 from customers where name = $1', [name])).length;
}

describe('requests sent at once down one connection', () => {
  test('are answered in order, each with its own request ID', async () => {
    const { connection, answers } = await pipeline(times(100, () => draft.read()));
    expect(answers.map((answer) => answer?.status)).toEqual(times(100, () => 200));
    const ids = answers.map((answer) => answer?.headers['x-request-id']);
    expect(new Set(ids).size).toBe(100);
    connection.end();
  });

  test('stay in step after a read with a body and after a refusal', async () => {
    const withBody = `${draft.read('Content-Length: 5')}hello`;
    const { connection, answers } = await pipeline([
      withBody,
      draft.get('/api/v1/nowhere'),
      draft.read(),
    ]);
    expect(answers.map((answer) => answer?.status)).toEqual([200, 404, 200]);
    connection.end();
  });

  test('are done in that order: each sees what those before it have done', async () => {
    const product = `/products/${shop.products[1]}`;
    const requests = times(10, (n) => [
      write('PATCH', product, { status: 'archived' }),
      adjustment(1, 100 + n),
      write('PATCH', product, { status: 'active' }),
      adjustment(1, 200 + n),
      draft.get(`/api/v1/inventory/movements?product_id=${shop.products[1]}&limit=1`),
    ]);
    const { connection, answers } = await pipeline(requests.flat());
    const found = answers.map((answer) => answer?.json.error?.code ?? answer?.status);
    expect(found).toEqual(times(10, () => [200, 'product_archived', 200, 201, 200]).flat());
    const newest = answers.filter((_, index) => index % 5 === 4);
    expect(newest.map((answer) => answer?.json.data[0].quantity_after)).toEqual(
      times(10, (n) => `${200 + n}`),
    );
    connection.end();
  });

  test('beyond 256 that wait are refused, and the others served', async () => {
    const connection = await RawConnection.open(service.api.origin);
    const count = 1 + limits.pipelinedMax + 5;
    await whileLocked(async () => {
      connection.send(customer('First') + draft.get('/api/v1/nowhere').repeat(count - 1));
      await expect.poll(waitingWrites).toBe(1);
    });
    const answers = [];
    for (let n = 0; n < count; n += 1) answers.push(await connection.next());
    const expected = [201, ...times(limits.pipelinedMax, () => 404), ...times(5, () => 503)];
    expect(answers.map((answer) => answer?.status)).toEqual(expected);
    expect(
      answers.flatMap((answer) => (answer === undefined ? ['none'] : faultsOf(answer))),
    ).toEqual([]);
    expect(answers.at(-1)?.headers['retry-after']).toMatch(/^[1-9]\d*$/);
    connection.send(draft.read());
    expect((await connection.next())?.status).toBe(200);
    connection.end();
  });
});

describe('a write that is under way', () => {
  test.each([
    ['bytes that are no request', () => 'nonsense\r\n\r\n', [400]],
    ['a broken header', () => draft.read('X A: 1'), [400]],
    ['CONNECT', () => `CONNECT a:1 HTTP/1.1\r\n${draft.host}\r\n\r\n`, [405]],
    ['a broken body', () => draft.chunked('zz\r\n'), [400]],
    ['two good requests and nonsense', () => `${draft.read().repeat(2)}nonsense`, [200, 200, 400]],
    ['two Hosts, and a write', () => draft.read(draft.host) + customer('Smuggled'), [400]],
  ])('gets its own answer, before that to %s', async (name, next, statuses) => {
    const connection = await RawConnection.open(service.api.origin);
    await whileLocked(async () => {
      connection.send(customer(name) + next());
      await expect.poll(waitingWrites).toBe(1);
      expect(await connection.next({ wait: 50 })).toBeUndefined();
    });
    const first = await connection.next();
    expect([first?.status, first?.json.data.name]).toEqual([201, name]);
    for (const status of statuses) {
      const answer = await connection.next();
      expect([answer?.status, answer && faultsOf(answer)]).toEqual([status, []]);
    }
    expect(await connection.next()).toBeUndefined();
    expect(connection.closed).toBe(true);
    expect([await customersNamed(name), await customersNamed('Smuggled')]).toEqual([1, 0]);
  });

  test('is finished when its client goes away; what waits behind it is not begun', async () => {
    const connection = await RawConnection.open(service.api.origin);
    await whileLocked(async () => {
      connection.send(customer('Begun') + customer('Behind'));
      await expect.poll(waitingWrites).toBe(1);
      connection.end();
    });
    await expect.poll(() => customersNamed('Begun')).toBe(1);
    // As long as it takes another one to go all the way.
    expect((await shop.api.post('/customers', { name: 'Later', email: 'a@b.de' })).status).toBe(
      201,
    );
    expect(await customersNamed('Behind')).toBe(0);
  });
});
