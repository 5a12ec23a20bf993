import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Environment, startEnvironment } from '../../test/kit/environment.ts';
import { pagesOf } from '../../test/kit/pages.ts';
import { beginnings, datesBetween } from './days.ts';

let service: Environment;
beforeAll(async () => {
  service = await startEnvironment();
});
afterAll(() => service.stop());

async function newShop(zone = 'UTC') {
  const merchant = await service.given.merchant();
  const location = await service.given.location(merchant);
  await service.db.sql('update locations set timezone = $2 where id = $1', [location, zone]);
  const owner = await service.given.credential(merchant);
  return { merchant, location, owner, api: service.api.as(owner.token) };
}

type Shop = Awaited<ReturnType<typeof newShop>>;

/** Adjusts, and says afterwards when that was: times never go back from one call to the next. */
async function adjustAt(shop: Shop, time: string, body: object, location = shop.location) {
  const sent = { location_id: location, reason: 'correction', ...body };
  const { status, body: answer } = await shop.api.post('/inventory/adjustments', sent);
  expect([status, answer.error]).toEqual([201, undefined]);
  const session = await service.db.session();
  await session.query("begin; set local session_replication_role = 'replica'");
  const { operation_id: id } = answer.meta;
  await session.query('update operations set created_at = $2 where id = $1', [id, time]);
  const set = 'update inventory_movements set recorded_at = $2 where operation_id = $1';
  await session.query(set, [id, time]);
  await session.query('commit');
  await session.end();
}

const daily = ({ location }: Shop, from: string, to: string) =>
  `/inventory/daily?location_id=${location}&from=${from}&to=${to}`;

interface Day {
  readonly date: string;
  readonly movements: number;
  readonly reasons: readonly object[];
}

const none = (date: string): Day => ({ date, movements: 0, reasons: [] });

describe('the movements of each day', () => {
  /** Clocks are set forward in the night to the 29th, which has 23 hours. */
  const times = {
    'before midnight': '2026-03-28T22:59:59.999Z',
    midnight: '2026-03-28T23:00:00.000Z',
    'before the next': '2026-03-29T21:59:59.999Z',
    'the next': '2026-03-29T22:00:00.000Z',
  };
  let shop: Shop;
  let flour: string;
  let oil: string;
  const whole: Day[] = [
    none('2026-03-27'),
    {
      date: '2026-03-28',
      movements: 1,
      reasons: [{ reason: 'stock_count', movements: 1, quantity_in: '10', quantity_out: '0' }],
    },
    {
      date: '2026-03-29',
      movements: 4,
      reasons: [
        { reason: 'correction', movements: 3, quantity_in: '7.5', quantity_out: '4.25' },
        { reason: 'external_adjustment', movements: 1, quantity_in: '0', quantity_out: '3' },
      ],
    },
    {
      date: '2026-03-30',
      movements: 1,
      reasons: [{ reason: 'correction', movements: 1, quantity_in: '0.00001', quantity_out: '0' }],
    },
  ];

  beforeAll(async () => {
    shop = await newShop('Europe/Berlin');
    const { merchant } = shop;
    const elsewhere = await service.given.location(merchant);
    flour = await service.given.product(merchant, { precision: 5 });
    oil = await service.given.product(merchant);
    const of = (product_id: string, target_quantity: string, reason = 'correction') => ({
      ...{ product_id, target_quantity, reason },
    });
    await adjustAt(shop, times['before midnight'], of(flour, '10', 'stock_count'));
    await adjustAt(shop, times.midnight, of(flour, '12.5'));
    await adjustAt(shop, times.midnight, of(oil, '5'));
    await adjustAt(shop, times.midnight, of(oil, '900'), elsewhere);
    await adjustAt(shop, times.midnight, of(oil, '2', 'external_adjustment'));
    await adjustAt(shop, times['before the next'], of(flour, '8.25'));
    await adjustAt(shop, times['the next'], of(flour, '8.25001'));
  });

  test('are summed up by reason, from midnight to midnight of the location', async () => {
    const answer = await shop.api.get(daily(shop, '2026-03-27', '2026-03-30'));
    expect(answer.body.data).toEqual(whole);
    expect(answer.body.meta).toMatchObject({ timezone: 'Europe/Berlin' });
    expect(answer.body.meta).not.toHaveProperty('next_cursor');
    const narrow = await shop.api.get(daily(shop, '2026-03-29', '2026-03-29'));
    expect(narrow.body.data).toEqual([whole[2]]);
  });

  test('are those of one product when it is named', async () => {
    const path = daily(shop, '2026-03-28', '2026-03-29');
    const ofOil = [
      { reason: 'correction', movements: 1, quantity_in: '5', quantity_out: '0' },
      { reason: 'external_adjustment', movements: 1, quantity_in: '0', quantity_out: '3' },
    ];
    expect((await shop.api.get(`${path}&product_id=${oil}`)).body.data).toEqual([
      none('2026-03-28'),
      { date: '2026-03-29', movements: 2, reasons: ofOil },
    ]);
    const unknown = await shop.api.get(`${path}&product_id=prod_x`);
    expect(unknown.body.data).toEqual([none('2026-03-28'), none('2026-03-29')]);
  });

  test('are the same over pages of any length', async () => {
    for (const limit of [1, 2, 3]) {
      const path = `${daily(shop, '2026-03-27', '2026-03-30')}&limit=${limit}`;
      const pages = await pagesOf<Day>(shop.api, path);
      expect(pages.flat()).toEqual(whole);
      expect(pages[0]).toHaveLength(limit);
    }
  });

  test('begin and end by the zone that the location has now', async () => {
    const other = await newShop('Pacific/Kiritimati');
    const product_id = await service.given.product(other.merchant);
    await adjustAt(other, times.midnight, { product_id, target_quantity: '1' });
    const path = daily(other, '2026-03-28', '2026-03-29');
    const counted = async () =>
      (await other.api.get(path)).body.data.map(({ movements }: Day) => movements);
    expect(await counted()).toEqual([0, 1]);
    const zone = { timezone: 'America/Havana' };
    expect((await other.api.patch(`/locations/${other.location}`, zone)).status).toBe(200);
    expect(await counted()).toEqual([1, 0]);
  });
});

describe('a walk over days', () => {
  const today = () => new Date().toISOString().slice(0, 10);
  const yesterday = () => new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);

  test('shows one moment, whatever is recorded between its pages', async () => {
    const shop = await newShop();
    const product_id = await service.given.product(shop.merchant);
    const adjust = (target_quantity: string) =>
      shop.api.post('/inventory/adjustments', {
        ...{ product_id, target_quantity, location_id: shop.location, reason: 'correction' },
      });
    expect((await adjust('4')).status).toBe(201);
    const path = `${daily(shop, yesterday(), today())}&limit=1`;
    const first = await shop.api.get(path);
    expect((await adjust('9')).status).toBe(201);
    const rest = await shop.api.get(`${path}&cursor=${first.body.meta.next_cursor}`);
    const days: Day[] = [...first.body.data, ...rest.body.data];
    expect(days.reduce((sum, { movements }) => sum + movements, 0)).toBe(1);
    await service.db.sql("update journals set id = 'jrn_other' where merchant_id = $1", [
      shop.merchant,
    ]);
    const void_ = await shop.api.get(`${path}&cursor=${first.body.meta.next_cursor}`);
    expect([void_.status, void_.code]).toEqual([400, 'journal_mismatch']);
  });
});

test('days are at most 92, from the first to the last', async () => {
  const shop = await newShop();
  const faultOf = async (from: string, to: string) => {
    const { status, body } = await shop.api.get(daily(shop, from, to));
    return [status, body.error?.details];
  };
  const fault = (message: string) => [
    400,
    [{ field: 'query.to', code: 'value_not_allowed', message }],
  ];
  expect(await faultOf('2026-01-02', '2026-01-01')).toEqual(fault('must not be before from'));
  expect(await faultOf('2026-01-01', '2026-04-03')).toEqual(
    fault('must be within 92 days of from'),
  );
  const most = await shop.api.get(`${daily(shop, '2026-01-01', '2026-04-02')}&limit=200`);
  expect(most.body.data).toHaveLength(92);
  for (const [from, to] of [
    ['0001-01-01', '0001-01-02'],
    ['9999-12-30', '9999-12-31'],
  ] as const) {
    const { body } = await shop.api.get(daily(shop, from, to));
    expect(body.data).toEqual([none(from), none(to)]);
  }
});

test('a day begins at the first moment that has its date, in any zone', async () => {
  const ranges = [
    ['2010-11-05', '2010-11-09'],
    ['2011-12-28', '2012-01-02'],
    ['2018-02-16', '2018-02-19'],
    ['2018-03-23', '2018-03-26'],
    ['2018-11-02', '2018-11-05'],
    ['2020-03-27', '2020-03-30'],
    ['2020-10-23', '2020-11-02'],
  ] as const;
  const zones = [
    ...['UTC', 'Europe/Berlin', 'America/New_York', 'America/Sao_Paulo', 'America/Havana'],
    ...['America/St_Johns', 'Asia/Beirut', 'Asia/Kathmandu', 'Pacific/Apia', 'Pacific/Kiritimati'],
  ];
  for (const [from, to] of ranges) {
    const found = await service.db.sql<{ zone: string; begins: string[] }>(
      `select zone, array_agg(begins order by d) as begins
       from unnest($1::text[]) zone, generate_series($2::date, $3::date + 1, '1 day') d,
         lateral (
           select to_json(min(t) at time zone 'UTC') #>> '{}' as begins
           from generate_series(d - interval '30 hours', d + interval '50 hours', '15 min') t
           where (t at time zone zone)::date >= d::date) b
       group by zone`,
      [zones, from, to],
    );
    expect(found).toHaveLength(zones.length);
    for (const { zone, begins } of found) {
      const expected = begins.map((time) => new Date(`${time}Z`).toISOString());
      expect([zone, beginnings(datesBetween(from, to), zone)]).toEqual([zone, expected]);
    }
  }
});
