// Reservations: what is put aside for somebody, and what becomes of it.

import { done, is, memberAt, names, refused } from '../answer.ts';
import { newKey } from '../caller.ts';
import { check, type Subject } from '../check.ts';
import type { Shop } from '../shop.ts';

const soldTwice = 'What is promised to one customer is sold to another.';
const stuck = 'Stock stays put aside for nobody, and is not sold.';

const reserve = (
  shop: Shop,
  product: string,
  quantity: string,
  more: object = {},
  key = newKey(),
) => {
  const body = { location_id: shop.here, lines: [{ product_id: product, quantity }], ...more };
  return shop.wide.post('/inventory/reservations', body, { key });
};

async function quantities(shop: Shop, product: string) {
  const level = await shop.level(product);
  return [level?.quantity, level?.reserved_quantity, level?.available_quantity];
}

export const reservations: Subject = {
  title: 'Reservations',
  checks: [
    check('A reservation puts aside, and moves nothing', soldTwice, async (shop) => {
      const product = await shop.stocked('5');
      const made = done(await reserve(shop, product, '2'), 201);
      is('the status', made.at('data.status'), 'active');
      is('on hand, put aside, available', await quantities(shop, product), ['5', '2', '3']);
      is('how many movements', (await shop.movements(product)).length, 1);
    }),
    check('What is put aside cannot be sold or carried away', soldTwice, async (shop) => {
      const product = await shop.stocked('5');
      done(await reserve(shop, product, '4'), 201);
      const answer = refused(await shop.sell(product, '2'), 422, 'insufficient_quantity');
      is('available_quantity', answer.at('error.details.0.available_quantity'), '1');
      done(await shop.sell(product, '1'), 201);
    }),
    check('More than is available cannot be put aside', soldTwice, async (shop) => {
      const product = await shop.stocked('5');
      done(await reserve(shop, product, '4'), 201);
      refused(await reserve(shop, product, '2'), 422, 'insufficient_quantity');
      is('on hand, put aside, available', await quantities(shop, product), ['5', '4', '1']);
    }),
    check('Of 8 who want the last one at once, one gets it', soldTwice, async (shop) => {
      const product = await shop.stocked('1');
      const all = await Promise.all(Array.from({ length: 8 }, () => reserve(shop, product, '1')));
      is('how many got it', all.filter(({ status }) => status === 201).length, 1);
    }),
    check('A replayed reservation puts nothing aside a second time', soldTwice, async (shop) => {
      const product = await shop.stocked('5');
      const key = newKey();
      const first = done(await reserve(shop, product, '2', {}, key), 201);
      const again = done(await reserve(shop, product, '2', {}, key), 201);
      is('the reservation', again.id, first.id);
      is('on hand, put aside, available', await quantities(shop, product), ['5', '2', '3']);
    }),
    check('A released reservation makes available what it held', stuck, async (shop) => {
      const product = await shop.stocked('5');
      const { id } = done(await reserve(shop, product, '2'), 201);
      const ended = done(
        await shop.wide.post(`/inventory/reservations/${id}/release`, { note: 'x' }),
      );
      is('the status', ended.at('data.status'), 'released');
      is('on hand, put aside, available', await quantities(shop, product), ['5', '0', '5']);
    }),
    check('A fulfilled reservation takes out all that it held', stuck, async (shop) => {
      const product = await shop.stocked('5');
      const { id } = done(await reserve(shop, product, '2'), 201);
      const path = `/inventory/reservations/${id}/fulfil`;
      const ended = done(await shop.wide.post(path, { reason: 'sale' }));
      is('the status', ended.at('data.status'), 'fulfilled');
      is('how many movements', ended.listAt('data.movement_ids').length, 1);
      is('on hand, put aside, available', await quantities(shop, product), ['3', '0', '3']);
    }),
    check('A reservation ends once', soldTwice, async (shop) => {
      const product = await shop.stocked('5');
      const { id } = done(await reserve(shop, product, '2'), 201);
      const path = `/inventory/reservations/${id}`;
      done(await shop.wide.post(`${path}/fulfil`, { reason: 'sale' }));
      const answer = await shop.wide.post(`${path}/release`, {});
      refused(answer, 422, 'reservation_not_active');
      is('on hand, put aside, available', await quantities(shop, product), ['3', '0', '3']);
    }),
    check('A replayed fulfilment takes nothing out a second time', soldTwice, async (shop) => {
      const product = await shop.stocked('5');
      const { id } = done(await reserve(shop, product, '2'), 201);
      const ask = { key: newKey() };
      const path = `/inventory/reservations/${id}/fulfil`;
      const first = done(await shop.wide.post(path, { reason: 'sale' }, ask));
      const again = done(await shop.wide.post(path, { reason: 'sale' }, ask));
      is('the operation', again.operation, first.operation);
      is('on hand, put aside, available', await quantities(shop, product), ['3', '0', '3']);
    }),
    check('A count says what is there, whoever it was put aside for', soldTwice, async (shop) => {
      const product = await shop.stocked('5');
      done(await reserve(shop, product, '4'), 201);
      done(await shop.adjust(product, '3'), 201);
      is('on hand, put aside, available', await quantities(shop, product), ['3', '4', '-1']);
    }),
    check(
      'A reservation that finds less than it holds is not fulfilled',
      soldTwice,
      async (shop) => {
        const product = await shop.stocked('5');
        const { id } = done(await reserve(shop, product, '4'), 201);
        done(await shop.adjust(product, '3'), 201);
        const path = `/inventory/reservations/${id}`;
        const answer = await shop.wide.post(`${path}/fulfil`, { reason: 'sale' });
        refused(answer, 422, 'insufficient_quantity');
        is('the status', done(await shop.wide.get(path)).at('data.status'), 'active');
        done(await shop.wide.post(`${path}/release`, {}));
      },
    ),
    check(
      'A reservation cannot end in the past, or after more than 90 days',
      stuck,
      async (shop) => {
        const product = await shop.stocked('5');
        for (const days of [-1, 100]) {
          const expires_at = new Date(Date.now() + days * 86_400_000).toISOString();
          const answer = await reserve(shop, product, '1', { expires_at });
          refused(answer, 422, 'validation_failed');
          is('the field', answer.at('error.details.0.field'), 'expires_at');
        }
      },
    ),
    check('Reservations are found by their reference and status', stuck, async (shop) => {
      const product = await shop.stocked('5');
      const reference = shop.unique('order 4711/ü');
      const { id } = done(await reserve(shop, product, '1', { reference }), 201);
      const find = async (status: string) => {
        const list = await shop.wide.get('/inventory/reservations', { reference, status });
        return done(list)
          .listAt('data')
          .map((one) => memberAt(one, 'id'));
      };
      is('active', await find('active'), [id]);
      done(await shop.wide.post(`/inventory/reservations/${id}/release`, {}));
      is('active, later', await find('active'), []);
      is('released', await find('released'), [id]);
    }),
    check('A reservation has at least one line', stuck, async (shop) => {
      const body = { location_id: shop.here, lines: [] };
      const answer = await shop.wide.post('/inventory/reservations', body);
      refused(answer, 422, 'validation_failed');
      is('the field', answer.at('error.details.0.field'), 'lines');
    }),
    check('A line of a reservation names a product that exists', stuck, async (shop) => {
      const answer = refused(await reserve(shop, 'prod_0', '1'), 422, 'product_not_found');
      names(answer, 'lines.0.product_id', 'product_not_found');
    }),
  ],
};
