// Many duplicate requests: the same key from many clients at once, on two processes,
// with one body or with several, and the first write of a level by many. A few groups by `npm
// test`, hundreds by `npm run prove`.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newKey } from './kit/api.ts';
import { extent } from './kit/extent.ts';
import { type ServiceProcess, startProcess } from './kit/process.ts';
import { type Reply, Sender } from './kit/sender.ts';
import { WriteEnvironment } from './kit/write-environment.ts';

const groups = extent(5, 500);
const timeout = 60_000 + 2_000 * groups;

let environment: WriteEnvironment;
let nodes: ServiceProcess[] = [];
let senders: Sender[] = [];

beforeAll(async () => {
  environment = await WriteEnvironment.start();
  const { db } = environment;
  nodes = await Promise.all([startProcess(db, quiet), startProcess(db, quiet)]);
  senders = nodes.map(({ api }) => new Sender(api.origin, 100));
});
afterAll(async () => {
  for (const sender of senders) sender.close();
  await Promise.all(nodes.map((node) => node.end()));
  await environment.stop();
});

const quiet = { TALLYBOOK_LOG_LEVEL: 'error' };

function send(n: number, product: string, target: number, key: string): Promise<Reply> {
  const body = {
    product_id: product,
    location_id: environment.location,
    target_quantity: String(target),
    reason: 'correction',
  };
  const headers = {
    authorization: `Bearer ${environment.token}`,
    'content-type': 'application/json',
    'idempotency-key': key,
  };
  const sender = senders[n % senders.length];
  if (sender === undefined) throw new Error('there are no nodes');
  return sender.send('POST', '/api/v1/inventory/adjustments', headers, JSON.stringify(body));
}

const operationOf = ({ text }: Reply): string => JSON.parse(text).meta.operation_id;

/** From 2 to `most` requests, the small groups first; equal within each ten groups. */
const sizeOf = (group: number, most: number) => 2 + Math.floor(((most - 2) * (group % 10)) / 9);

const movementsOf = async (product: string) =>
  (await environment.db.sql('select 1 from inventory_movements where product_id = $1', [product]))
    .length;

describe(`in ${groups} groups`, { timeout }, () => {
  test('up to 200 with one key and one body have one effect and one answer', async () => {
    for (let group = 0; group < groups; group += 1) {
      const product = await environment.product();
      const key = newKey();
      const size = sizeOf(group, 200);
      const replies = await Promise.all(
        Array.from({ length: size }, (_, n) => send(n, product, 7, key)),
      );
      expect(replies.map(({ status }) => status)).toEqual(Array(size).fill(201));
      expect(new Set(replies.map(operationOf)).size).toBe(1);
      const isReplay = ({ headers }: Reply) => headers['idempotent-replayed'] === 'true';
      expect(replies.filter(isReplay)).toHaveLength(size - 1);
      expect(await movementsOf(product)).toBe(1);
    }
  });

  test('up to 50 with one key and as many bodies have one winner; the others are 409', async () => {
    for (let group = 0; group < groups; group += 1) {
      const product = await environment.product();
      const key = newKey();
      const size = sizeOf(group, 50);
      const replies = await Promise.all(
        Array.from({ length: size }, (_, n) => send(n, product, n + 1, key)),
      );
      const winners = replies.flatMap(({ status }, n) => (status === 201 ? [n] : []));
      const [winner = 0] = winners;
      expect(winners).toEqual([winner]);
      expect(replies.filter(({ status }) => status === 409)).toHaveLength(size - 1);
      const again = await send(winner + 1, product, winner + 1, key);
      const first = replies[winner];
      expect([again.status, operationOf(again)]).toEqual([201, first && operationOf(first)]);
      expect(await movementsOf(product)).toBe(1);
    }
  });

  test('ten first writes of a level make one row and a chain of ten', async () => {
    for (let group = 0; group < groups; group += 1) {
      const product = await environment.product();
      const replies = await Promise.all(
        Array.from({ length: 10 }, (_, n) => send(n, product, n + 1, newKey())),
      );
      expect(replies.map(({ status }) => status)).toEqual(Array(10).fill(201));
      const [level] = await environment.db.sql(
        `select count(*)::int as levels, max(sequence)::int as sequence
         from inventory_levels where product_id = $1`,
        [product],
      );
      expect(level).toEqual({ levels: 1, sequence: 10 });
      expect(await movementsOf(product)).toBe(10);
    }
  });
});

test('after all of this the ledger is sound, and no key has two operations', () =>
  environment.verify());
