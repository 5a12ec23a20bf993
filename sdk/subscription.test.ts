import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Environment, startEnvironment } from '../test/kit/environment.ts';
import { FaultProxy, pass } from '../test/kit/fault-proxy.ts';
import { Shop } from '../test/kit/shop.ts';
import { AuthenticationError, RequestError, Tallybook } from './main.ts';
import type { SubscribeOptions } from './subscription.ts';

let service: Environment;
let proxy: FaultProxy;
let shop: Shop;
let tb: Tallybook;

beforeAll(async () => {
  service = await startEnvironment();
  proxy = await FaultProxy.listen(service.api.origin);
});
afterAll(async () => {
  proxy.close();
  await service.stop();
});
beforeEach(async () => {
  proxy.fateOf = () => pass;
  shop = await Shop.open(service);
  tb = new Tallybook({ baseUrl: proxy.baseUrl, token: shop.api.token ?? '' });
});

/** So many events, and the subscription they came from. */
async function take(count: number, options: SubscribeOptions = {}) {
  const feed = tb.events.subscribe(options);
  const positions: number[] = [];
  for await (const event of feed) {
    expect(feed.position).toBe(event.position);
    positions.push(Number(event.position));
    if (positions.length === count) break;
  }
  return { feed, positions };
}

test('a subscription gives each event once and in order, and those that come later', async () => {
  const before = await shop.customers(3);
  const taken = take(5);
  const after = await shop.customers(2);
  expect((await taken).positions).toEqual([...before, ...after]);
});

test('a subscription begins again behind the position that was stored', async () => {
  const positions = await shop.customers(4);
  const { feed } = await take(2);
  const place = { after: feed.position, journal: feed.journal };
  expect((await take(2, place)).positions).toEqual(positions.slice(2));
});

test('a subscription goes on after lost connections and outages', async () => {
  const positions = await shop.customers(3);
  proxy.fateOf = (n) => {
    if (n % 3 === 0) return { kind: 'answer', status: 503 };
    return n % 3 === 1 ? { kind: 'cut answer', after: 500 } : pass;
  };
  expect((await take(3)).positions).toEqual(positions);
});

test('a subscription gives the types that it was asked for, and passes the others by', async () => {
  await shop.customers(2);
  const { id } = (await shop.made('/products', { name: 'Rye' })).data;
  const { feed, positions } = await take(1, { types: ['product.created'] });
  expect(positions).toEqual([3]);
  expect(feed.position).toBe('3');
  const [event] = (await tb.events.list({ type: 'product.created' })).data;
  expect(event?.resource.id).toBe(id);
});

test('a subscription ends with its signal, also while it waits', async () => {
  const signal = AbortSignal.timeout(300);
  const thrown = await take(1, { signal }).catch((error) => error);
  expect(thrown).toBe(signal.reason);
});

test('a subscription ends when it may not read, or its journal is another one now', async () => {
  const nobody = new Tallybook({ baseUrl: proxy.baseUrl, token: 'tb_pat_of_nobody' });
  const next = nobody.events.subscribe()[Symbol.asyncIterator]().next();
  await expect(next).rejects.toBeInstanceOf(AuthenticationError);
  await shop.customer();
  const other = take(1, { after: '1', journal: 'jrn_of_before_the_restore' });
  await expect(other).rejects.toBeInstanceOf(RequestError);
  await expect(other).rejects.toMatchObject({ code: 'journal_mismatch' });
});
