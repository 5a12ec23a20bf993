// What becomes of calls that fail. The clock that retries wait by is moved by the test; everything
// else takes its time.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Environment, startEnvironment } from '../../test/kit/environment.ts';
import { type Received, Receiver } from '../../test/kit/receiver.ts';
import { Shop } from '../../test/kit/shop.ts';
import { limits } from '../core/limits.ts';
import type { Deliveries } from './deliveries.ts';

let service: Environment;
let delivery: Deliveries;
let shop: Shop;
let receiver: Receiver;
/** How much later it is by the clock of retries. */
let ahead = 0;
const pauses: object[] = [];

beforeAll(async () => {
  service = await startEnvironment();
  delivery = service.service.deliver({
    now: () => Date.now() + ahead,
    onPause: (pause) => pauses.push(pause),
  });
});
afterAll(async () => {
  await delivery.stop(0);
  await service.stop();
});
beforeEach(async () => {
  ahead = 0;
  shop = await Shop.open(service);
  receiver = await Receiver.listen();
});
afterEach(() => receiver.close());

const second = 1_000;
const hour = 3_600 * second;
const waits = [5, 30, 120, 600, 3_600, 10_800, 21_600, 43_200, 86_400, 86_400];

/** Answers some positions with a status, and all others well. */
function failing(status: number, isFailing: (position: number) => boolean) {
  receiver.answer = (_, response, { position }: Received) => {
    response.writeHead(isFailing(position) ? status : 204).end();
  };
}

/** Waits until all webhooks were looked at: another was served, and how far it came is saved. */
async function pass(): Promise<void> {
  const other = await Shop.open(service);
  const receiving = await Receiver.listen();
  const id = await other.hook(receiving);
  for (const position of [1, 2]) {
    await other.customer();
    await other.untilWebhook(id, { position: String(position) });
  }
  receiving.close();
}

const callsOf = (position: number) =>
  receiver.calls.filter((one) => one.position === position).length;

/** Moves the clock to where the first failure is due, and waits until it was tried so often. */
async function retry(id: string, position: number, tries: number): Promise<void> {
  const { failures } = await shop.deliveries(id);
  const one = failures.find(
    (failure: { position: string }) => Number(failure.position) === position,
  );
  ahead = Math.max(ahead, Date.parse(one.next_at) - Date.now());
  await receiver.until(() => callsOf(position) >= tries);
}

describe('an event that cannot be delivered', () => {
  test('is tried again by itself while later ones go on', async () => {
    const id = await shop.hook(receiver);
    failing(500, (position) => position === 2);
    await shop.customers(20);
    await receiver.until(20);
    await shop.untilWebhook(id, { position: '20' });
    await shop.untilFailures(id, [{ position: '2', tries: 1, status: 500, failure: 'status' }]);
    expect(callsOf(2)).toBe(1);
    await retry(id, 2, 2);
    await shop.untilFailures(id, [{ position: '2', tries: 2 }]);
    failing(500, () => false);
    await retry(id, 2, 3);
    await shop.untilFailures(id, []);
    await shop.untilWebhook(id, { status: 'active', failing_since: null, last_status: 204 });
    expect(receiver.calls).toHaveLength(22);
    const ids = receiver.calls.filter((one) => one.position === 2).map((one) => one.id);
    expect(new Set(ids).size).toBe(1);
  });

  test('waits longer each time, then pauses the webhook; redelivery goes on', async () => {
    const id = await shop.hook(receiver);
    failing(503, (position) => position === 1);
    await shop.customers(3);
    for (const [index, wait] of waits.entries()) {
      const tries = index + 1;
      await shop.untilFailures(id, [{ position: '1', tries }]);
      const [{ next_at, at }] = (await shop.deliveries(id)).failures;
      const waited = Date.parse(next_at) - Date.parse(at);
      expect(waited).toBeGreaterThanOrEqual(wait * second);
      expect(waited).toBeLessThanOrEqual(wait * second * 1.2 + second);
      await retry(id, 1, tries + 1);
    }
    const reason = 'retries_ended';
    await shop.untilWebhook(id, { status: 'paused', pause_reason: reason, last_status: 503 });
    expect(pauses).toContainEqual({ merchant: shop.merchant, webhook: id, reason });
    ahead += 1_000 * hour;
    const position = await shop.customer();
    await shop.untilFailures(id, [{ position: '1', tries: 11, next_at: null }]);
    expect(callsOf(1)).toBe(11);
    expect(callsOf(position)).toBe(0);
    failing(503, () => false);
    await shop.redeliver(id, '0');
    await receiver.until(() => callsOf(position) === 1);
    await shop.untilWebhook(id, { status: 'active', position: '4' });
    expect([callsOf(1), callsOf(2)]).toEqual([12, 2]);
  });

  test('is tried again at once when its webhook is resumed', async () => {
    const id = await shop.hook(receiver);
    failing(500, () => true);
    await shop.customers(3);
    await shop.untilFailures(id, [{ tries: 1 }, { tries: 1 }, { tries: 1 }]);
    await shop.change(id, { status: 'paused' });
    const position = await shop.customer();
    failing(500, () => false);
    await shop.change(id, { status: 'active' });
    await receiver.until(7);
    await shop.untilFailures(id, []);
    await shop.untilWebhook(id, { position: String(position) });
    expect([...receiver.counts().values()]).toEqual([2, 2, 2, 1]);
  });

  test('is not tried again once its credential may not read it any more', async () => {
    const id = await shop.hook(receiver);
    failing(500, () => true);
    await shop.customers(2);
    await shop.untilFailures(id, [{ tries: 1 }, { tries: 1 }]);
    await service.db.sql('update credentials set scopes = $2 where id = $1', [
      shop.credential,
      ['webhooks.write', 'webhooks.read', 'products.read'],
    ]);
    ahead = 10 * second;
    await shop.untilFailures(id, []);
    expect(receiver.calls).toHaveLength(2);
  });

  test('is tried again after five seconds by the clock of the machine', async () => {
    const other = await startEnvironment({ db: undefined });
    const running = other.service.deliver();
    const there = await Shop.open(other);
    receiver.answer = (_, response) => {
      response.writeHead(receiver.calls.length === 1 ? 500 : 204).end();
    };
    await there.hook(receiver);
    await there.customer();
    await receiver.until(2, 15_000);
    const [first, next] = receiver.calls;
    const waited = (next?.at ?? 0) - (first?.at ?? 0);
    expect(waited).toBeGreaterThanOrEqual(5_000);
    expect(waited).toBeLessThan(9_000);
    await running.stop(0);
    await other.stop();
  });
});

describe('a receiver', () => {
  test('that is gone (410) pauses its webhook at once, and nothing is dropped', async () => {
    const id = await shop.hook(receiver);
    failing(410, () => true);
    await shop.customers(40);
    await shop.untilWebhook(id, {
      ...{ status: 'paused', pause_reason: 'receiver_gone', last_status: 410 },
    });
    const asked = receiver.calls.length;
    expect(asked).toBeLessThanOrEqual(limits.webhookCallsMax);
    await shop.customer();
    failing(410, () => false);
    await shop.change(id, { status: 'active' });
    await receiver.until((one) => one.positions().length === 41);
    await shop.untilWebhook(id, { position: '41', failing_since: null });
    await shop.untilFailures(id, []);
    expect(receiver.positions()).toEqual(Array.from({ length: 41 }, (_, n) => n + 1));
  });

  test('that fails for long gets one probe for each wait, and then everything', async () => {
    const id = await shop.hook(receiver);
    failing(500, () => true);
    await shop.customers(130);
    const full = Array.from({ length: 100 }, () => ({ tries: 1 }));
    await shop.untilFailures(id, full, 30_000);
    const { failures, attempts } = await shop.deliveries(id);
    expect([failures.length, attempts.length]).toEqual([100, 100]);
    expect(receiver.calls).toHaveLength(100);
    const [first] = failures;
    const position = Number(first.position);
    for (const tries of [2, 3, 4]) {
      await retry(id, position, tries);
      await shop.untilFailures(id, [{ tries }, ...full.slice(1)]);
      // All others are due as well.
      ahead += 9 * second;
      await pass();
      expect(receiver.calls).toHaveLength(100 + tries - 1);
    }
    failing(500, () => false);
    await retry(id, position, 5);
    await receiver.until((one) => one.positions().length === 130, 30_000);
    await shop.untilWebhook(id, { position: '130', failing_since: null });
    await shop.untilFailures(id, []);
    expect(receiver.positions()).toEqual(Array.from({ length: 130 }, (_, n) => n + 1));
    expect(callsOf(130)).toBe(1);
  });
});

describe('a change while calls are under way', () => {
  test('counts: what they would save is nobody else’s any more', async () => {
    const id = await shop.hook(receiver);
    const held: (() => void)[] = [];
    receiver.answer = (_, response) => held.push(() => response.writeHead(204).end());
    await shop.customers(2);
    await receiver.until(2);
    await shop.redeliver(id, '0');
    await receiver.until(4);
    receiver.answer = 204;
    const [one, two, ...others] = held;
    for (const end of others) end();
    await shop.untilWebhook(id, { position: '2' });
    const { journal } = await shop.webhook(id);
    await shop.change(id, { status: 'paused', from_position: '1', journal });
    // What was sent before comes to its end only now.
    one?.();
    two?.();
    await pass();
    expect(await shop.webhook(id)).toMatchObject({ status: 'paused', position: '1' });
    expect((await shop.deliveries(id)).failures).toEqual([]);
  });

  test('a webhook that was paused is called no more', async () => {
    const id = await shop.hook(receiver);
    await shop.customers(3);
    await receiver.until(3);
    await shop.untilWebhook(id, { position: '3' });
    await shop.change(id, { status: 'paused' });
    await shop.customers(5);
    await pass();
    expect(receiver.calls).toHaveLength(3);
    await shop.change(id, { status: 'active' });
    await receiver.until(8);
    expect(receiver.positions()).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });
});
