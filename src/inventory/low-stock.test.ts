// What runs out, over HTTP: which writes tell it, and which levels are listed.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, type Api, newKey } from '../../test/kit/api.ts';
import { later, passed } from '../../test/kit/database-clock.ts';
import { type Environment, startEnvironment } from '../../test/kit/environment.ts';
import { ledgerDifferences } from '../../test/kit/ledger.ts';

let service: Environment;
let merchant: string;
let shop: string;
let store: string;
let journal: string;
let api: Api;

beforeAll(async () => {
  service = await startEnvironment();
  merchant = await service.given.merchant();
  shop = await service.given.location(merchant);
  store = await service.given.location(merchant);
  api = service.api.as((await service.given.credential(merchant)).token);
  ({ journal } = (await api.get('/events')).body.meta);
});
afterAll(async () => {
  expect(await ledgerDifferences(service.db)).toEqual([]);
  await service.stop();
});

async function product(low_stock_at: string | null, precision = 0): Promise<string> {
  const unit = { code: 'each', precision };
  const answer = await api.post('/products', { name: 'Flour', unit, low_stock_at });
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body.data.id;
}

async function done(answer: Promise<Answer>): Promise<Answer> {
  const { status, body } = await answer;
  expect(status, JSON.stringify(body)).toBeLessThan(300);
  return answer;
}

const setLow = (id: string, low_stock_at: string | null) =>
  done(api.patch(`/products/${id}`, { low_stock_at }));
const adjust = (product_id: string, target_quantity: string, location_id = shop) =>
  done(
    api.post('/inventory/adjustments', {
      ...{ product_id, location_id, target_quantity },
      reason: 'correction',
    }),
  );
const linesOf = (lines: Record<string, string>) =>
  Object.entries(lines).map(([product_id, quantity]) => ({ product_id, quantity }));
const transfer = (members: object, lines: Record<string, string>) =>
  done(api.post('/inventory/transfers', { ...members, lines: linesOf(lines) }));
const receive = (lines: Record<string, string>, to_location_id = shop) =>
  transfer({ to_location_id, reason: 'receipt' }, lines);
const sell = (lines: Record<string, string>, from_location_id = shop) =>
  transfer({ from_location_id, reason: 'sale' }, lines);
const reserve = (lines: Record<string, string>, expires_at: string | null = null) =>
  done(
    api.post('/inventory/reservations', { location_id: shop, expires_at, lines: linesOf(lines) }),
  );
const count = (lines: Record<string, string>) =>
  done(
    api.post('/inventory/counts', {
      location_id: shop,
      lines: linesOf(lines).map(({ product_id, quantity: counted_quantity }) => ({
        ...{ product_id, counted_quantity },
      })),
    }),
  );

interface Low {
  readonly product_id: string;
  readonly location_id: string;
  readonly available_quantity: string;
  readonly low_stock_at: string;
}

const eventsAt = async (position: string, query = '', as = api) => {
  const behind = `after_position=${BigInt(position) - 1n}&journal=${journal}`;
  const { body } = await as.get(`/events?${behind}${query}&limit=1`);
  return body.data.filter((one: { position: string }) => one.position === position);
};

/** What the event of a write says runs out. The filter finds the event if, and only if, it does. */
async function lowsOf({ body: { meta } }: Answer, as = api): Promise<readonly Low[]> {
  const [event] = await eventsAt(meta.position, '', as);
  const [found] = await eventsAt(meta.position, '&low_stock=true', as);
  expect(found).toEqual(event?.data.low_stock === undefined ? undefined : event);
  return event?.data.low_stock ?? [];
}

const quantities = async (answer: Answer, as = api) =>
  (await lowsOf(answer, as)).map(({ available_quantity, low_stock_at }) => [
    ...[available_quantity, low_stock_at],
  ]);

describe('a level is told to be low', () => {
  test('by the write that takes it from above what is low to that or below, only', async () => {
    const table: readonly (readonly [from: string, to: string, isLow: boolean])[] = [
      ['6', '5', true],
      ['6', '4', true],
      ['6', '0', true],
      ['7', '6', false],
      ['5', '4', false],
      ['4', '0', false],
      ['4', '5', false],
      ['4', '6', false],
      ['0', '5', false],
    ];
    for (const [from, to, isLow] of table) {
      const id = await product(null);
      if (from !== '0') await adjust(id, from);
      await setLow(id, '5');
      const expected = isLow ? [[to, '5']] : [];
      expect(await quantities(await adjust(id, to)), `${from} to ${to}`).toEqual(expected);
    }
  });

  test('again each time, once it was above', async () => {
    const id = await product('5');
    expect(await quantities(await receive({ [id]: '10' }))).toEqual([]);
    for (const _ of [1, 2]) {
      expect(await quantities(await sell({ [id]: '5' }))).toEqual([['5', '5']]);
      expect(await quantities(await sell({ [id]: '1' }))).toEqual([]);
      expect(await quantities(await receive({ [id]: '6' }))).toEqual([]);
    }
  });

  test('to the last decimal, and at 0', async () => {
    const milk = await product('2.5', 3);
    await receive({ [milk]: '2.502' });
    expect(await quantities(await sell({ [milk]: '0.001' }))).toEqual([]);
    expect(await quantities(await sell({ [milk]: '0.001' }))).toEqual([['2.5', '2.5']]);
    const last = await product('0');
    await receive({ [last]: '2' });
    expect(await quantities(await sell({ [last]: '1' }))).toEqual([]);
    expect(await quantities(await sell({ [last]: '1' }))).toEqual([['0', '0']]);
  });

  test('never where nothing is low, and not by a change of what is', async () => {
    const id = await product(null);
    await receive({ [id]: '10' });
    expect(await quantities(await sell({ [id]: '1' }))).toEqual([]);
    const raised = await setLow(id, '20');
    expect((await eventsAt(raised.body.meta.position))[0].data).toMatchObject({
      ...{ id, low_stock_at: '20' },
    });
    expect(await eventsAt(raised.body.meta.position, '&low_stock=true')).toEqual([]);
    expect(await quantities(await sell({ [id]: '1' }))).toEqual([]);
    await setLow(id, '7');
    expect(await quantities(await sell({ [id]: '1' }))).toEqual([['7', '7']]);
    await setLow(id, null);
    await receive({ [id]: '10' });
    expect(await quantities(await sell({ [id]: '17' }))).toEqual([]);
  });

  test('by each kind of write that takes something, with what is available', async () => {
    const low = { product_id: '', location_id: shop, available_quantity: '3', low_stock_at: '5' };
    const takes: Record<string, (id: string) => Promise<Answer>> = {
      adjustment: (id) => adjust(id, '3'),
      sale: (id) => sell({ [id]: '7' }),
      loss: (id) => transfer({ from_location_id: shop, reason: 'loss' }, { [id]: '7' }),
      transfer: (id) =>
        transfer(
          { from_location_id: shop, to_location_id: store, reason: 'transfer' },
          { [id]: '7' },
        ),
      count: (id) => count({ [id]: '3' }),
      reservation: (id) => reserve({ [id]: '7' }),
    };
    for (const [name, take] of Object.entries(takes)) {
      const id = await product('5');
      await receive({ [id]: '10' });
      expect(await lowsOf(await take(id)), name).toEqual([{ ...low, product_id: id }]);
    }
  });

  test('below 0 where what is put aside is not there any more', async () => {
    const id = await product('0');
    await receive({ [id]: '10' });
    expect(await quantities(await reserve({ [id]: '9' }))).toEqual([]);
    expect(await quantities(await count({ [id]: '4' }))).toEqual([['-5', '0']]);
  });

  test('beside what was short, by an offline till', async () => {
    const id = await product('1');
    await receive({ [id]: '2' });
    const answer = await transfer(
      { from_location_id: shop, reason: 'sale', shortage: 'record' },
      { [id]: '3' },
    );
    expect(await quantities(answer)).toEqual([['0', '1']]);
    const [event] = await eventsAt(answer.body.meta.position);
    expect(event.data.short).toMatchObject([{ product_id: id, quantity_short: '1' }]);
  });

  test('not by the end of a reservation, whichever: as much is available, or more', async () => {
    const id = await product('5');
    await receive({ [id]: '10' });
    const fulfilled = await reserve({ [id]: '4' });
    expect(await quantities(fulfilled)).toEqual([]);
    const path = (one: Answer) => `/inventory/reservations/${one.body.data.id}`;
    const taken = await done(api.post(`${path(fulfilled)}/fulfil`, { reason: 'sale' }));
    expect(await quantities(taken)).toEqual([]);
    const released = await reserve({ [id]: '1' });
    expect(await quantities(released)).toEqual([['5', '5']]);
    expect(await quantities(await done(api.post(`${path(released)}/release`, {})))).toEqual([]);
    expect(await quantities(await sell({ [id]: '1' }))).toEqual([['5', '5']]);
  });

  test('again by a sale behind an expiry, which tells nothing itself', async () => {
    const id = await product('5');
    await receive({ [id]: '10' });
    const time = await later(service.db, 700);
    const aside = await reserve({ [id]: '6' }, time);
    expect(await quantities(aside)).toEqual([['4', '5']]);
    expect(await quantities(await sell({ [id]: '1' }))).toEqual([]);
    await passed(service.db, time);
    // Nothing has swept it.
    expect(await quantities(await sell({ [id]: '4' }))).toEqual([['5', '5']]);
    const { id: left } = aside.body.data;
    const { performAsOperator } = service.service;
    await performAsOperator.call(service.service, merchant, 'inventory.expire', {}, { id: left });
    const { body } = await api.get('/events?type=inventory.expired&limit=200');
    expect(body.data.at(-1).resource.id).toBe(left);
    expect(body.data.at(-1).data.low_stock).toBeUndefined();
  });

  test('at each location by itself, line by line', async () => {
    const [flour, milk, bread] = [await product('5'), await product('5'), await product('5')];
    const all = { [flour]: '10', [milk]: '10', [bread]: '10' };
    await receive(all);
    await receive(all, store);
    const answer = await sell({ [flour]: '5', [milk]: '4', [bread]: '6' });
    expect(await lowsOf(answer)).toEqual([
      { product_id: flour, location_id: shop, available_quantity: '5', low_stock_at: '5' },
      { product_id: bread, location_id: shop, available_quantity: '4', low_stock_at: '5' },
    ]);
    expect(await quantities(await sell({ [flour]: '5' }, store))).toEqual([['5', '5']]);
  });

  test('once, of many writes that are decided at once', async () => {
    const ids = await Promise.all(Array.from({ length: 5 }, () => product('5')));
    for (const id of ids) await receive({ [id]: '20' });
    const { body } = await api.get('/events?limit=1&type=customer.created');
    const from = body.meta.through_position;
    const operations = ids.flatMap((product_id) =>
      Array.from({ length: 20 }, () => ({
        type: 'inventory.transfer',
        idempotency_key: newKey(),
        body: {
          ...{ from_location_id: shop, reason: 'sale' },
          lines: [{ product_id, quantity: '1' }],
        },
      })),
    );
    const answer = await api.post('/batches', { operations });
    expect(answer.status).toBe(200);
    const behind = `after_position=${from}&journal=${journal}&limit=200`;
    const feed = await api.get(`/events?low_stock=true&${behind}`);
    const lows = feed.body.data.flatMap(({ data }: { data: { low_stock: Low[] } }) => {
      return data.low_stock;
    });
    expect(lows).toHaveLength(ids.length);
    expect(lows).toEqual(
      expect.arrayContaining(
        ids.map((product_id) => ({
          ...{ product_id, location_id: shop, available_quantity: '5', low_stock_at: '5' },
        })),
      ),
    );
  });

  test('all lines of the largest count, so that each is found by its product', async () => {
    const ids = await Promise.all(Array.from({ length: 60 }, () => product('5')));
    const all = (quantity: string) => Object.fromEntries(ids.map((id) => [id, quantity]));
    await count(all('6'));
    const answer = await count(all('5'));
    expect((await lowsOf(answer)).map(({ product_id }) => product_id)).toEqual(ids);
    const { position } = answer.body.meta;
    expect(await eventsAt(position, `&low_stock=true&product_id=${ids.at(-1)}`)).toHaveLength(1);
  });
});

describe('the feed of what runs out', () => {
  test('shows each caller the entries at its locations, and no event without any', async () => {
    const [flour, milk] = [await product('5'), await product('5')];
    await receive({ [flour]: '10', [milk]: '10' });
    await receive({ [flour]: '10' }, store);
    const moved = await transfer(
      { from_location_id: shop, to_location_id: store, reason: 'transfer' },
      { [flour]: '6', [milk]: '1' },
    );
    const { token } = await service.given.credential(merchant, { locations: [store] });
    const clerk = service.api.as(token);
    expect(await quantities(moved)).toEqual([['4', '5']]);
    expect(await lowsOf(moved, clerk)).toEqual([]);
    const { position } = moved.body.meta;
    // It sees what came, and not what ran out elsewhere.
    expect(await eventsAt(position, '', clerk)).toHaveLength(1);
    const sold = await sell({ [flour]: '11' }, store);
    expect(await quantities(sold, clerk)).toEqual([['5', '5']]);
    const at = (location: string, as = api) =>
      eventsAt(sold.body.meta.position, `&low_stock=true&location_id=${location}`, as);
    expect([await at(store), await at(shop), await at(store, clerk)]).toMatchObject([
      [{ location_ids: [store] }],
      [],
      [{ location_ids: [store] }],
    ]);
    const of = (id: string) => eventsAt(position, `&low_stock=true&product_id=${id}`);
    expect([(await of(flour)).length, (await of(milk)).length]).toEqual([1, 0]);
    const records = await api.get('/events?low_stock=true&type=product.created');
    expect(records.body.data).toEqual([]);
    expect((await api.get('/events?low_stock=false')).code).toBe('invalid_parameter');
  });

  test('wakes whoever waits when something runs out, and not before', async () => {
    const id = await product('5');
    await receive({ [id]: '10' });
    const { body } = await api.get('/events?type=customer.created');
    const from = body.meta.through_position;
    const path = `/events?low_stock=true&wait=8&after_position=${from}&journal=${journal}`;
    const waiting = api.get(path);
    await sell({ [id]: '1' });
    await reserve({ [id]: '1' });
    const sold = await sell({ [id]: '3' });
    const answer = await waiting;
    expect(answer.body.data.map((one: { position: string }) => one.position)).toEqual([
      sold.body.meta.position,
    ]);
  });
});

describe('levels of which little is available', () => {
  const at = `/inventory/levels?low_stock=true&location_id=`;

  async function listed(location: string, filter = '', limit = 3): Promise<string[]> {
    const found: string[] = [];
    for (let cursor = ''; ; ) {
      const page = await api.get(`${at}${location}${filter}&limit=${limit}${cursor}`);
      expect(page.status, JSON.stringify(page.body)).toBe(200);
      found.push(...page.body.data.map((one: Low) => one.product_id));
      if (page.body.meta.next_cursor === undefined) return found;
      cursor = `&cursor=${encodeURIComponent(page.body.meta.next_cursor)}`;
    }
  }

  test('are listed exactly, by product, each as the list of all shows it', async () => {
    const place = await service.given.location(merchant);
    const made = await Promise.all(
      ['0', '5', '5.5', null, '5', '6', '4', '5', '5'].map((low) => product(low, 3)),
    );
    const [empty, low, decimal, none, above, high, reserved, never, archived] = made as [
      ...[string, string, string, string, string, string, string, string, string],
    ];
    await receive(Object.fromEntries(made.map((id) => [id, '5'])), place);
    await sell({ [empty]: '5' }, place);
    await receive({ [above]: '0.001' }, place);
    await done(api.patch(`/products/${archived}`, { status: 'archived' }));
    const aside = { location_id: place, lines: linesOf({ [reserved]: '1' }) };
    await done(api.post('/inventory/reservations', aside));
    const late = await product('5');
    const expected = [empty, low, decimal, high, reserved, never].sort();
    for (const limit of [1, 3, 200]) {
      expect(await listed(place, '', limit)).toEqual(expected);
    }
    expect(await listed(place, `&product_id=${low}&product_id=${above}`)).toEqual([low]);
    expect(await listed(place, `&product_id=${late}&product_id=${none}`)).toEqual([]);
    expect(await listed(place, '&updated_after=2999-01-01T00:00:00Z')).toEqual([]);
    expect(await listed(place, '&updated_after=2020-01-01T00:00:00Z')).toEqual(expected);
    const all = await api.get(`/inventory/levels?location_id=${place}&limit=200`);
    const some = await api.get(`${at}${place}&limit=200`);
    expect(some.body.data).toEqual(
      all.body.data.filter((one: Low) => expected.includes(one.product_id)),
    );
  });

  test('are those of this moment: what has expired is available again', async () => {
    const place = await service.given.location(merchant);
    const id = await product('5');
    await receive({ [id]: '10' }, place);
    expect(await listed(place)).toEqual([]);
    const expires_at = await later(service.db, 700);
    const aside = { location_id: place, expires_at, lines: linesOf({ [id]: '5' }) };
    await done(api.post('/inventory/reservations', aside));
    expect(await listed(place)).toEqual([id]);
    await passed(service.db, expires_at);
    expect(await listed(place)).toEqual([]);
    await setLow(id, '10');
    expect(await listed(place)).toEqual([id]);
    await setLow(id, null);
    expect(await listed(place)).toEqual([]);
  });

  test('of a page are sought among 2,000 products at most: the cursor goes on', async () => {
    const { id: other, api: theirs } = await anotherMerchant();
    const place = await service.given.location(other);
    await service.db.sql(
      `insert into products (merchant_id, id, name, unit_code, unit_precision, low_stock_at,
         created_at, updated_at)
       select $1, 'prod_' || lpad(n::text, 26, '0'), 'Flour', 'each', 0, 5, now(), now()
       from generate_series(1, 4500) n`,
      [other],
    );
    const last = `prod_${'4400'.padStart(26, '0')}`;
    const stocked = await theirs.post('/inventory/transfers', {
      ...{ to_location_id: place, reason: 'receipt' },
      lines: [{ product_id: last, quantity: '5' }],
    });
    expect(stocked.status).toBe(201);
    const pages: number[] = [];
    for (let cursor = ''; ; ) {
      const { body } = await theirs.get(`${at}${place}${cursor}`);
      pages.push(body.data.length);
      if (body.meta.next_cursor === undefined) break;
      cursor = `&cursor=${encodeURIComponent(body.meta.next_cursor)}`;
    }
    expect(pages).toEqual([0, 0, 1]);
  });

  test('are not known of another moment', async () => {
    for (const moment of ['as_of=now', 'as_of_position=0']) {
      const answer = await api.get(`${at}${shop}&${moment}`);
      expect([answer.status, answer.code]).toEqual([400, 'invalid_parameter']);
      expect(answer.body.error.details).toMatchObject([
        { field: `query.${moment.split('=')[0]}`, code: 'value_not_allowed' },
        { field: 'query.low_stock', code: 'value_not_allowed' },
      ]);
    }
    expect((await api.get(`${at}${shop}&low_stock=yes`)).status).toBe(400);
  });

  async function anotherMerchant() {
    const id = await service.given.merchant();
    return { id, api: service.api.as((await service.given.credential(id)).token) };
  }
});
