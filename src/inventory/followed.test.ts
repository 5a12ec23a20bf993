// What a poller of movements may rely on that goes on from `meta.through_position` alone.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { served } from '../../test/kit/again.ts';
import { type Api, newKey } from '../../test/kit/api.ts';
import { withoutLimits } from '../../test/kit/database.ts';
import { type Environment, startEnvironment, startNode } from '../../test/kit/environment.ts';
import { extent } from '../../test/kit/extent.ts';
import { ledgerDifferences } from '../../test/kit/ledger.ts';

interface Movement {
  readonly id: string;
  readonly product_id: string;
  readonly location_id: string;
  readonly reason: string;
  readonly position: string;
  readonly line: number;
}

let service: Environment;
let node: Awaited<ReturnType<typeof startNode>>;

beforeAll(async () => {
  service = await startEnvironment();
  await withoutLimits(service.db);
  node = await startNode(service.db.serviceUrl);
});
afterAll(async () => {
  await node.stop();
  await service.stop();
});

const reasons = ['stock_count', 'external_adjustment', 'correction'] as const;

/** Where a poller has come to, which is all that it keeps. */
interface Place {
  position: string;
  journal: string | undefined;
}

/** One look: all pages from the place on. */
async function follow(api: Api, filter: string, place: Place): Promise<Movement[]> {
  const found: Movement[] = [];
  const from = `&after_position=${place.position}`;
  const of = place.journal === undefined ? '' : `&journal=${place.journal}`;
  for (let cursor = ''; ; ) {
    const path = `/inventory/movements?order=asc${filter}${from}${of}${cursor}`;
    const answer = await served(() => api.get(path));
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    found.push(...answer.body.data);
    const { through_position, journal, next_cursor } = answer.body.meta;
    Object.assign(place, { position: through_position, journal });
    if (next_cursor === undefined) return found;
    cursor = `&cursor=${next_cursor}`;
  }
}

const turns = extent(10, 25);

describe('a poller that goes on behind the last position', () => {
  test('sees each movement of 16 writers at two nodes once, with any filter', async () => {
    const { given } = service;
    const merchant = await given.merchant();
    const { token } = await given.credential(merchant);
    const apis = [service.api.as(token), node.api.as(token)] as const;
    const make = (count: number, one: () => Promise<string>) =>
      Promise.all(Array.from({ length: count }, one));
    const products = await make(6, () => given.product(merchant));
    const locations = await make(2, () => given.location(merchant));
    const clerk = await given.credential(merchant, { locations: locations.slice(1) });
    const written: Movement[] = [];
    let isOver = false;
    const write = async (n: number) => {
      for (let turn = 1; turn <= turns; turn += 1) {
        const product = products[(n + turn) % products.length] ?? '';
        const body = {
          product_id: product,
          location_id: locations[(n + (turn >> 1)) % 2],
          // No two writers have one target, so that each changes something.
          target_quantity: String(turn * 16 + n),
          reason: reasons[turn % reasons.length],
        };
        const key = newKey();
        const answer = await served(() =>
          apis[n % 2 ? 1 : 0].post('/inventory/adjustments', body, { key }),
        );
        expect(answer.status, JSON.stringify(answer.body)).toBe(201);
        written.push(answer.body.data);
        // Positions without movements lie between.
        if (turn % 5 !== 0) continue;
        const name = { name: `${n} ${turn}` };
        await served(() => apis[0].patch(`/products/${product}`, name, { key: key.slice(1) }));
      }
    };
    const pollers: [string, (one: Movement) => boolean, Api][] = [
      ['', () => true, apis[0]],
      ['&limit=1', () => true, apis[1]],
      ['&limit=7', () => true, apis[0]],
      [`&location_id=${locations[0]}`, (one) => one.location_id === locations[0], apis[1]],
      ['&limit=3', (one) => one.location_id === locations[1], node.api.as(clerk.token)],
      [
        `&product_id=${products[0]}&product_id=${products[1]}&limit=2`,
        (one) => products.indexOf(one.product_id) < 2,
        apis[0],
      ],
      ['&reason=correction', (one) => one.reason === 'correction', apis[1]],
    ];
    const following = pollers.map(async ([filter, , api]) => {
      const seen: Movement[] = [];
      const place: Place = { position: '0', journal: undefined };
      let looks = 0;
      for (let isLast = false; !isLast; looks += 1) {
        isLast = isOver;
        seen.push(...(await follow(api, filter, place)));
      }
      return { seen, looks };
    });
    await Promise.all(Array.from({ length: 16 }, (_, n) => write(n)));
    isOver = true;
    expect(written).toHaveLength(16 * turns);
    const inOrder = [...written].sort((a, b) => Number(a.position) - Number(b.position));
    for (const [n, { seen, looks }] of (await Promise.all(following)).entries()) {
      const [filter = '', isMeant] = pollers[n] ?? [];
      const expected = inOrder.filter((one) => isMeant?.(one)).map(({ id }) => id);
      expect([filter, seen.map(({ id }) => id)]).toEqual([filter, expected]);
      expect(looks).toBeGreaterThan(1);
    }
    const positions = await service.db.sql(
      `select min(position)::int as first, max(position)::int as last,
         count(distinct position)::int as all
       from operations where merchant_id = $1`,
      [merchant],
    );
    // Each fifth turn changes a product, too.
    const all = 16 * (turns + turns / 5);
    expect(positions).toEqual([{ first: 1, last: all, all }]);
  }, 120_000);

  test('loses no movement of an operation in the middle of which a page ends', async () => {
    const { given, db } = service;
    const merchant = await given.merchant();
    const owner = await given.credential(merchant);
    const api = service.api.as(owner.token);
    const product = await given.product(merchant);
    const locations = [await given.location(merchant), await given.location(merchant)];
    for (const location_id of locations) {
      const body = { product_id: product, location_id, target_quantity: '5', reason: 'correction' };
      expect((await api.post('/inventory/adjustments', body)).status).toBe(201);
    }
    // From the one to the other, by the owner's hand: two movements of one operation, the third.
    const at = new Date(Date.now() + 1_000).toISOString();
    const lines = locations.map((location, index) => ({ location, delta: index * 2 - 1, index }));
    await db.sql(`
      insert into operations (merchant_id, id, credential_id, type, key_hash, fingerprint,
        fingerprint_version, status, resource_id, movements, position, request_id, created_at)
      values ('${merchant}', 'op_hand', '${owner.id}', 'inventory.adjust', sha256('key'),
        sha256('body'), 1, 'succeeded', 'imv_hand_0', 2, 3, 'req_hand', '${at}');
      ${lines
        .map(
          ({ location, delta, index }) => `
            update inventory_levels set quantity = ${5 + delta}, sequence = 2,
              last_movement_id = 'imv_hand_${index}', updated_at = '${at}'
            where location_id = '${location}';
            insert into inventory_movements (merchant_id, id, product_id, location_id, sequence,
              type, reason, quantity_before, quantity_delta, quantity_after, operation_id,
              position, line, credential_id, actor_kind, recorded_at)
            values ('${merchant}', 'imv_hand_${index}', '${product}', '${location}', 2,
              'adjustment', 'correction', 5, ${delta}, ${5 + delta}, 'op_hand', 3, ${index + 1},
              '${owner.id}', 'personal_access_token', '${at}');`,
        )
        .join('')}`);
    expect(await ledgerDifferences(db)).toEqual([]);
    const after = { product_id: product, location_id: locations[1], target_quantity: '9' };
    const last = (await api.post('/inventory/adjustments', { ...after, reason: 'correction' }))
      .body;
    const { journal } = last.meta;
    const ids = (answer: { body: { data: Movement[] } }) => answer.body.data.map(({ id }) => id);
    const path = `/inventory/movements?order=asc&journal=${journal}`;

    const first = await api.get(`${path}&after_position=2&limit=1`);
    expect([ids(first), first.body.meta.through_position]).toEqual([['imv_hand_0'], '2']);
    const more = `&after_position=2&limit=1&cursor=${first.body.meta.next_cursor}`;
    const second = await api.get(path + more);
    expect([ids(second), second.body.meta.through_position]).toEqual([['imv_hand_1'], '3']);
    // Who stops within the operation goes on at its beginning.
    const again = await api.get(`${path}&after_position=${first.body.meta.through_position}`);
    expect(ids(again)).toEqual(['imv_hand_0', 'imv_hand_1', last.data.id]);
    const rest = await api.get(`${path}&after_position=${second.body.meta.through_position}`);
    expect(ids(rest)).toEqual([last.data.id]);

    for (const limit of [1, 2, 3, 200]) {
      const place: Place = { position: '0', journal: undefined };
      const seen = await follow(api, `&limit=${limit}`, place);
      expect(seen.map(({ position, line }) => `${position}.${line}`)).toEqual([
        ...['1.1', '2.1', '3.1', '3.2', '4.1'],
      ]);
      expect(place.position).toBe('4');
    }
    // At each of its locations the operation is shown whole by what is there of it.
    for (const [index, location] of locations.entries()) {
      const at = `${path}&location_id=${location}&after_position=2&limit=1`;
      const own = await api.get(at);
      expect([ids(own), own.body.meta.through_position]).toEqual([[`imv_hand_${index}`], '3']);
      const levels = await api.get(
        `/inventory/levels?location_id=${location}&as_of_position=3&journal=${journal}`,
      );
      expect(levels.body.data).toMatchObject([{ quantity: String(4 + 2 * index), version: 2 }]);
    }
  });
});
