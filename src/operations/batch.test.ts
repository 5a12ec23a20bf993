import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { served } from '../../test/kit/again.ts';
import { type Answer, type Api, newKey } from '../../test/kit/api.ts';
import { makeEverywhere, waitsOf } from '../../test/kit/database.ts';
import { type Environment, startEnvironment, startNode } from '../../test/kit/environment.ts';

let service: Environment;
let other: Awaited<ReturnType<typeof startNode>>;
let merchant: string;
let location: string;
let api: Api;

beforeAll(async () => {
  service = await startEnvironment();
  other = await startNode(service.db.serviceUrl);
  merchant = await service.given.merchant();
  location = await service.given.location(merchant);
  const { token } = await service.given.credential(merchant);
  api = service.api.as(token);
});
afterAll(async () => {
  await other.stop();
  await service.stop();
});

const path = '/inventory/adjustments';
const body = (product: string, target: string, more: object = {}) => ({
  product_id: product,
  location_id: location,
  target_quantity: target,
  reason: 'stock_count',
  ...more,
});

const products = (count: number) =>
  Promise.all(Array.from({ length: count }, () => service.given.product(merchant)));

/**
 * On a busy machine the wait for a lock may end: the same again, then, as any client does. Nothing
 * else is forgiven; who reads a level without its lock is told service_unavailable in the end.
 */
async function insist(by: Api, content: object): Promise<Answer> {
  const key = newKey();
  for (;;) {
    const answer = await by.post(path, content, { key });
    if (answer.code !== 'operation_in_progress') return answer;
  }
}

/** Where only effects are judged: a busy machine may refuse one of hundreds at once. */
function sure(by: Api, content: object): Promise<Answer> {
  const key = newKey();
  return served(() => by.post(path, content, { key }));
}

describe('a command that fails in a batch', () => {
  test('fails alone when the database refuses its row', async () => {
    // A constraint the rules know nothing of stands for any row the database will not take.
    await service.db.sql(`alter table inventory_movements
      add constraint refuse_poison check (note is distinct from 'poison') not valid`);
    const ids = await products(60);
    const answers = await Promise.all(
      ids.map((product, index) =>
        api.post(path, body(product, '3', { note: index === 30 ? 'poison' : 'fine' })),
      ),
    );
    await service.db.sql('alter table inventory_movements drop constraint refuse_poison');
    expect(answers[30]?.status).toBe(500);
    expect(answers[30]?.code).toBe('internal_error');
    expect(answers.filter((answer) => answer.status === 201)).toHaveLength(59);
    const rows = await service.db.sql(
      'select 1 from inventory_movements where product_id = any ($1)',
      [ids],
    );
    expect(rows).toHaveLength(59);
  });

  test('fails alone when its level stays locked, and its key resolves it afterwards', async () => {
    const ids = await products(40);
    const [locked = ''] = ids;
    const session = await lockLevel(locked);
    const key = newKey();
    const refusing = api.post(path, body(locked, '3'), { key });
    const others = await Promise.all(
      ids.slice(1).map((product) => insist(api, body(product, '3'))),
    );
    const refused = await refusing;
    await session.query('rollback');
    expect(refused.status).toBe(503);
    expect(refused.code).toBe('operation_in_progress');
    expect(refused.headers.get('retry-after')).toMatch(/^[123]$/);
    expect(others.filter((answer) => answer.status === 201)).toHaveLength(39);
    const retry = await api.post(path, body(locked, '3'), { key });
    expect(retry.status).toBe(201);
    expect(retry.headers.get('idempotent-replayed')).toBeNull();
  });
});

/**
 * Keeps both workers of the merchant busy with writes to a level that a session has locked, and one
 * more waiting: what comes meanwhile becomes one batch with that one. Gives their answers.
 */
async function occupyWorkers(locked: string): Promise<Promise<Answer>[]> {
  const stuck = [];
  for (const waiting of [1, 2]) {
    stuck.push(api.post(path, body(locked, `${waiting + 1}`)));
    await expect.poll(() => waitsOf(service.db), { interval: 5 }).toBe(waiting);
  }
  stuck.push(api.post(path, body(locked, '4')));
  await expect.poll(() => service.service.dispatcher.queued, { interval: 5 }).toBe(1);
  return stuck;
}

/** A session that holds the level of a product until it is told otherwise. */
async function lockLevel(product: string) {
  await api.post(path, body(product, '1'));
  const session = await service.db.session();
  await session.query('begin');
  await session.query('select 1 from inventory_levels where product_id = $1 for update', [product]);
  return session;
}

describe('a level that stays locked', () => {
  test('does not keep those from being served who wait in the same batch', async () => {
    const [locked = '', ...free] = await products(128);
    const session = await lockLevel(locked);
    const stuck = await occupyWorkers(locked);
    const innocents = await Promise.all(free.map((product) => insist(api, body(product, '3'))));
    expect(innocents.map((answer) => answer.status)).toEqual(Array(127).fill(201));
    for (const answer of await Promise.all(stuck)) {
      expect(answer.code).toBe('operation_in_progress');
    }
    await session.query('rollback');
  });
});

describe('a batch that meets conflicts', () => {
  test('is tried as often in halves as whole, before anyone is told to come again', async () => {
    const [locked = '', unlucky = '', ...others] = await products(8);
    // As if others had deadlocked with it: three times as a batch, then once in each half.
    await makeEverywhere(
      service.db,
      `create sequence public.conflicts;
       grant usage on sequence public.conflicts to public;
       create function public.meets_no_conflict() returns boolean language plpgsql as $$
       begin
         if nextval('public.conflicts') <= 6 then raise deadlock_detected; end if;
         return true;
       end $$`,
    );
    await service.db.sql(`alter table inventory_movements add constraint meet_conflict
      check (note is distinct from 'unlucky' or public.meets_no_conflict()) not valid`);
    // Last, because whoever waits for the level does so for 2 s at most.
    const session = await lockLevel(locked);
    const stuck = await occupyWorkers(locked);
    const answers = Promise.all([
      ...others.map((product) => api.post(path, body(product, '3'))),
      api.post(path, body(unlucky, '3', { note: 'unlucky' })),
    ]);
    await expect.poll(() => service.service.dispatcher.queued, { interval: 5 }).toBe(8);
    await session.query('rollback');
    expect((await answers).map(({ status }) => status)).toEqual(Array(7).fill(201));
    await Promise.all(stuck);
    await service.db.sql('alter table inventory_movements drop constraint meet_conflict');
  });
});

describe('one level', () => {
  test('takes every adjustment of a storm on two nodes once, in one gapless chain', async () => {
    const [product = ''] = await products(1);
    const both = [api, other.api.as(api.token)];
    const answers = await Promise.all(
      Array.from({ length: 400 }, (_, index) =>
        sure(both[index % 2] ?? api, body(product, `${index + 1}`)),
      ),
    );
    expect(answers.map((answer) => answer.status)).toEqual(Array(400).fill(201));
    const rows = await service.db.sql<{ sequence: string; id: string; chained: boolean }>(
      `select sequence, id, quantity_before =
         coalesce(lag(quantity_after) over (order by sequence), 0) as chained
       from inventory_movements where product_id = $1 order by sequence`,
      [product],
    );
    expect(rows.map((row) => Number(row.sequence))).toEqual(
      Array.from({ length: 400 }, (_, index) => index + 1),
    );
    expect(rows.every((row) => row.chained)).toBe(true);
    const ids = rows.map((row) => row.id);
    expect(ids).toEqual([...ids].sort());
    const [level] = await service.db.sql(
      `select l.quantity = sum(m.quantity_delta) as equal, l.sequence
       from inventory_levels l
       join inventory_movements m using (merchant_id, product_id, location_id)
       where l.product_id = $1 group by l.quantity, l.sequence`,
      [product],
    );
    expect(level).toEqual({ equal: true, sequence: '400' });
  });

  test('is made once by many first adjustments at the same moment', async () => {
    for (let round = 0; round < 20; round += 1) {
      const [product = ''] = await products(1);
      const both = [api, other.api.as(api.token)];
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, index) =>
          sure(both[index % 2] ?? api, body(product, `${index + 1}`)),
        ),
      );
      expect(answers.map((answer) => answer.status)).toEqual(Array(10).fill(201));
    }
    const [deadlocks] = await service.db.sql(
      'select deadlocks from pg_stat_database where datname = current_database()',
    );
    expect(deadlocks).toEqual({ deadlocks: '0' });
  });

  test('refuses exactly those that change nothing when targets repeat', async () => {
    const [product = ''] = await products(1);
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, index) => api.post(path, body(product, `${index % 2}`))),
    );
    const done = answers.filter((answer) => answer.status === 201);
    const refused = answers.filter((answer) => answer.code === 'inventory_no_change');
    expect(done.length + refused.length).toBe(200);
    const [count] = await service.db.sql(
      `select count(*)::int as movements from inventory_movements where product_id = $1`,
      [product],
    );
    expect(count).toEqual({ movements: done.length });
    for (const { body: answer } of done) {
      expect(answer.data.quantity_before).not.toBe(answer.data.quantity_after);
    }
  });
});

describe('a write that waits behind another credential', () => {
  test('is judged once it holds the level: expected_quantity never passes twice', async () => {
    const [product = ''] = await products(1);
    await api.post(path, body(product, '10'));
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        api.post(path, body(product, `${20 + index}`, { expected_quantity: '10' })),
      ),
    );
    expect(answers.filter((answer) => answer.status === 201)).toHaveLength(1);
    const refused = answers.filter((answer) => answer.code === 'inventory_quantity_mismatch');
    expect(refused).toHaveLength(49);
  });
});
