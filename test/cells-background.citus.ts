// What a service does by itself, and what it reads of the past, while a cell moves to another
// server: all of it goes on. It needs a cluster: see vitest.citus.config.ts.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { addressOf } from '../src/database/citus.ts';
import { moveCell } from '../src/database/cluster.ts';
import { homeCell } from './kit/cells.ts';
import { placesOf } from './kit/citus.ts';
import { withoutLimits } from './kit/database.ts';
import { later } from './kit/database-clock.ts';
import { type Environment, startEnvironment } from './kit/environment.ts';
import { Receiver } from './kit/receiver.ts';
import { Shop } from './kit/shop.ts';

let service: Environment;
let shop: Shop;
let receiver: Receiver;
let hook: string;
let levels: string;
let stop: () => Promise<unknown>;
const errors: unknown[] = [];
const positions: number[] = [];
const reservations: string[] = [];
/** What the past was read as, and with which status. */
const seen: (readonly [status: number, quantity: string | undefined])[] = [];

beforeAll(async () => {
  service = await startEnvironment();
  await withoutLimits(service.db);
  const delivery = service.service.deliver({ onPause: (pause) => errors.push(pause) });
  const sweep = service.service.sweep((error) => errors.push(error));
  stop = () => Promise.all([delivery.stop(0), sweep.stop()]);
  shop = await Shop.open(service);
  receiver = await Receiver.listen();
  hook = await shop.hook(receiver, { types: ['customer.created'] });
  const made = async (path: string) => (await shop.made(path, { name: 'Of a shop' })).data.id;
  const pair = { product_id: await made('/products'), location_id: await made('/locations') };
  const set = (target_quantity: string) =>
    shop.made('/inventory/adjustments', { ...pair, target_quantity, reason: 'correction' });
  const past = (await set('7')).meta;
  await set('9000');
  levels = `/inventory/levels?location_id=${pair.location_id}`;
  const asOf = `${levels}&as_of_position=${past.position}&journal=${past.journal}`;
  await whileMoving(async () => {
    positions.push(await shop.customer());
    const { status, body } = await shop.api.get(asOf);
    seen.push([status, body.data?.[0]?.quantity]);
    const line = { product_id: pair.product_id, quantity: '1' };
    const reserved = await shop.made('/inventory/reservations', {
      ...{ location_id: pair.location_id, lines: [line] },
      // Longer than a write waits for the end of a move: what ends in the past is refused.
      expires_at: await later(service.db, 5_000),
    });
    reservations.push(reserved.data.id);
  });
  positions.push(await shop.customer());
});
afterAll(async () => {
  await stop();
  receiver.close();
  await service.stop();
});

/** Works until the cell is on the other worker. */
async function whileMoving(work: () => Promise<void>): Promise<void> {
  const { ownerUrl } = service.db;
  const { there } = await placesOf(ownerUrl, homeCell);
  let isOver = false;
  const moving = moveCell(ownerUrl, homeCell, addressOf(there), async () => undefined).finally(
    () => {
      isOver = true;
    },
  );
  while (!isOver) await work();
  await moving;
  expect((await placesOf(ownerUrl, homeCell)).here).toMatchObject({ port: there.port });
}

test('webhooks are called with every event, and are not paused', async () => {
  await receiver.until((one) => one.positions().length === positions.length, 60_000);
  expect(receiver.positions()).toEqual(positions);
  // Reservations that expire meanwhile take it further.
  const position = expect.toSatisfy((place) => Number(place) >= (positions.at(-1) ?? 0));
  await shop.untilWebhook(hook, { status: 'active', position, last_status: 204 }, 60_000);
});

test('reservations expire, each once, and what they held is available', async () => {
  const path = (id = '') => `/inventory/reservations/${id}`;
  const ended = async () => {
    const all = await Promise.all(reservations.map((id) => shop.api.get(path(id))));
    return all.filter(({ body }) => body.data.ended_at !== null).length;
  };
  await expect.poll(ended).toBe(reservations.length);
  const [told] = await service.db.sql<{ all: string; different: string }>(
    `select count(*) as all, count(distinct resource_id) as different from operations
     where merchant_id = $1 and type = 'inventory.expire' and status = 'succeeded'`,
    [shop.merchant],
  );
  const count = String(reservations.length);
  expect(told).toEqual({ all: count, different: count });
  const { body } = await shop.api.get(levels);
  expect(body.data).toMatchObject([{ reserved_quantity: '0', available_quantity: '9000' }]);
  expect(errors).toEqual([]);
});

test('the past is read as it was, by every request', () => {
  expect(new Set(seen.map(String))).toEqual(new Set(['200,7']));
});
