// What a page, a walk over pages and a poller may rely on while others write: a page is one moment,
// a walk has every earlier row exactly once, and a poller that overlaps by a minute misses nothing.

import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Database } from '../src/database/connect.ts';
import { patient } from './interleavings/environment.ts';
import { served } from './kit/again.ts';
import { type Api, newKey } from './kit/api.ts';
import { createTestDatabase, type TestDatabase, withoutLimits } from './kit/database.ts';
import { startNode } from './kit/environment.ts';
import { Given } from './kit/given.ts';

let db: TestDatabase;
let given: Given;
let stop: () => Promise<void>;
let merchant: string;
let location: string;
let nodes: readonly [Api, Api];
/** What the first node waits for before it sends what it has decided. */
let gate: (() => Promise<void>) | undefined;

beforeAll(async () => {
  db = await createTestDatabase();
  await withoutLimits(db);
  given = new Given(db);
  merchant = await given.merchant();
  location = await given.location(merchant);
  const slow = await startNode(patient(db.serviceUrl), gated);
  const other = await startNode(db.serviceUrl);
  const { token } = await given.credential(merchant);
  nodes = [slow.api.as(token), other.api.as(token)];
  stop = async () => {
    await Promise.all([slow.stop(), other.stop()]);
  };
});
afterAll(async () => {
  await stop?.();
  await db?.drop();
});

function gated(database: Database): Database {
  const { writer } = database;
  const connect: typeof writer.connect = async () => {
    const connection = await writer.connect();
    return {
      ...connection,
      send: async (statements) => {
        if (statements.some(({ name }) => name.startsWith('bind_keys'))) await gate?.();
        return connection.send(statements);
      },
    };
  };
  return { ...database, writer: { connect }, inCell: (cell) => gated(database.inCell(cell)) };
}

function adjust(api: Api, product: string, target: string, key = newKey()) {
  const pair = { product_id: product, location_id: location };
  const body = { ...pair, target_quantity: target, reason: 'stock_count' };
  return served(() => api.post('/inventory/adjustments', body, { key }));
}

interface Item {
  readonly id: string;
  readonly recorded_at: string;
  readonly position: string;
}

/** Follows next_cursor to the end. */
async function walk(api: Api, path: string): Promise<Item[]> {
  const items: Item[] = [];
  for (let more = ''; ; ) {
    const { status, body } = await served(() => api.get(path + more));
    expect(status, JSON.stringify(body)).toBe(200);
    items.push(...body.data);
    const { next_cursor: cursor } = body.meta;
    if (cursor === undefined) return items;
    more = `&cursor=${encodeURIComponent(cursor)}`;
  }
}

const idsOf = (items: readonly { readonly id: string }[]) => items.map(({ id }) => id);

describe('a page of levels', () => {
  test('is one moment: what is written second is never newer than the first', async () => {
    // The first one written is listed first, and then last: two separate reads would show a
    // difference.
    const made = [await given.product(merchant), await given.product(merchant)].sort();
    for (const [first = '', second = ''] of [made, [...made].reverse()]) {
      const filter = `product_id=${first}&product_id=${second}`;
      const path = `/inventory/levels?location_id=${location}&${filter}`;
      const base = Number((await nodes[0].get(path)).body.data[0]?.quantity ?? '0');
      let isOver = false;
      let between = 0;
      const readers = Array.from({ length: 4 }, async (_, index) => {
        while (!isOver) {
          const { body } = await nodes[index % 2 === 0 ? 0 : 1].get(path);
          const quantityOf = (product: string) => {
            const level = body.data.find(
              (one: { product_id: string }) => one.product_id === product,
            );
            return Number(level?.quantity ?? '0');
          };
          const [a, b] = [quantityOf(first), quantityOf(second)];
          expect(a - b === 0 || a - b === 1, `${a} before ${b}`).toBe(true);
          if (a !== b) between += 1;
        }
      });
      try {
        for (let target = base + 1; target <= base + 25; target += 1) {
          expect((await adjust(nodes[1], first, String(target))).status).toBe(201);
          expect((await adjust(nodes[0], second, String(target))).status).toBe(201);
        }
      } finally {
        isOver = true;
        await Promise.all(readers);
      }
      expect(between).toBeGreaterThan(0);
    }
  });
});

describe('a walk over pages', () => {
  test('has each row that existed before it exactly once, while 16 others write', async () => {
    const products: string[] = [];
    for (let n = 0; n < 16; n += 1) products.push(await given.product(merchant));
    let isOver = false;
    let written = 0;
    const writers = products.map(async (product, index) => {
      const api = nodes[index % 2 === 0 ? 0 : 1];
      for (let n = 1; !isOver; n += 1) {
        const person = { name: 'Ada', email: 'ada@example.com' };
        const key = newKey();
        const answers = [
          await served(() => api.post('/products', { name: 'Flour' }, { key })),
          await served(() => api.post('/customers', person, { key })),
          await adjust(api, product, String(n), key),
        ];
        expect(answers.map(({ status }) => status)).toEqual([201, 201, 201]);
        written += 3;
      }
    });
    try {
      while (written < 150) await sleep(5);
      const lists = [
        '/products?limit=23',
        '/customers?limit=23',
        '/operations?limit=67',
        '/inventory/movements?limit=23',
        '/inventory/movements?limit=23&order=asc',
      ];
      await Promise.all(
        lists.map((list, index) => walkTwice(nodes[index % 2 === 0 ? 0 : 1], list)),
      );
    } finally {
      isOver = true;
      await Promise.all(writers);
    }
  }, 60_000);
});

/** The second walk must have all that the first one saw. */
async function walkTwice(api: Api, list: string): Promise<void> {
  const before = new Set(idsOf(await walk(api, list)));
  expect(before.size, list).toBeGreaterThan(30);
  const found = idsOf(await walk(api, list));
  expect(new Set(found).size, list).toBe(found.length);
  expect(
    [...before].filter((id) => !found.includes(id)),
    list,
  ).toEqual([]);
}

describe('a poller', () => {
  test('misses nothing of a writer that commits late, by time or by position', async () => {
    const [slow, other] = nodes;
    const late = await given.product(merchant);
    const product = await given.product(merchant);
    const first = (await adjust(other, product, '1')).body;
    const begun = first.data as Item;
    const { journal } = first.meta;
    let open = () => {};
    const decided = new Promise<void>((tell) => {
      const opened = new Promise<void>((resolve) => {
        open = resolve;
      });
      gate = () => {
        tell();
        return opened;
      };
    });
    const held = adjust(slow, late, '1');
    await decided;
    await sleep(5);
    const meanwhile: string[] = [];
    for (let target = 2; target <= 6; target += 1) {
      meanwhile.push((await adjust(other, product, String(target))).body.data.id);
    }
    const seen = await poll(begun.recorded_at);
    expect(idsOf(seen)).toEqual([begun.id, ...meanwhile]);
    open();
    gate = undefined;
    const { id, recorded_at: at } = (await held).body.data as Item;
    const { recorded_at: last, position } = seen.at(-1) ?? begun;
    // It was decided before them, and has the time and the position of its commit.
    expect([at >= last, idsOf(await poll(last)).at(-1)]).toEqual([true, id]);
    const behind = `after_position=${position}&journal=${journal}`;
    const news = await walk(nodes[1], `/inventory/movements?order=asc&limit=1&${behind}`);
    expect(idsOf(news)).toEqual([id]);
  });
});

function poll(after: string): Promise<Item[]> {
  const since = encodeURIComponent(after);
  return walk(nodes[1], `/inventory/movements?order=asc&limit=50&recorded_after=${since}`);
}
