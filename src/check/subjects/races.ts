// Many at once, and connections that break: what is done must be done once, and be found.

import { type Answer, done, holds, is, memberAt, Unmet } from '../answer.ts';
import { newKey } from '../caller.ts';
import { check, type Subject } from '../check.ts';
import { cutInTheMiddle, sentAndCut } from '../raw.ts';
import type { Shop } from '../shop.ts';

const twice = 'Two tills, or one that sends again too soon, sell the same thing twice.';
const lost = 'A sale is lost when the line breaks, or is booked twice.';

const times = <Done>(count: number, work: (n: number) => Promise<Done>): Promise<Done[]> =>
  Promise.all(Array.from({ length: count }, (_, n) => work(n)));

export const races: Subject = {
  title: 'Races and broken connections',
  checks: [
    check('20 requests with one key at once do one write', twice, async (shop) => {
      const product = await shop.stocked('100');
      const key = newKey();
      const answers = await times(20, () => shop.sell(product, '1', {}, key));
      for (const answer of answers) done(answer, 201);
      is('how many operations', new Set(answers.map((one) => one.operation)).size, 1);
      is('how many are no replay', answers.filter((one) => !one.isReplay).length, 1);
      is('what is left', await shop.quantity(product), '99');
    }),
    check('Of 20 different requests with one key at once, one is done', twice, async (shop) => {
      const product = await shop.stocked('1000');
      const key = newKey();
      const answers = await times(20, (n) => shop.sell(product, String(n + 1), {}, key));
      const won = answers.filter(({ status }) => status === 201);
      is('how many were done', won.length, 1);
      is('how many are 409', answers.filter(({ status }) => status === 409).length, 19);
      const taken = Number(won[0]?.textAt('data.lines.0.quantity'));
      is('what is left', await shop.quantity(product), String(1_000 - taken));
    }),
    check('Of 10 tills that sell the last 3, 3 do', twice, async (shop) => {
      const product = await shop.stocked('3');
      const answers = await times(10, () => shop.sell(product, '1'));
      is('how many sold', countOf(answers, 201), 3);
      is('how many were refused', countOf(answers, 422), 7);
      is('what is left', await shop.quantity(product), '0');
    }),
    check('Of 10 who set a level from what they have read, one does', twice, async (shop) => {
      const product = await shop.stocked('5');
      const more = { expected_quantity: '5', reason: 'correction' };
      const answers = await times(10, (n) => shop.adjust(product, String(50 + n), shop.here, more));
      is('how many did', countOf(answers, 201), 1);
      is('how many movements', (await shop.movements(product)).length, 2);
    }),
    check('Of 10 who change one version of a record, one does', twice, async (shop) => {
      const path = `/customers/${await shop.customer()}`;
      const headers = { 'If-Match': '"1"' };
      const change = (n: number) => shop.wide.patch(path, { note: String(n) }, { headers });
      const answers = await times(10, change);
      is('how many did', countOf(answers, 200), 1);
      is('how many were refused', countOf(answers, 412), 9);
      is('the version', done(await shop.wide.get(path)).at('data.version'), 2);
    }),
    check('Of 10 who create one SKU at once, one does', twice, async (shop) => {
      const sku = shop.unique('SKU');
      const answers = await times(10, () =>
        shop.wide.post('/products', { name: shop.name('sku'), sku }),
      );
      is('how many did', countOf(answers, 201), 1);
      is(
        'how many have it',
        done(await shop.wide.get('/products', { sku })).listAt('data').length,
        1,
      );
    }),
    check('10 upserts of one new ID at once make one record', twice, async (shop) => {
      const id = shop.unique('upsert');
      const name = shop.name('upserted');
      const answers = await times(10, () =>
        shop.wide.patch(`/products?external_id=${id}`, { name }),
      );
      is('how many created it', countOf(answers, 201), 1);
      is('how many found it', countOf(answers, 200), 9);
      is('how many records', new Set(answers.map((one) => one.id)).size, 1);
    }),
    check('30 sales of one product at once leave a ledger without gaps', twice, async (shop) => {
      const product = await shop.stocked('100');
      for (const answer of await times(30, () => shop.sell(product, '2'))) done(answer, 201);
      is('what is left', await shop.quantity(product), '40');
      const movements = await shop.movements(product);
      const sequences = movements.map(({ sequence }) => sequence);
      is(
        'the sequences',
        sequences,
        Array.from({ length: 31 }, (_, n) => n + 1),
      );
      is('the last movement', movements.at(-1)?.quantity_after, '40');
    }),
    check('Of 5 who end a reservation at once, one does', twice, async (shop) => {
      const product = await shop.stocked('5');
      const lines = [{ product_id: product, quantity: '2' }];
      const body = { location_id: shop.here, lines };
      const { id } = done(await shop.wide.post('/inventory/reservations', body), 201);
      const path = `/inventory/reservations/${id}`;
      const answers = await times(6, (n) =>
        n % 2 === 0
          ? shop.wide.post(`${path}/release`, {})
          : shop.wide.post(`${path}/fulfil`, { reason: 'sale' }),
      );
      is('how many did', countOf(answers, 200), 1);
      is('how many were refused', countOf(answers, 422), 5);
    }),
    check('Sales between two locations and back, at once, all end', twice, async (shop) => {
      const product = await shop.stocked('50');
      done(await shop.adjust(product, '50', shop.there), 201);
      const carry = (from: string, to: string) =>
        shop.wide.post('/inventory/transfers', {
          from_location_id: from,
          to_location_id: to,
          reason: 'transfer',
          lines: [{ product_id: product, quantity: '1' }],
        });
      const answers = await times(20, (n) =>
        n % 2 === 0 ? carry(shop.here, shop.there) : carry(shop.there, shop.here),
      );
      is('how many did', countOf(answers, 201), 20);
      const both = [await shop.quantity(product), await shop.quantity(product, shop.there)];
      is('what is there', both, ['50', '50']);
    }),
    ...[0, 3, 20].map((afterMs) =>
      check(
        `A sale whose connection breaks ${afterMs} ms after it was sent is done once`,
        lost,
        async (shop) => {
          const product = await shop.stocked('10');
          const key = newKey();
          const lines = [{ product_id: product, quantity: '1' }];
          const body = { from_location_id: shop.here, reason: 'sale', lines };
          const path = '/inventory/transfers';
          await times(3, () => sentAndCut(shop.wide, path, { body, key, afterMs }));
          done(await shop.wide.post(path, body, { key }), 201);
          is('what is left', await shop.quantity(product), '9');
        },
      ),
    ),
    check('A request that was cut in its body does nothing', lost, async (shop) => {
      const product = await shop.stocked('10');
      const key = newKey();
      const lines = [{ product_id: product, quantity: '1' }];
      const body = { from_location_id: shop.here, reason: 'sale', lines };
      await cutInTheMiddle(shop.wide, '/inventory/transfers', { body, key });
      const answer = done(await shop.wide.post('/inventory/transfers', body, { key }), 201);
      is('a replay', answer.isReplay, false);
      is('what is left', await shop.quantity(product), '9');
    }),
    check('The client of the SDK loses nothing and does nothing twice', lost, async (shop) => {
      const product = await shop.stocked('50');
      const sell = () =>
        shop.client.inventory.transfers.create({
          from_location_id: shop.here,
          reason: 'sale',
          lines: [{ product_id: product, quantity: '1' }],
        });
      const results = await times(10, sell);
      is('how many operations', new Set(results.map((one) => one.operationId)).size, 10);
      is('what is left', await shop.quantity(product), '40');
    }),
    check(
      'Who reads while others write sees each state whole',
      'Totals do not add up.',
      async (shop) => {
        const product = await shop.stocked('100');
        const reading = times(10, () => seen(shop, product));
        const selling = times(10, () => shop.sell(product, '1'));
        for (const answer of await selling) done(answer, 201);
        for (const { quantity, version } of await reading) {
          is('the quantity at its version', Number(quantity), 101 - Number(version));
        }
      },
    ),
  ],
};

async function seen(shop: Shop, product: string) {
  const level = await shop.level(product);
  if (level === undefined) throw new Unmet('the level is not there');
  holds('it has no movement', typeof memberAt(level, 'last_movement_id') === 'string');
  return level;
}

const countOf = (answers: readonly Answer[], status: number) =>
  answers.filter((one) => one.status === status).length;
