// What receivers get, and what they do not: the service and the receivers are real.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Environment, startEnvironment, startNode } from '../../test/kit/environment.ts';
import { type Received, Receiver, verified } from '../../test/kit/receiver.ts';
import { Shop } from '../../test/kit/shop.ts';
import { limits } from '../core/limits.ts';
import type { Deliveries } from './deliveries.ts';

let service: Environment;
let delivery: Deliveries;
let shop: Shop;
let receiver: Receiver;
const pauses: object[] = [];

beforeAll(async () => {
  service = await startEnvironment();
  delivery = service.service.deliver({ onPause: (pause) => pauses.push(pause) });
});
afterAll(async () => {
  await delivery.stop(0);
  await service.stop();
});
beforeEach(async () => {
  shop = await Shop.open(service);
  receiver = await Receiver.listen();
});
afterEach(() => receiver.close());

async function firstCall(): Promise<Received> {
  await receiver.until(1);
  const [call] = receiver.calls;
  if (call === undefined) throw new Error('nothing came');
  return call;
}

const product = async () => (await shop.made('/products', { name: 'Flour' })).data.id;
const location = async () => (await shop.made('/locations', { name: 'Main Street' })).data.id;

async function adjusted(product_id: string, location_id: string, quantity: number) {
  const body = { product_id, location_id, target_quantity: String(quantity) };
  const made = await shop.made('/inventory/adjustments', { ...body, reason: 'correction' });
  return Number(made.meta.position);
}

/** One more event, behind all that were made: when it is there, so is what shall come. */
async function last(make: () => Promise<number> = () => shop.customer()): Promise<number> {
  const position = await make();
  await receiver.until(({ calls }) => calls.some((one) => one.position === position));
  return position;
}

describe('an event', () => {
  test('is sent as the feed shows it, signed so that the library verifies it', async () => {
    const id = await shop.hook(receiver);
    await shop.customer();
    const call = await firstCall();
    const feed = await shop.api.get('/events');
    expect(call.event).toEqual(feed.body.data[0]);
    expect(call.id).toBe(call.event.id);
    expect(call.headers).toMatchObject({ 'content-type': 'application/json' });
    const [secret = ''] = await shop.secrets(id);
    expect(verified(call, secret)).toEqual(call.event);
    expect(() => verified({ ...call, text: `${call.text} ` }, secret)).toThrow();
    expect(() =>
      verified({ ...call, headers: { ...call.headers, 'webhook-id': 'evt_1' } }, secret),
    ).toThrow();
  });

  test('comes at least once, whichever order, and what came is told', async () => {
    const id = await shop.hook(receiver);
    const positions = await shop.customers(300);
    await receiver.until((one) => one.positions().length === 300);
    expect(receiver.positions()).toEqual(positions);
    await shop.untilWebhook(id, { position: '300', last_status: 204, failing_since: null });
    const { failures, attempts } = await shop.deliveries(id);
    expect(failures).toEqual([]);
    expect(attempts).toHaveLength(limits.webhookAttemptsKept);
    const [newest] = attempts;
    expect(newest).toMatchObject({ status: 204, failure: null });
    // Nothing failed and nobody stopped: then once is enough.
    expect(receiver.calls).toHaveLength(300);
  });

  test('of a record shows what that is when it is sent', async () => {
    const made = await shop.made('/customers', { name: 'Ada', email: 'ada@example.com' });
    await shop.api.patch(`/customers/${made.data.id}`, { name: 'Grace' });
    await shop.hook(receiver, { from_position: '0' });
    await receiver.until(2);
    const names = receiver.calls.map(({ event }) => event.data.name);
    expect(names).toEqual(['Grace', 'Grace']);
  });

  test('comes only if it is of a type and at a location that the webhook names', async () => {
    const [flour, here, there] = [await product(), await location(), await location()];
    const body = { types: ['inventory.adjusted', 'customer.created'], location_ids: [here] };
    await shop.hook(receiver, body);
    await adjusted(flour, there, 1);
    await shop.customer();
    const wanted = await adjusted(flour, here, 1);
    await adjusted(flour, there, 2);
    const next = await last(() => adjusted(flour, here, 2));
    expect(receiver.positions()).toEqual([wanted, next]);
  });

  test('comes only if something runs out, where the webhook asks for that', async () => {
    const { id: flour } = (await shop.made('/products', { name: 'Rye', low_stock_at: '5' })).data;
    const [here, there] = [await location(), await location()];
    const hook = await shop.hook(receiver, { low_stock: true, location_ids: [here] });
    await adjusted(flour, here, 9);
    await adjusted(flour, there, 9);
    await adjusted(flour, there, 5);
    await shop.customer();
    const wanted = await adjusted(flour, here, 5);
    await adjusted(flour, here, 4);
    await adjusted(flour, here, 6);
    const next = await last(() => adjusted(flour, here, 3));
    expect(receiver.positions()).toEqual([wanted, next]);
    const lows = receiver.calls.map(({ event }) => event.data.low_stock);
    const low = { product_id: flour, location_id: here, low_stock_at: '5' };
    expect(lows).toEqual([
      [{ ...low, available_quantity: '5' }],
      [{ ...low, available_quantity: '3' }],
    ]);
    // Until then a change has all chosen anew, from where it was kept last.
    await shop.untilWebhook(hook, { position: String(next) });
    await shop.change(hook, { low_stock: null });
    expect(await shop.webhook(hook)).toMatchObject({ low_stock: false, location_ids: [here] });
    const all = await last(() => adjusted(flour, here, 2));
    expect(receiver.positions()).toEqual([wanted, next, all]);
  });

  test('of an upsert comes as what it was: of a new record, or of one that was there', async () => {
    await shop.hook(receiver, { types: ['product.created'] });
    const upsert = async (id: string, name: string) => {
      const answer = await shop.api.patch(`/products?external_id=${id}`, { name });
      return Number(answer.body.meta.position);
    };
    const made = await upsert('one', 'Flour');
    await upsert('one', 'Rye');
    await upsert('one', 'Rye');
    const other = await last(() => upsert('two', 'Oats'));
    expect(receiver.positions()).toEqual([made, other]);
    const types = receiver.calls.map(({ event }) => event.type);
    expect(types).toEqual(['product.created', 'product.created']);
  });

  test('goes to each webhook of a merchant, and to those of no other', async () => {
    const other = await Shop.open(service);
    const others = await Receiver.listen();
    await other.hook(others);
    await shop.hook(receiver);
    await shop.hook(receiver);
    await shop.customers(5);
    await receiver.until(10);
    await other.customer();
    await others.until(1);
    expect([...receiver.counts().values()]).toEqual([2, 2, 2, 2, 2]);
    expect(others.calls).toHaveLength(1);
    others.close();
  });
});

describe('what the credential may read', () => {
  const grant = (column: string, value: unknown) =>
    service.db.sql(`update credentials set ${column} = $2 where id = $1`, [shop.credential, value]);

  test('counts at each delivery: a grant that is narrowed cuts the next one', async () => {
    const [flour, here, there] = [await product(), await location(), await location()];
    await shop.hook(receiver);
    const before = await adjusted(flour, there, 1);
    await receiver.until(1);
    await service.db.sql(
      'update credentials set all_locations = false, location_ids = $2 where id = $1',
      [shop.credential, [here]],
    );
    const owner = service.api.as((await service.given.credential(shop.merchant)).token);
    const adjust = async (location_id: string, target_quantity: string) => {
      const body = { product_id: flour, location_id, target_quantity, reason: 'correction' };
      return Number((await owner.post('/inventory/adjustments', body)).body.meta.position);
    };
    await adjust(there, '2');
    const wanted = await adjust(here, '1');
    await receiver.until(2);
    expect(receiver.positions()).toEqual([before, wanted]);
  });

  test('a scope that was taken away ends the events of its resource', async () => {
    const id = await shop.hook(receiver, { from_position: '0' });
    await last();
    await grant('scopes', ['products.read', 'products.write', 'webhooks.write']);
    const owner = service.api.as((await service.given.credential(shop.merchant)).token);
    await owner.post('/customers', { name: 'Ada', email: 'ada2@example.com' });
    const made = await owner.post('/products', { name: 'Flour' });
    const position = Number(made.body.meta.position);
    await receiver.until(({ calls }) => calls.some((one) => one.position === position));
    expect(receiver.calls.map(({ event }) => event.type)).toEqual([
      'customer.created',
      'product.created',
    ]);
    expect(id).toMatch(/^whk_/);
  });

  test('nothing committed after a revocation is sent, and the webhook says why', async () => {
    const id = await shop.hook(receiver);
    const owner = service.api.as((await service.given.credential(shop.merchant)).token);
    const write = async () => {
      const answer = await owner.post('/products', { name: 'Flour' });
      return Number(answer.body.meta.position);
    };
    let isOver = false;
    const written: number[] = [];
    const writing = (async () => {
      while (!isOver) written.push(await write());
    })();
    await receiver.until(20);
    await grant('revoked_at', new Date());
    const revoked = written.length + 1;
    const [row] = await service.db.sql<{ end: number }>(
      'select max(position) as end from operations where merchant_id = $1',
      [shop.merchant],
    );
    await expect
      .poll(() => pauses)
      .toContainEqual({ merchant: shop.merchant, webhook: id, reason: 'credential_ended' });
    isOver = true;
    await writing;
    expect(written.length).toBeGreaterThanOrEqual(revoked);
    expect(Math.max(...receiver.positions())).toBeLessThanOrEqual(Number(row?.end));
  });

  test('a webhook ends with the last token of a credential', async () => {
    const id = await shop.hook(receiver);
    await last();
    await service.db.sql(
      'update credential_tokens set expires_at = now() where credential_id = $1',
      [shop.credential],
    );
    const { token } = await service.given.credential(shop.merchant);
    await service.api.as(token).post('/products', { name: 'Flour' });
    const paused = { merchant: shop.merchant, webhook: id, reason: 'credential_ended' };
    await expect.poll(() => pauses).toContainEqual(paused);
    expect(receiver.calls).toHaveLength(1);
  });
});

describe('secrets', () => {
  test('while one is replaced, both sign', async () => {
    const id = await shop.hook(receiver);
    await last();
    const [old = ''] = await shop.secrets(id);
    await shop.api.patch(`/webhooks/${id}`, { rotate_secret: true });
    await last();
    const [first, second] = receiver.calls;
    if (first === undefined || second === undefined) throw new Error('nothing came');
    const secrets = await shop.secrets(id);
    expect(secrets).toHaveLength(2);
    for (const secret of secrets) expect(verified(second, secret)).toEqual(second.event);
    expect(verified(first, old)).toEqual(first.event);
    expect(() => verified(first, secrets[0] ?? '')).toThrow();
    await service.db.sql('update webhooks set old_secret_ends_at = now() where id = $1', [id]);
    const position = await last();
    const third = receiver.calls.find((one) => one.position === position);
    if (third === undefined) throw new Error('nothing came');
    expect(() => verified(third, old)).toThrow();
    expect(verified(third, secrets[0] ?? '')).toEqual(third.event);
  });

  test('one that cannot be opened pauses its webhook, and a rotation helps', async () => {
    const strange = await startNode(service.db.serviceUrl, undefined, undefined, 'another secret');
    const there = shop.as(strange.api);
    const id = await there.hook(receiver);
    const position = await shop.customer();
    await shop.untilWebhook(id, { status: 'paused', pause_reason: 'secret_unreadable' });
    expect(receiver.calls).toEqual([]);
    expect((await shop.api.get(`/webhooks/${id}/secret`)).status).not.toBe(200);
    await shop.api.patch(`/webhooks/${id}`, { rotate_secret: true, status: 'active' });
    await receiver.until(1);
    expect(receiver.positions()).toEqual([position]);
    await strange.stop();
  });
});
