import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { hashToken, mintToken } from '../src/access/token.ts';
import { type Environment, startEnvironment } from '../test/kit/environment.ts';
import { type Fate, FaultProxy, pass, type Seen } from '../test/kit/fault-proxy.ts';
import type { GivenCredential } from '../test/kit/given.ts';
import { MemoryStore, type Outbox, type OutboxOptions, Tallybook } from './main.ts';

let service: Environment;
let proxy: FaultProxy;
let merchant: string;
let given: GivenCredential;
let location: string;
let products: string[];
/** What the till has; a test changes it. */
let token: string;

beforeAll(async () => {
  service = await startEnvironment();
});
afterAll(() => service.stop());
// One for each test: what an outbox had on its way when it was closed may arrive in the next.
beforeEach(async () => {
  proxy = await FaultProxy.listen(service.api.origin);
  merchant = await service.given.merchant();
  given = await service.given.credential(merchant);
  location = await service.given.location(merchant);
  products = await Promise.all([1, 2, 3].map(() => service.given.product(merchant)));
  token = given.token;
});
afterEach(() => proxy.close());

const outboxOn = (store = new MemoryStore(), options?: OutboxOptions) =>
  new Tallybook({ baseUrl: proxy.baseUrl, token: () => token }).outbox(store, options);

const adjustment = (target: number, product_id = products[0] ?? '', location_id = location) =>
  ({ product_id, location_id, target_quantity: `${target}`, reason: 'stock_count' }) as const;

const set = (outbox: Outbox, target: number, product?: string, at?: string) =>
  outbox.put('inventory.adjust', adjustment(target, product, at));

const statesOf = async (outbox: Outbox) => (await outbox.entries()).map(({ state }) => state);

/** The quantities that the movements of a product led to, in order. */
async function history(product = products[0], at = location): Promise<number[]> {
  const rows = await service.db.sql<{ quantity_after: string }>(
    `select quantity_after from inventory_movements where product_id = $1 and location_id = $2
     order by sequence`,
    [product, at],
  );
  return rows.map((row) => Number(row.quantity_after));
}

const off: Fate = { kind: 'cut request', after: 0 };
const isWrite = (one: { method: string }) => one.method === 'POST';

describe('writes', () => {
  test('are done once, in order per product and location, over a network that fails', async () => {
    const fates: Fate[] = [
      pass,
      { kind: 'cut answer', after: 64 },
      pass,
      { kind: 'answer', status: 500 },
      { kind: 'slow', ms: 40 },
      { kind: 'cut request', after: 128 },
    ];
    proxy.fateOf = (n) => fates[n % fates.length] ?? pass;
    const outbox = outboxOn();
    const targets = Array.from({ length: 12 }, (_, n) => n + 1);
    await Promise.all(targets.flatMap((target) => products.map((one) => set(outbox, target, one))));
    await outbox.idle();
    for (const product of products) expect(await history(product)).toEqual(targets);
    expect(await outbox.entries()).toEqual([]);
    await outbox.close();
  });

  test('are stored while nothing answers, and sent by the next process', async () => {
    proxy.fateOf = () => off;
    const store = new MemoryStore();
    const till = outboxOn(store);
    await set(till, 1);
    await set(till, 2);
    await till.close();
    expect((await store.all()).map(({ credential }) => credential)).toEqual([null, null]);
    proxy.fateOf = () => pass;
    const next = outboxOn(store);
    await next.idle();
    expect(await history()).toEqual([1, 2]);
    expect(await store.all()).toEqual([]);
    await next.close();
  });

  test('have the credential stored before they are sent', async () => {
    proxy.fateOf = (_, one) => (isWrite(one) ? { kind: 'cut answer', after: 0 } : pass);
    const store = new MemoryStore();
    const outbox = outboxOn(store);
    const added = await set(outbox, 1);
    await expect.poll(() => proxy.seen.filter(isWrite).length).toBeGreaterThan(0);
    const [entry] = await store.all();
    expect(entry).toMatchObject({ id: added.id, credential: given.id });
    expect(JSON.stringify(entry)).not.toContain(given.token);
    await outbox.close();
  });

  test('that the store does not take are not sent, and the caller is told', async () => {
    const store = new MemoryStore();
    store.add = () => Promise.reject(new Error('The disk is full.'));
    const outbox = outboxOn(store);
    await expect(set(outbox, 1)).rejects.toThrow('The disk is full.');
    await outbox.idle();
    expect(proxy.seen.filter(isWrite)).toEqual([]);
    await outbox.close();
  });

  test('of which many come as one are put one by one', async () => {
    const outbox = outboxOn();
    const name = 'batches.submit' as 'inventory.adjust';
    await expect(outbox.put(name, adjustment(1))).rejects.toThrow(TypeError);
    await outbox.close();
  });
});

describe('a token', () => {
  test('that was revoked keeps the writes until the credential has another one', async () => {
    await service.db.sql('delete from credential_tokens where credential_id = $1', [given.id]);
    const outbox = outboxOn();
    await set(outbox, 1);
    await expect
      .poll(async () => (await outbox.entries())[0]?.problem)
      .toMatchObject({ status: 401 });
    expect(proxy.seen.filter(isWrite)).toEqual([]);
    token = mintToken('pat');
    await service.db.sql(
      `insert into credential_tokens (token_hash, merchant_id, credential_id, last_four,
         created_at, expires_at) values ($1, $2, $3, 'abcd', now(), now() + interval '1 day')`,
      [hashToken(token), merchant, given.id],
    );
    await outbox.idle();
    expect(await history()).toEqual([1]);
    await outbox.close();
  });

  test('of another credential does not send them, and their own does, once', async () => {
    // It is done, but nobody has heard of it.
    proxy.fateOf = (_, one) => (isWrite(one) ? { kind: 'cut answer', after: 0 } : pass);
    const store = new MemoryStore();
    const first = outboxOn(store);
    await set(first, 1);
    await expect.poll(history).toEqual([1]);
    await first.close();
    proxy.fateOf = () => pass;
    proxy.seen.length = 0;
    token = (await service.given.credential(merchant)).token;
    const second = outboxOn(store);
    await set(second, 2, products[1]);
    await expect.poll(() => history(products[1])).toEqual([2]);
    await expect.poll(() => statesOf(second)).toEqual(['waiting']);
    const [kept] = await second.entries();
    expect(kept).toMatchObject({ credential: given.id, state: 'waiting' });
    expect(kept?.problem?.message).toContain(given.id);
    // A busy service is asked again for the other one.
    const isBySecond = ({ headers }: Seen) => headers.authorization === `Bearer ${token}`;
    const sent = proxy.seen.filter((one) => isWrite(one) && isBySecond(one));
    expect(new Set(sent.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
    await second.close();
    token = given.token;
    const third = outboxOn(store);
    await third.idle();
    expect(await history()).toEqual([1]);
    await third.close();
  });
});

describe('a refusal', () => {
  test('that is bound to the key settles the write, and the next one goes on', async () => {
    const outcomes: unknown[] = [];
    const outbox = outboxOn(new MemoryStore(), {
      onSettled: (_, { result, error }) => void outcomes.push(result?.status ?? error?.code),
    });
    for (const target of [5, 5, 6]) await set(outbox, target);
    await outbox.idle();
    expect(outcomes).toEqual([201, 'inventory_no_change', 201]);
    expect(await history()).toEqual([5, 6]);
    await outbox.close();
  });

  test('of any other kind parks the write visibly, also after a restart', async () => {
    const parked: string[] = [];
    const store = new MemoryStore();
    const outbox = outboxOn(store, { onParked: ({ name }) => void parked.push(name) });
    const { id } = await outbox.put('inventory.reservations.release', 'res_none', {});
    await outbox.put('inventory.adjust', { ...adjustment(1), target_quantity: 'many' });
    await set(outbox, 2);
    await outbox.idle();
    expect(await history()).toEqual([2]);
    expect(parked).toEqual(['inventory.reservations.release', 'inventory.adjust']);
    await outbox.close();
    const next = outboxOn(store);
    await next.idle();
    expect(await next.entries()).toMatchObject([
      { id, state: 'parked', parked: { status: 404, code: 'not_found' } },
      {
        state: 'parked',
        parked: { code: 'validation_failed', details: [{ field: 'target_quantity' }] },
      },
    ]);
    await next.retry(id);
    await next.idle();
    expect(await statesOf(next)).toEqual(['parked', 'parked']);
    for (const entry of await next.entries()) await next.discard(entry.id);
    expect(await store.all()).toEqual([]);
    await next.close();
  });

  test('of a key that another request had parks the write: it was not done', async () => {
    const idempotencyKey = randomUUID();
    const outbox = outboxOn();
    await outbox.put('inventory.adjust', adjustment(1), { idempotencyKey });
    await outbox.put('inventory.adjust', adjustment(2), { idempotencyKey });
    await outbox.idle();
    const [entry] = await outbox.entries();
    expect(entry?.parked).toMatchObject({ status: 409, code: 'idempotency_key_reused' });
    await outbox.close();
  });

  test('at a location that is not granted keeps what is there, and nothing else', async () => {
    const other = await service.given.location(merchant);
    await service.db.sql(
      `update credentials set all_locations = false, location_ids = array[$2]
       where id = $1`,
      [given.id, location],
    );
    const outbox = outboxOn();
    await set(outbox, 1, products[0], other);
    await set(outbox, 2, products[0], other);
    await set(outbox, 3);
    await expect.poll(() => history()).toEqual([3]);
    const [first, second] = await outbox.entries();
    expect(first?.problem).toMatchObject({ status: 403, code: 'location_not_granted' });
    expect(second?.problem).toBeUndefined();
    await service.db.sql(
      'update credentials set all_locations = true, location_ids = array[]::text[] where id = $1',
      [given.id],
    );
    await outbox.idle();
    expect(await history(products[0], other)).toEqual([1, 2]);
    await outbox.close();
  });

  test('by something between keeps the write', async () => {
    proxy.fateOf = (n, one) =>
      isWrite(one) && n < 3 ? { kind: 'answer', status: 404, body: '<h1>No such page</h1>' } : pass;
    const outbox = outboxOn();
    await set(outbox, 1);
    await outbox.idle();
    expect(await history()).toEqual([1]);
    await outbox.close();
  });
});

test('an outcome is told until it was heard, and the write is done once', async () => {
  const stored: number[] = [];
  const store = new MemoryStore();
  const outbox = outboxOn(store, {
    onSettled: async () => {
      stored.push((await store.all()).length);
      if (stored.length === 1) throw new Error('The printer is out of paper.');
    },
  });
  await set(outbox, 1);
  await outbox.idle();
  expect(stored).toEqual([1, 1]);
  expect(await store.all()).toEqual([]);
  expect(await history()).toEqual([1]);
  await outbox.close();
});
