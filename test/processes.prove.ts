import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { idFloor } from '../src/core/id.ts';
import { type Api, newKey } from './kit/api.ts';
import { createTestDatabase, type TestDatabase, waitsOf } from './kit/database.ts';
import { extent } from './kit/extent.ts';
import { Given } from './kit/given.ts';
import { type ServiceProcess, startProcess } from './kit/process.ts';

let db: TestDatabase;
let given: Given;
let merchant: string;
let location: string;
const started: ServiceProcess[] = [];

beforeAll(async () => {
  db = await createTestDatabase();
  given = new Given(db);
  merchant = await given.merchant();
  location = await given.location(merchant);
});
afterAll(async () => {
  await Promise.all(started.map((service) => service.end('SIGKILL')));
  await db.drop();
});

async function start(env?: Record<string, string>): Promise<ServiceProcess> {
  const service = await startProcess(db, env);
  started.push(service);
  return service;
}

const path = '/inventory/adjustments';
const body = (product: string, target: string) => ({
  product_id: product,
  location_id: location,
  target_quantity: target,
  reason: 'stock_count',
});

async function historyOf(product: string) {
  return db.sql<{ id: string; sequence: string; recorded_at: Date }>(
    `select id, sequence, recorded_at from inventory_movements
     where product_id = $1 order by sequence`,
    [product],
  );
}

/** Sends a write until it gets a definitive answer, as a client on a bad network does. */
async function insist(apis: readonly Api[], content: object, key: string) {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const api = apis[attempt % apis.length];
    try {
      const answer = await api?.post(path, content, { key });
      if (answer !== undefined && answer.status < 500) return answer;
    } catch {
      // The connection broke: the outcome is unknown, and the same key resolves it.
    }
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error('no definitive answer');
}

describe('two processes on one database', () => {
  test('do the work of one key once, under 50 simultaneous requests', async () => {
    const [a, b] = await Promise.all([start(), start()]);
    const { token } = await given.credential(merchant);
    const apis = [a.api.as(token), b.api.as(token)];
    for (let round = 0; round < 5; round += 1) {
      const product = await given.product(merchant);
      const key = newKey();
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, i) => apis[i % 2]?.post(path, body(product, '7'), { key })),
      );
      expect(answers.map((answer) => answer?.status)).toEqual(Array(50).fill(201));
      expect(new Set(answers.map((answer) => answer?.body.meta.operation_id)).size).toBe(1);
      const replays = answers.filter((answer) => answer?.headers.get('idempotent-replayed'));
      expect(replays).toHaveLength(49);
      expect(await historyOf(product)).toHaveLength(1);
    }
  });

  test('whose clocks differ by an hour keep the order of sequences, and times right', async () => {
    const preload = fileURLToPath(new URL('./kit/clock-ahead.mjs', import.meta.url));
    const [ahead, behind] = await Promise.all([
      start({ NODE_OPTIONS: `--import ${preload}` }),
      start(),
    ]);
    const { token } = await given.credential(merchant);
    const apis = [ahead.api.as(token), behind.api.as(token)];
    const product = await given.product(merchant);
    for (let i = 1; i <= 40; i += 1) {
      const answer = await apis[i % 2]?.post(path, body(product, String(i)));
      expect(answer?.status).toBe(201);
    }
    await Promise.all(
      Array.from({ length: 100 }, (_, i) => insist(apis, body(product, `${100 + i}`), newKey())),
    );
    const history = await historyOf(product);
    expect(history).toHaveLength(140);
    expect(history.map((row) => Number(row.sequence))).toEqual(history.map((_, i) => i + 1));
    const ids = history.map((row) => row.id);
    expect(ids).toEqual([...ids].sort());
    const times = history.map((row) => row.recorded_at.getTime());
    expect(times).toEqual([...times].sort((x, y) => x - y));
    const hourAhead = idFloor('imv_', new Date(Date.now() + 3_000_000).toISOString()) ?? '';
    expect((ids.at(-1) ?? '') > hourAhead, 'the ID of the last shows the clock that is ahead').toBe(
      true,
    );
    expect(Math.max(...times) - Date.now()).toBeLessThan(60_000);
  });

  test('lose no acknowledged write and do none twice under repeated kill -9', async () => {
    const { token, id } = await given.credential(merchant);
    // Refused requests are sent again at once, which on a fast machine exceeds any usual limit.
    const most = 'requests_per_minute = 1000000, request_burst = 1000000';
    await db.sql(`update credentials set ${most} where id = $1`, [id]);
    await db.sql(`update merchants set ${most}`);
    const services = await Promise.all([start(), start()]);
    const apis = () => services.map((service) => service.api.as(token));
    const products = await Promise.all(Array.from({ length: 5 }, () => given.product(merchant)));
    const answers: Promise<{ key: string; answer: Awaited<ReturnType<typeof insist>> }>[] = [];
    let target = 0;
    for (let kill = 0; kill < extent(2, 6); kill += 1) {
      for (let i = 0; i < 60; i += 1) {
        target += 1;
        const key = newKey();
        const content = body(products[i % 5] ?? '', String(target));
        answers.push(insist(apis(), content, key).then((answer) => ({ key, answer })));
      }
      await new Promise((resolve) => setTimeout(resolve, 15 + kill * 10));
      const victim = kill % 2;
      await services[victim]?.end('SIGKILL');
      const settled = await Promise.all(answers.splice(0));
      for (const { answer } of settled) expect(answer.status).toBe(201);
      services[victim] = await start();
    }
    const [count] = await db.sql(
      `select count(*)::int as movements, count(distinct operation_id)::int as operations
       from inventory_movements where product_id = any ($1)`,
      [products],
    );
    expect(count).toEqual({ movements: target, operations: target });
    const [drift] = await db.sql(
      `select count(*)::int as n from inventory_levels l where product_id = any ($1) and quantity <>
         (select sum(quantity_delta) from inventory_movements m
          where (m.merchant_id, m.product_id, m.location_id)
            = (l.merchant_id, l.product_id, l.location_id))`,
      [products],
    );
    expect(drift).toEqual({ n: 0 });
  }, 90_000);
});

describe('a process frozen under load', () => {
  test('costs the other no request, and gives no wrong answer when it continues', async () => {
    const [frozen, other] = await Promise.all([start(), start()]);
    const { token, id } = await given.credential(merchant);
    await db.sql('update credentials set requests_per_minute = 0 where id = $1', [id]);
    const products = await Promise.all(Array.from({ length: 8 }, () => given.product(merchant)));
    const writes: { key: string; content: object }[] = [];
    const answers: Promise<{ status: number; operation: string }>[] = [];
    const send = (node: ServiceProcess, i: number) => {
      const write = { key: newKey(), content: body(products[i % 8] ?? '', String(i + 1)) };
      writes.push(write);
      const sent = node.api.as(token).post(path, write.content, { key: write.key });
      answers.push(
        sent.then(({ status, body: { meta, error } }) => ({
          status,
          operation: meta?.operation_id ?? error?.code,
        })),
      );
      return sent;
    };
    // Both have running requests at every moment, so the freeze stops some of the one.
    for (let i = 0; i < 200; i += 8) {
      await Promise.all(Array.from({ length: 8 }, (_, k) => send(k < 4 ? frozen : other, i + k)));
    }
    for (let k = 0; k < 32; k += 1) void send(frozen, 200 + k);
    frozen.child.kill('SIGSTOP');
    const frozenAt = performance.now();
    const meanwhile: number[] = [];
    for (let i = 300; performance.now() - frozenAt < 3_000; i += 1) {
      meanwhile.push((await send(other, i)).status);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    frozen.child.kill('SIGCONT');
    expect(new Set(meanwhile)).toEqual(new Set([201]));
    const answered = await Promise.all(answers);
    const all = await Promise.all(
      writes.map(({ key, content }) => insist([other.api.as(token)], content, key)),
    );
    for (const [i, settled] of all.entries()) {
      expect(settled.status).toBe(201);
      // The key still has the answer of that time.
      const { status, operation } = answered[i] ?? {};
      if (status === 201) expect(settled.body.meta.operation_id).toBe(operation);
      else expect(status, operation).toBe(503);
    }
    const histories = await Promise.all(products.map(historyOf));
    expect(histories.flat()).toHaveLength(writes.length);
    for (const history of histories) {
      expect(history.map((row) => Number(row.sequence))).toEqual(history.map((_, n) => n + 1));
    }
  });
});

describe('a process frozen inside a batch', () => {
  test('stalls another for at most 1.2 s, and both give right answers', async () => {
    const [frozen, other] = await Promise.all([start(), start()]);
    const { token } = await given.credential(merchant);
    const product = await given.product(merchant);
    await other.api.as(token).post(path, body(product, '1'));
    const session = await db.session();
    await session.query('begin');
    await session.query('select 1 from inventory_levels where product_id = $1 for update', [
      product,
    ]);
    const key = newKey();
    const held = frozen.api.as(token).post(path, body(product, '2'), { key });
    await expect.poll(() => waitsOf(db)).toBeGreaterThan(0);
    frozen.child.kill('SIGSTOP');
    // Its connection gets the level, but the process is frozen: idle in transaction.
    await session.query('commit');
    const started = performance.now();
    const answer = await other.api.as(token).post(path, body(product, '3'));
    const stall = performance.now() - started;
    expect(answer.status).toBe(201);
    expect(answer.body.data).toMatchObject({ quantity_before: '1', quantity_after: '3' });
    expect(stall).toBeLessThan(1_200);
    frozen.child.kill('SIGCONT');
    const thawed = await held;
    expect(thawed.status).toBe(201);
    expect(thawed.body.data).toMatchObject({ quantity_before: '3', quantity_after: '2' });
    const replay = await other.api.as(token).post(path, body(product, '2'), { key });
    expect(replay.body.meta.operation_id).toBe(thawed.body.meta.operation_id);
    expect(await historyOf(product)).toHaveLength(3);
  });
});

/** The answers to one merchant, one after the other, from the first record to refusals. */
async function conversation({ api }: ServiceProcess): Promise<string[]> {
  const { token } = await given.credential(await given.merchant('İstanbul'));
  const caller = api.as(token);
  const said: string[] = [];
  const say = async (method: string, path: string, body?: object): Promise<string> => {
    const isWrite = body !== undefined;
    const text = isWrite ? JSON.stringify(body) : undefined;
    const answer = await caller.send(method, path, text, isWrite ? { key: newKey() } : {});
    said.push(`${method} ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body.data?.id;
  };
  const place = await say('POST', '/locations', { name: 'Pokhara', timezone: 'Asia/Kathmandu' });
  const tea = await say('POST', '/products', {
    name: 'ILIK ÇAY',
    unit: { code: 'kg', precision: 3 },
  });
  await say('POST', '/customers', { name: 'Işıl', email: 'I.ISIL@EXAMPLE.com' });
  const count = { product_id: tea, location_id: place, reason: 'stock_count' };
  await say('POST', '/inventory/adjustments', { ...count, target_quantity: '1234567.875' });
  await say('POST', '/inventory/adjustments', { ...count, target_quantity: '1234567,875' });
  await say('PATCH', `/products/${tea}`, { price: { amount: '1234.50', currency: 'TRY' } });
  await say('GET', '/products?q=ilik%20%C3%A7ay');
  await say('GET', '/customers?email=I.ISIL%40example.COM');
  await say('GET', '/customers?updated_after=2026-01-31T23:59:59%2B05:45');
  await say('GET', '/products?updated_after=2999-01-01T00:00:00-12:00');
  await say('GET', `/inventory/levels?location_id=${place}`);
  await say('GET', `/inventory/movements?recorded_before=2999-01-01T00:00:00%2B05:45`);
  await say('GET', '/operations?limit=4');
  await say('GET', '/customers?updated_after=yesterday');
  return said;
}

/** With each ID replaced by its order, and without times, which are checked to be now in UTC. */
function withoutIdsAndTimes(said: readonly string[]): string[] {
  const seen: string[] = [];
  const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
  return said.map((text) =>
    text
      .replaceAll(/\b([a-z]+)_[0-9a-z]{26}\b/g, (id, kind) => {
        if (!seen.includes(id)) seen.push(id);
        return `${kind}_${seen.indexOf(id)}`;
      })
      .replaceAll(/"next_cursor":"[^"]+"/g, '"next_cursor":""')
      .replaceAll(/"(\w+_at)":"([^"]+)"/g, (_, name, at) => {
        expect(at).toMatch(time);
        expect(Math.abs(Date.now() - Date.parse(at))).toBeLessThan(600_000);
        return `"${name}":""`;
      }),
  );
}

test('answers are the same in every time zone and language of the process', async () => {
  const plain = await start({ TZ: 'UTC', LANG: 'C', LC_ALL: 'C' });
  const other = await start({
    ...{ TZ: 'Asia/Kathmandu', PGTZ: 'Asia/Kathmandu' },
    ...{ LANG: 'tr_TR.UTF-8', LC_ALL: 'tr_TR.UTF-8' },
  });
  const said = withoutIdsAndTimes(await conversation(plain));
  expect(said.map((text) => text.split(' ')[1])).toEqual([
    ...['201', '201', '201', '201', '422', '200'],
    ...['200', '200', '200', '200', '200', '200', '200', '400'],
  ]);
  expect(said.join()).toContain('"created_at":""');
  expect(withoutIdsAndTimes(await conversation(other))).toEqual(said);
  await Promise.all([plain.end(), other.end()]);
});
