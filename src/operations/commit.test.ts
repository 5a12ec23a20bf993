import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Api, newKey } from '../../test/kit/api.ts';
import { homeCell } from '../../test/kit/cells.ts';
import { type Environment, startEnvironment, startNode } from '../../test/kit/environment.ts';
import { DatabaseProxy } from '../../test/kit/proxy.ts';
import { createMerchant } from '../access/operator/merchants.ts';
import { connectDatabase } from '../database/connect.ts';

let service: Environment;
let proxy: DatabaseProxy;
let node: Awaited<ReturnType<typeof startNode>>;
let api: Api;
let merchant: string;
let location: string;

beforeAll(async () => {
  service = await startEnvironment();
  proxy = new DatabaseProxy(service.db.serviceUrl);
  node = await startNode(await proxy.listen());
  merchant = await service.given.merchant();
  location = await service.given.location(merchant);
  const { token } = await service.given.credential(merchant);
  api = node.api.as(token);
});
afterAll(async () => {
  await node.stop();
  await proxy.close();
  await service.stop();
});
beforeEach(() => {
  proxy.cutAfterCommit = false;
  proxy.refuses = false;
  proxy.refusesAfterCut = false;
  proxy.isHole = false;
  proxy.toDatabase = (bytes) => bytes;
});

async function adjustment(target = '5') {
  return {
    product_id: await service.given.product(merchant),
    location_id: location,
    target_quantity: target,
    reason: 'correction',
  };
}

async function movementsOf(product: string) {
  return service.db.sql('select id, operation_id from inventory_movements where product_id = $1', [
    product,
  ]);
}

const path = '/inventory/adjustments';

describe('a connection cut after COMMIT was sent', () => {
  test('is answered as the first answer, once the commit is found', async () => {
    const body = await adjustment();
    const key = newKey();
    proxy.cutAfterCommit = true;
    const cutsBefore = proxy.commitsCut;
    const answering = api.post(path, body, { key });
    await expect.poll(() => proxy.commitsCut).toBeGreaterThan(cutsBefore);
    proxy.cutAfterCommit = false;
    const answer = await answering;
    expect(answer.status).toBe(201);
    expect(answer.headers.get('idempotent-replayed')).toBeNull();
    const movements = await movementsOf(body.product_id);
    expect(movements).toEqual([
      { id: answer.body.data.id, operation_id: answer.body.meta.operation_id },
    ]);
  });

  test('is 503 while the database stays away, and the retry gives the one result', async () => {
    const body = await adjustment();
    const key = newKey();
    proxy.cutAfterCommit = true;
    proxy.refusesAfterCut = true;
    const unknown = await api.post(path, body, { key });
    expect(unknown.status).toBe(503);
    expect(unknown.code).toBe('service_unavailable');
    expect(Number(unknown.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    proxy.refuses = false;
    proxy.cutAfterCommit = false;
    const retry = await api.post(path, body, { key });
    expect(retry.status).toBe(201);
    expect(retry.headers.get('idempotent-replayed')).toBe('true');
    const movements = await movementsOf(body.product_id);
    expect(movements).toEqual([
      { id: retry.body.data.id, operation_id: retry.body.meta.operation_id },
    ]);
  });
});

describe('a BEGIN that failed', () => {
  test('commits nothing of what was sent behind it, and leaves the key free', async () => {
    // Every statement of a pipeline stands for itself: without BEGIN each would commit alone.
    const text = 'begin isolation level read committed read write';
    proxy.toDatabase = (bytes) =>
      Buffer.from(bytes.toString('latin1').replace(text, 'x'.repeat(text.length)), 'latin1');
    const fresh = await startNode(proxy.url);
    try {
      const body = await adjustment();
      const key = newKey();
      const [before] = await service.db.sql('select count(*) from operations');
      const answer = await fresh.api.as(api.token).post(path, body, { key });
      expect(answer.status).toBe(500);
      const [after] = await service.db.sql('select count(*) from operations');
      expect(after).toEqual(before);
      proxy.toDatabase = (bytes) => bytes;
      const retry = await api.post(path, body, { key });
      expect(retry.status).toBe(201);
      expect(retry.headers.get('idempotent-replayed')).toBeNull();
    } finally {
      await fresh.stop();
    }
  });
});

describe('a connection lost before COMMIT', () => {
  test('is made up for by the same operation, and once', async () => {
    const body = await adjustment();
    await api.post(path, { ...body, target_quantity: '1' });
    const session = await service.db.session();
    await session.query('begin');
    await session.query('select 1 from inventory_levels where product_id = $1 for update', [
      body.product_id,
    ]);
    const answering = api.post(path, body);
    const cut = `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`;
    await expect.poll(() => service.db.sql(cut)).toHaveLength(1);
    await session.query('rollback');
    const answer = await answering;
    expect([answer.status, answer.headers.get('idempotent-replayed')]).toEqual([201, null]);
    const { operation_id } = answer.body.meta;
    const operation = await api.get(`/operations/${operation_id}`);
    expect(operation.body.data?.resource?.id).toBe(answer.body.data.id);
    const movements = await movementsOf(body.product_id);
    expect(movements).toHaveLength(2);
    expect(movements).toContainEqual({ id: answer.body.data.id, operation_id });
  });
});

describe('a commit', () => {
  test('is flushed before it is answered, whatever the batch may set for itself', async () => {
    // Looked at in the very transaction, after everything that it does.
    await service.db.sql(`create function require_flush() returns trigger language plpgsql as $$
      begin
        if current_setting('synchronous_commit') <> 'on' or current_setting('fsync') <> 'on' then
          raise exception 'would be answered before it is on disk';
        end if;
        return null;
      end $$`);
    await service.db.sql(`create constraint trigger flushed after insert on operations
      deferrable initially deferred for each row execute function require_flush()`);
    try {
      const customer = { name: 'Ada', email: 'ada@example.com' };
      expect((await api.post(path, await adjustment())).status).toBe(201);
      expect((await api.post('/customers', customer)).status).toBe(201);
    } finally {
      await service.db.sql('drop trigger flushed on operations');
      await service.db.sql('drop function require_flush()');
    }
  });
});

describe('a database that falls silent without a word', () => {
  test('costs the requests that met it, and no worker', { timeout: 60_000 }, async () => {
    const bodies = await Promise.all([adjustment(), adjustment('6')]);
    await Promise.all(bodies.map((body) => api.post(path, { ...body, target_quantity: '1' })));
    proxy.isHole = true;
    const met = bodies.map((body) => api.post(path, body));
    const customers = [1, 2].map(() => api.post('/customers', { name: 'n', email: 'a@b.co' }));
    for (const answer of await Promise.all([...met, ...customers])) {
      expect([503, 504]).toContain(answer.status);
    }
    proxy.isHole = false;
    await expect
      .poll(async () => (await api.post(path, await adjustment())).status, { timeout: 20_000 })
      .toBe(201);
    const after = await Promise.all(
      Array.from({ length: 20 }, async () => api.post(path, await adjustment())),
    );
    expect(after.map((answer) => answer.status)).toEqual(Array(20).fill(201));
    expect(node.service.dispatcher.queued).toBe(0);
  });
});

describe('a COMMIT that answered ROLLBACK', () => {
  test('is never taken for success', async () => {
    // The proxy turns the commit of new connections into an abort, whose answer is ROLLBACK.
    proxy.toDatabase = (bytes) =>
      Buffer.from(
        bytes.toString('latin1').replace('commit\0commit\0', 'commit\0abort;\0'),
        'latin1',
      );
    const fresh = await startNode(proxy.url);
    try {
      const body = await adjustment();
      const key = newKey();
      const altered = fresh.api.as(api.token);
      const answer = await altered.post(path, body, { key });
      expect(answer.status).toBe(500);
      expect(answer.code).toBe('internal_error');
      expect(await movementsOf(body.product_id)).toEqual([]);
      proxy.toDatabase = (bytes) => bytes;
      const retry = await api.post(path, body, { key });
      expect(retry.status).toBe(201);
      expect(retry.headers.get('idempotent-replayed')).toBeNull();
    } finally {
      await fresh.stop();
    }
  });
});

describe('a commit is acknowledged when it is on disk', () => {
  const role = () => new URL(service.db.serviceUrl).username;
  const database = () => new URL(service.db.serviceUrl).pathname.slice(1);

  beforeAll(() =>
    service.db.sql(`
      create table public.at_commit (setting text);
      create function note_setting() returns trigger language plpgsql security definer as $$ begin
        insert into public.at_commit values (current_setting('synchronous_commit'));
        return null;
      end $$;
      create constraint trigger note_setting after insert on operations deferrable
        initially deferred for each row execute function note_setting();
      create constraint trigger note_setting after insert on audit_records deferrable
        initially deferred for each row execute function note_setting()`),
  );
  afterAll(() =>
    service.db.sql(`alter role ${role()} in database ${database()} reset synchronous_commit`),
  );

  // Start-up refuses the lower ones, but a default can be changed while the service runs.
  test.each([
    ['off', 'on'],
    ['local', 'on'],
    ['on', 'on'],
    ['remote_apply', 'remote_apply'],
  ])('where the default becomes %s', async (value, expected) => {
    await service.db.sql(
      `alter role ${role()} in database ${database()} set synchronous_commit = ${value}`,
    );
    await service.db.sql('delete from at_commit');
    const later = await startNode(service.db.serviceUrl);
    const caller = later.api.as(api.token);
    expect((await caller.post(path, await adjustment())).status).toBe(201);
    expect((await caller.post('/products', { name: 'Flour' })).status).toBe(201);
    const operator = connectDatabase({ url: service.db.serviceUrl, writers: 1 });
    await createMerchant(operator, 'Corner Shop', homeCell);
    await operator.close();
    await later.stop();
    const seen = await service.db.sql('select setting from at_commit');
    expect(seen).toEqual(Array(3).fill({ setting: expected }));
  });
});
