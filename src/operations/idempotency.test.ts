import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Api, newKey } from '../../test/kit/api.ts';
import { type Environment, startEnvironment, startNode } from '../../test/kit/environment.ts';
import { mirrorOf } from '../../test/kit/mirror.ts';

let service: Environment;
let other: Awaited<ReturnType<typeof startNode>>;
let merchant: string;
let location: string;

beforeAll(async () => {
  service = await startEnvironment();
  other = await startNode(service.db.serviceUrl);
  merchant = await service.given.merchant();
  location = await service.given.location(merchant);
});
afterAll(async () => {
  await other.stop();
  await service.stop();
});

async function caller(): Promise<Api> {
  const { token } = await service.given.credential(merchant);
  return service.api.as(token);
}

const path = '/inventory/adjustments';
const body = (product: string, target: string, more: object = {}) => ({
  product_id: product,
  location_id: location,
  target_quantity: target,
  reason: 'stock_count',
  ...more,
});

/** A digest of every row of every table: equal before and after means nothing was written. */
async function checksums() {
  const tables = await service.db.sql<{ name: string }>(
    // How fast a caller asks is noted whatever becomes of the request.
    `select tablename as name from pg_tables
     where schemaname = any (current_schemas(false)) and tablename <> 'rate_buckets' order by 1`,
  );
  const sums: Record<string, unknown> = {};
  for (const { name } of tables) {
    // When a credential was last used is noted a moment after it was.
    const rest = `(to_jsonb(t) - 'last_used_at')::text`;
    const all = 't::text || xmin::text || ctid::text';
    const [row] = await service.db.sql(
      `select count(*), md5(string_agg(${name === 'credentials' ? rest : all}, '' order by t::text))
       from ${name} t`,
    );
    sums[name] = row;
  }
  return sums;
}

async function movementsOf(product: string): Promise<number> {
  const rows = await service.db.sql('select 1 from inventory_movements where product_id = $1', [
    product,
  ]);
  return rows.length;
}

/** The same write by both nodes, turn by turn, all at once. */
function storm(api: Api, count: number, ask: (index: number) => [object, string]) {
  return Promise.all(
    Array.from({ length: count }, (_, index) => {
      const [content, key] = ask(index);
      const node = index % 2 === 0 ? api : other.api.as(api.token);
      return node.post(path, content, { key });
    }),
  );
}

describe('one key', () => {
  test('has one effect and one operation under 50 simultaneous requests to two nodes', async () => {
    const api = await caller();
    for (let round = 0; round < 10; round += 1) {
      const product = await service.given.product(merchant);
      const key = newKey();
      const answers = await storm(api, 50, () => [body(product, '7'), key]);
      expect(answers.map((answer) => answer.status)).toEqual(Array(50).fill(201));
      expect(new Set(answers.map((answer) => answer.body.meta.operation_id)).size).toBe(1);
      expect(new Set(answers.map((answer) => answer.body.data.id)).size).toBe(1);
      expect(new Set(answers.map((answer) => answer.body.meta.request_id)).size).toBe(50);
      const replays = answers.filter(
        (answer) => answer.headers.get('idempotent-replayed') === 'true',
      );
      expect(replays).toHaveLength(49);
      expect(await movementsOf(product)).toBe(1);
    }
  });

  test('with 50 different bodies at once lets one win and answers 409 to 49', async () => {
    const api = await caller();
    for (let round = 0; round < 10; round += 1) {
      const product = await service.given.product(merchant);
      const key = newKey();
      const before = await service.db.sql('select count(*)::int as n from operations');
      const answers = await storm(api, 50, (index) => [body(product, `${index + 1}`), key]);
      const winners = answers.filter((answer) => answer.status === 201);
      expect(winners).toHaveLength(1);
      const losers = answers.filter((answer) => answer.code === 'idempotency_key_reused');
      expect(losers).toHaveLength(49);
      for (const loser of losers) {
        expect(loser.status).toBe(409);
        expect(loser.body.error.details[0].operation_id).toBe(winners[0]?.body.meta.operation_id);
      }
      expect(await movementsOf(product)).toBe(1);
      const after = await service.db.sql('select count(*)::int as n from operations');
      expect(after[0]?.n).toBe(Number(before[0]?.n) + 1);
    }
  });

  test('is independent per credential and merchant', async () => {
    const foreign = await service.given.merchant();
    const foreignLocation = await service.given.location(foreign);
    const key = newKey();
    const operations = new Set<string>();
    for (const owner of [merchant, merchant, foreign, foreign]) {
      const { token } = await service.given.credential(owner);
      const product = await service.given.product(owner);
      const content = {
        ...body(product, '3'),
        location_id: owner === foreign ? foreignLocation : location,
      };
      const answer = await service.api.as(token).post(path, content, { key });
      expect(answer.status).toBe(201);
      expect(answer.headers.get('idempotent-replayed')).toBeNull();
      operations.add(answer.body.meta.operation_id);
    }
    expect(operations.size).toBe(4);
  });

  test('is independent per merchant, though the IDs of its credentials are the same', async () => {
    const owner = await service.given.merchant();
    const { token } = await service.given.credential(owner);
    const mirror = await mirrorOf(service.db, owner, [token]);
    const key = newKey();
    const operations = new Set<string>();
    for (const one of [token, ...mirror.tokens]) {
      const api = service.api.as(one);
      const answer = await api.post('/products', { name: 'Rye' }, { key });
      expect([answer.status, answer.headers.get('idempotent-replayed')]).toEqual([201, null]);
      operations.add(answer.body.meta.operation_id);
    }
    expect(operations.size).toBe(2);
  });
});

describe('a replay', () => {
  test('shows the original movement and the current level', async () => {
    const api = await caller();
    const product = await service.given.product(merchant);
    const key = newKey();
    const first = await api.post(path, body(product, '7'), { key });
    await api.post(path, body(product, '9'));
    const replay = await api.post(path, body(product, '7'), { key });
    expect(replay.status).toBe(201);
    expect(replay.headers.get('idempotent-replayed')).toBe('true');
    expect(replay.headers.get('location')).toBe(first.headers.get('location'));
    expect(replay.body.meta.operation_id).toBe(first.body.meta.operation_id);
    const { level, ...movement } = replay.body.data;
    const { level: firstLevel, ...firstMovement } = first.body.data;
    expect(movement).toEqual(firstMovement);
    expect(firstLevel).toMatchObject({ quantity: '7', version: 1 });
    expect(level).toMatchObject({ quantity: '9', version: 2 });
  });

  test('is never refused as a no-op, though the level stands at the target', async () => {
    const api = await caller();
    const product = await service.given.product(merchant);
    const key = newKey();
    await api.post(path, body(product, '7'), { key });
    for (let i = 0; i < 20; i += 1) {
      const replay = await api.post(path, body(product, '7'), { key });
      expect(replay.status).toBe(201);
    }
    expect(await movementsOf(product)).toBe(1);
  });

  test('is found under every rewriting of the same request', async () => {
    const api = await caller();
    const product = await service.given.product(merchant);
    const key = newKey();
    const first = await api.post(path, body(product, '10', { note: null }), { key });
    const rewritings = [
      `{"reason":"stock_count","target_quantity":"10.000","location_id":"${location}",` +
        `"product_id":"${product}"}`,
      `{ "product_id" : "${product}", "location_id": "${location}",\n"target_quantity": "10.0",` +
        `"reason": "stock\\u005fcount", "reference": null, "expected_quantity": null }`,
    ];
    for (const rewriting of rewritings) {
      const replay = await api.send('POST', path, rewriting, { key });
      expect(replay.status, rewriting).toBe(201);
      expect(replay.body.meta.operation_id).toBe(first.body.meta.operation_id);
    }
    expect(await movementsOf(product)).toBe(1);
  });
});

describe('a changed request under a used key', () => {
  test('is 409 for every single change and leaves every table as it was', async () => {
    const api = await caller();
    const product = await service.given.product(merchant);
    const fresh = await service.given.product(merchant);
    const elsewhere = await service.given.location(merchant);
    const key = newKey();
    await api.post(path, body(product, '7'), { key });
    const before = await checksums();
    const changes = [
      { target_quantity: '8' },
      { reason: 'correction' },
      { note: '' },
      { reference: 'a' },
      { expected_quantity: '0' },
      { product_id: fresh },
      { product_id: 'prod_unknown' },
      { location_id: elsewhere },
      { target_quantity: '-1' },
      { target_quantity: '7.' },
      { target_quantity: '7.000001' },
      { target_quantity: 7 },
      { expected_quantity: '' },
      { reason: 'theft' },
      { colour: 'red' },
    ];
    for (const change of changes) {
      const answer = await api.post(path, { ...body(product, '7'), ...change }, { key });
      expect(answer.code, JSON.stringify(change)).toBe('idempotency_key_reused');
    }
    await api.post(path, body(product, '7'), { key });
    expect(await checksums()).toEqual(before);
  });
});

describe('a refusal', () => {
  test('of a no-op stays refused for its key after the level has moved', async () => {
    const api = await caller();
    const product = await service.given.product(merchant);
    await api.post(path, body(product, '7'));
    const key = newKey();
    const refused = await api.post(path, body(product, '7'), { key });
    expect(refused.status).toBe(422);
    expect(refused.code).toBe('inventory_no_change');
    expect(refused.body.error.details[0].current_quantity).toBe('7');
    await api.post(path, body(product, '9'));
    const again = await api.post(path, body(product, '7'), { key });
    expect(again.body.error).toEqual(refused.body.error);
    expect(again.body.meta.operation_id).toBe(refused.body.meta.operation_id);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(refused.headers.get('idempotent-replayed')).toBeNull();
    expect(await movementsOf(product)).toBe(2);
    const changed = await api.post(path, body(product, '8'), { key });
    expect(changed.code).toBe('idempotency_key_reused');
  });

  test('by what the message or its fields are leaves the key free', async () => {
    const api = await caller();
    const product = await service.given.product(merchant);
    const key = newKey();
    const good = body(product, '4');
    const attempts: [number, Promise<{ status: number }>][] = [
      [422, api.post(path, { ...good, target_quantity: 'four' }, { key })],
      [400, api.send('POST', path, '{"a":1,"a":2}', { key })],
      [415, api.post(path, good, { key, headers: { 'content-type': 'text/plain' } })],
      [403, api.post(path, { ...good, location_id: 'loc_unknown' }, { key })],
      [401, api.post(path, good, { key, token: undefined })],
      [400, api.post(`${path}?dry_run=1`, good, { key })],
    ];
    for (const [status, attempt] of attempts) expect((await attempt).status).toBe(status);
    const answer = await api.post(path, good, { key });
    expect(answer.status).toBe(201);
    expect(answer.headers.get('idempotent-replayed')).toBeNull();
  });

  test('by a lost grant stops even a replay, and shows nothing', async () => {
    const { id, token } = await service.given.credential(merchant, { locations: [location] });
    const api = service.api.as(token);
    const product = await service.given.product(merchant);
    const key = newKey();
    expect((await api.post(path, body(product, '5'), { key })).status).toBe(201);
    await service.db.sql(`update credentials set location_ids = '{}' where id = $1`, [id]);
    const stopped = await api.post(path, body(product, '5'), { key });
    expect(stopped.status).toBe(403);
    expect(stopped.code).toBe('location_not_granted');
    expect(JSON.stringify(stopped.body)).not.toContain(product);
    await service.db.sql('update credentials set location_ids = $2 where id = $1', [
      id,
      [location],
    ]);
    expect((await api.post(path, body(product, '5'), { key })).status).toBe(201);
  });
});
