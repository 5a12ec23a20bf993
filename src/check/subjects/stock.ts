// The list of stock, levels as of a moment, and what each day came to.

import { done, holds, is, matches, memberAt, refused, type Values } from '../answer.ts';
import { check, type Subject } from '../check.ts';
import { allOf, type Shop } from '../shop.ts';

const wrong = 'Whoever orders or counts by this list orders or counts the wrong things.';
const past = 'Nobody can say what was there at the end of the year.';

/** One product of the list of stock, found by its name. */
async function stockOf(shop: Shop, product: string, query: Record<string, string> = {}) {
  const { name } = Object(done(await shop.wide.get(`/products/${product}`)).at('data'));
  const q = String(name).split(' ').at(-1) ?? '';
  const list = await allOf(shop.wide, '/stock', { location_id: shop.here, q, ...query });
  return list.find((one) => one.product_id === product);
}

const levelAt = async (shop: Shop, product: string, query: Record<string, string>) => {
  const all = { location_id: shop.here, product_id: product, ...query };
  const page = done(await shop.wide.get('/inventory/levels', all));
  return (page.listAt('data')[0] as Values | undefined)?.quantity;
};

export const stock: Subject = {
  title: 'Stock, moments and days',
  checks: [
    check(
      'The list of stock shows what is on hand, put aside and available',
      wrong,
      async (shop) => {
        const product = await shop.stocked('5');
        const lines = [{ product_id: product, quantity: '2' }];
        done(
          await shop.wide.post('/inventory/reservations', { location_id: shop.here, lines }),
          201,
        );
        const one = await stockOf(shop, product);
        is(
          'quantity, reserved_quantity, available_quantity',
          [one?.quantity, one?.reserved_quantity, one?.available_quantity],
          ['5', '2', '3'],
        );
      },
    ),
    check('The list of stock shows what never moved, with 0', wrong, async (shop) => {
      const one = await stockOf(shop, await shop.product());
      is('quantity, updated_at', [one?.quantity, one?.updated_at], ['0', null]);
    }),
    check('The list of stock is sorted by name, SKU or quantity', wrong, async (shop) => {
      const word = `S${shop.run}sort`;
      for (const [name, sku, quantity] of [
        ['b', 'X', '1'],
        ['a', 'Z', '3'],
        ['c', 'Y', '2'],
      ]) {
        const more = { name: `tallybook check ${word} ${name}`, sku: shop.unique(`${sku}`) };
        await shop.stocked(quantity ?? '', shop.here, more);
      }
      for (const [sort, order] of [
        ['name', 'abc'],
        ['sku', 'bca'],
        ['quantity', 'bca'],
      ]) {
        const query = { location_id: shop.here, q: word, sort: sort ?? '' };
        const list = await allOf(shop.wide, '/stock', query);
        is(`by ${sort}`, list.map(({ name }) => String(name).at(-1)).join(''), order);
      }
    }),
    check('The list of stock finds words of names, SKUs and barcodes', wrong, async (shop) => {
      const barcode = `${Date.now()}`;
      const product = await shop.stocked('5', shop.here, { barcode });
      const list = await allOf(shop.wide, '/stock', { location_id: shop.here, q: barcode });
      is('which', list.map(({ product_id }) => product_id).includes(product), true);
    }),
    check('The list of stock shows what is low, what never moved among it', wrong, async (shop) => {
      const low = await shop.product({ low_stock_at: '2' });
      const enough = await shop.stocked('3', shop.here, { low_stock_at: '2' });
      is('low', (await stockOf(shop, low, { low_stock: 'true' }))?.quantity, '0');
      is('enough', await stockOf(shop, enough, { low_stock: 'true' }), undefined);
    }),
    check('as_of_position shows what was there after that write', past, async (shop) => {
      const product = await shop.stocked('10');
      const first = done(await shop.sell(product, '1'), 201);
      done(await shop.sell(product, '2'), 201);
      const query = {
        as_of_position: first.textAt('meta.position'),
        journal: first.textAt('meta.journal'),
      };
      is('then', await levelAt(shop, product, query), '9');
      is('now', await levelAt(shop, product, {}), '7');
      is('in the list of stock', (await stockOf(shop, product, query))?.quantity, '9');
    }),
    check('as_of shows what was there at a time', past, async (shop) => {
      const product = await shop.stocked('10');
      const [first] = await shop.movements(product);
      await sleep(6_000);
      done(await shop.sell(product, '4'), 201);
      is('then', await levelAt(shop, product, { as_of: String(first?.recorded_at) }), '10');
    }),
    check('as_of less than 5 s ago, or to come, is refused', past, async (shop) => {
      for (const ms of [0, 3_600_000]) {
        const as_of = new Date(Date.parse(await clockOf(shop)) + ms).toISOString();
        const answer = await shop.wide.get('/inventory/levels', { location_id: shop.here, as_of });
        refused(answer, 400, 'invalid_parameter');
      }
    }),
    check('Pages of as_of=now show one moment, whatever is written', past, async (shop) => {
      const products = await Promise.all(Array.from({ length: 4 }, () => shop.stocked('5')));
      const query = { location_id: shop.here, product_id: products, as_of: 'now', limit: '1' };
      const seen: Values[] = [];
      for (let cursor: unknown, n = 0; n === 0 || (cursor !== undefined && n < 20); n += 1) {
        const more = typeof cursor === 'string' ? { cursor } : {};
        const page = done(await shop.wide.get('/inventory/levels', { ...query, ...more }));
        seen.push(...(page.listAt('data') as Values[]));
        cursor = page.at('meta.next_cursor');
        await Promise.all(products.map((product) => shop.sell(product, '1')));
      }
      is(
        'the quantities',
        seen.map(({ quantity }) => quantity),
        ['5', '5', '5', '5'],
      );
    }),
    check('A list as of a moment names its position and journal', past, async (shop) => {
      const query = { location_id: shop.here, as_of: 'now', limit: '1' };
      const page = done(await shop.wide.get('/inventory/levels', query));
      matches('as_of_position', page.at('meta.as_of_position'), /^\d+$/);
      matches('journal', page.at('meta.journal'), /^jrn_/);
    }),
    check('A position needs the journal that it is of', past, async (shop) => {
      const query = { location_id: shop.here, as_of_position: '3' };
      const answer = await shop.wide.get('/inventory/levels', query);
      holds(`it was answered with ${answer.status}`, answer.status === 400);
    }),
    check('Levels as of a moment say nothing of reservations', past, async (shop) => {
      const product = await shop.stocked('5');
      const query = { location_id: shop.here, product_id: product, as_of: 'now' };
      const page = done(await shop.wide.get('/inventory/levels', query));
      is('reserved_quantity', memberAt(page.at('data.0'), 'reserved_quantity'), null);
    }),
    check('Days sum up movements by reason', wrong, async (shop) => {
      const product = await shop.stocked('10');
      done(await shop.sell(product, '3'), 201);
      done(await shop.sell(product, '2'), 201);
      const reasons = (await daysOf(shop, product)).flatMap((one) => one.reasons as Values[]);
      const sale = reasons.find(({ reason }) => reason === 'sale');
      is('sales', [sale?.movements, sale?.quantity_in, sale?.quantity_out], [2, '0', '5']);
    }),
    check('Each day of a range is listed, 92 at most', wrong, async (shop) => {
      const query = { location_id: shop.here, from: '2026-01-01', to: '2026-01-31' };
      const page = done(await shop.wide.get('/inventory/daily', { ...query, limit: '200' }));
      is('how many days', page.listAt('data').length, 31);
      const long = { ...query, to: '2026-12-31' };
      refused(await shop.wide.get('/inventory/daily', long), 400, 'invalid_parameter');
    }),
    check('Days are those of the time zone of the location', wrong, async (shop) => {
      const query = { location_id: shop.here, from: '2026-01-01', to: '2026-01-01' };
      const page = done(await shop.wide.get('/inventory/daily', query));
      const own = done(await shop.wide.get(`/locations/${shop.here}`)).at('data.timezone');
      is('meta.timezone', page.at('meta.timezone'), own);
    }),
    check('GET /operations lists what was asked for, refusals among it', past, async (shop) => {
      const product = await shop.stocked('1');
      const answer = refused(await shop.sell(product, '5'), 422, 'insufficient_quantity');
      const operation = done(await shop.wide.get(`/operations/${answer.operation}`));
      is('status', operation.at('data.status'), 'rejected');
      is('error.code', operation.at('data.error.code'), 'insufficient_quantity');
      const found = await shop.wide.get('/operations', {
        request_id: answer.textAt('meta.request_id'),
      });
      is('by its request', done(found).listAt('data').length, 1);
    }),
    check('A write that changed something has a position, and its journal', past, async (shop) => {
      const first = done(await shop.wide.post('/customers', shop.customerBody()), 201);
      const second = done(await shop.wide.post('/customers', shop.customerBody()), 201);
      is('the journal', second.at('meta.journal'), first.at('meta.journal'));
      const [a, b] = [first, second].map((one) => Number(one.textAt('meta.position')));
      holds('positions do not grow', (b ?? 0) > (a ?? 0));
    }),
  ],
};

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** The service's own time. */
async function clockOf(shop: Shop): Promise<string> {
  return done(await shop.wide.post('/customers', shop.customerBody()), 201).textAt(
    'data.created_at',
  );
}

/** From yesterday to tomorrow, wherever midnight is. */
async function daysOf(shop: Shop, product: string): Promise<readonly Values[]> {
  const day = (n: number) => new Date(Date.now() + n * 86_400_000).toISOString().slice(0, 10);
  const query = { location_id: shop.here, product_id: product, from: day(-1), to: day(1) };
  return allOf(shop.wide, '/inventory/daily', query);
}
