// Several nodes on one database, as processes of their own: one of them ends, and what is a copy
// calls nobody.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../test/kit/database.ts';
import { startEnvironment } from '../../test/kit/environment.ts';
import { Given } from '../../test/kit/given.ts';
import { freePort } from '../../test/kit/port.ts';
import { type ServiceProcess, startProcess } from '../../test/kit/process.ts';
import { Receiver } from '../../test/kit/receiver.ts';
import { Shop } from '../../test/kit/shop.ts';

let db: TestDatabase;
let given: Given;
let receiver: Receiver;
const nodes: ServiceProcess[] = [];
const env = { TALLYBOOK_WEBHOOK_ALLOW: '127.0.0.1' };

beforeAll(async () => {
  db = await createTestDatabase();
  given = new Given(db);
});
afterAll(() => db.drop());
beforeEach(async () => {
  receiver = await Receiver.listen();
});
afterEach(async () => {
  for (const node of nodes.splice(0)) await node.end('SIGKILL');
  receiver.close();
});

async function node(more: Readonly<Record<string, string>> = {}): Promise<ServiceProcess> {
  const started = await startProcess(db, { ...env, ...more });
  nodes.push(started);
  return started;
}

async function holders({ merchant }: Shop): Promise<string[]> {
  const rows = await db.sql<{ lease_holder: string }>(
    `select distinct lease_holder from webhook_progress
     where merchant_id = $1 and lease_ends_at > now()`,
    [merchant],
  );
  return rows.map((row) => row.lease_holder);
}

const allOf = (positions: readonly number[]) => (one: Receiver) =>
  positions.every((position) => one.counts().has(position));

describe('nodes', () => {
  test('deliver what others commit within a second, and each event once', async () => {
    const [a, b] = [await node(), await node()];
    const shop = await Shop.open({ db, given, api: a.api });
    await shop.hook(receiver);
    const first = await shop.customer();
    await receiver.until(1);
    const second = await shop.as(b.api).customer();
    const third = await shop.customer();
    await receiver.until(3, 1_500);
    expect(receiver.positions()).toEqual([first, second, third]);
    const rest = [...(await shop.customers(100)), ...(await shop.as(b.api).customers(100))];
    await receiver.until(allOf(rest));
    expect(receiver.calls).toHaveLength(203);
  });

  test('go on within 15 s with the webhooks of one that was killed, and lose nothing', async () => {
    const [a, b] = [await node(), await node()];
    const shop = await Shop.open({ db, given, api: a.api });
    const ids = await Promise.all([1, 2, 3].map(() => shop.hook(receiver)));
    const there = shop.as(b.api);
    let isOver = false;
    const written: number[] = [];
    const writing = (async () => {
      while (!isOver) written.push(await there.customer());
    })();
    await receiver.until(60);
    expect(await holders(shop)).not.toEqual([]);
    await a.end('SIGKILL');
    // The other one may have had them: then it is ended as well, and a third one goes on.
    const killedAt = performance.now();
    const c = await node();
    await b.api.get('/healthz');
    isOver = true;
    await writing;
    await b.end('SIGKILL');
    const last = await shop.as(c.api).customer();
    const isWhole = (one: Receiver) =>
      [...written, last].every((position) => (one.counts().get(position) ?? 0) >= ids.length);
    await receiver.until(isWhole, 15_000);
    expect(performance.now() - killedAt).toBeLessThan(20_000);
    for (const id of ids) await shop.as(c.api).untilWebhook(id, { position: String(last) });
    expect(receiver.positions()).toEqual([...written, last]);
  });

  test('that stop give their webhooks to others at once', async () => {
    const a = await node();
    const shop = await Shop.open({ db, given, api: a.api });
    await shop.hook(receiver);
    await shop.customers(20);
    await receiver.until(20);
    const b = await node();
    const ended = performance.now();
    expect(await a.end('SIGTERM')).toBe(0);
    expect(await holders(shop)).toEqual([]);
    const position = await shop.as(b.api).customer();
    await receiver.until(allOf([position]), 2_000);
    expect(performance.now() - ended).toBeLessThan(5_000);
    expect(receiver.calls).toHaveLength(21);
  });

  test('end within ten seconds while a receiver hangs, and what was cut comes again', async () => {
    const a = await node();
    const shop = await Shop.open({ db, given, api: a.api });
    const id = await shop.hook(receiver);
    receiver.answer = () => undefined;
    const position = await shop.customer();
    await receiver.until(1);
    const begun = performance.now();
    expect(await a.end('SIGTERM')).toBe(0);
    expect(performance.now() - begun).toBeLessThan(10_000);
    receiver.answer = 204;
    const b = await node();
    await receiver.until(2);
    expect(receiver.positions()).toEqual([position]);
    await shop.as(b.api).untilWebhook(id, { position: String(position), failing_since: null });
  });

  test('tell their operator of a webhook that is paused, and of none of its secrets', async () => {
    const port = await freePort();
    const a = await node({ TALLYBOOK_METRICS_PORT: String(port) });
    const shop = await Shop.open({ db, given, api: a.api });
    const url = `${receiver.url}?password=canary4711`;
    receiver.answer = 410;
    const id = await shop.hook({ url });
    await shop.customer();
    await shop.untilWebhook(id, { status: 'paused', pause_reason: 'receiver_gone' });
    const { merchant: merchantId } = shop;
    const line = { level: 'warn', merchantId, webhookId: id, reason: 'receiver_gone' };
    await expect.poll(() => a.log()).toContain('paused a webhook');
    const lines = a.log().trim().split('\n');
    const said = lines.map((one) => JSON.parse(one)).find(({ webhookId }) => webhookId === id);
    expect(said).toEqual({ ...line, time: expect.any(String), msg: 'paused a webhook' });
    expect(a.log()).not.toContain('canary4711');
    const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    expect(metrics).toContain('tallybook_webhooks_paused{reason="receiver_gone"} 1');
    expect(metrics).toContain('tallybook_webhook_deliveries_total{outcome="status"} 1');
    expect(metrics).toMatch(/^tallybook_webhook_retries_waiting \d+$/m);
    expect(metrics).toMatch(/^tallybook_webhook_lag_positions \d+$/m);
  });

  test('with TALLYBOOK_WEBHOOKS=off call nobody', async () => {
    const off = await node({ TALLYBOOK_WEBHOOKS: 'off' });
    const shop = await Shop.open({ db, given, api: off.api });
    const id = await shop.hook(receiver);
    const positions = await shop.customers(3);
    expect(await shop.webhook(id)).toMatchObject({ status: 'active' });
    const on = await node();
    await receiver.until(allOf(positions));
    expect(await holders(shop)).toHaveLength(1);
    expect(off.log()).not.toContain('whk_');
    expect(on.api).toBeDefined();
  });
});

test('a dump that is loaded into another database calls nobody until it is resumed', async () => {
  const service = await startEnvironment();
  const shop = await Shop.open(service);
  const id = await shop.hook(receiver);
  // As it is in a dump: how far it came was saved by another database.
  await service.db.sql(`update webhook_progress set saved_on = '1/1' where webhook_id = $1`, [id]);
  const delivery = service.service.deliver();
  const position = await shop.customer();
  await shop.untilWebhook(id, { status: 'paused', pause_reason: 'copied' });
  expect(receiver.calls).toEqual([]);
  await shop.change(id, { status: 'active' });
  await receiver.until(1);
  expect(receiver.positions()).toEqual([position]);
  await delivery.stop(0);
  await service.stop();
});
