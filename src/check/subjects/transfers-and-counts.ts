// Transfers, sales, receipts and counts.

import { done, is, memberAt, names, refused } from '../answer.ts';
import { check, type Subject } from '../check.ts';
import type { Shop } from '../shop.ts';

const wrong = 'Stock appears or vanishes on its way.';
const lostSale = 'A sale that has happened is refused, and is in no book.';
const overwritten = 'A count undoes what was sold while somebody counted.';

const move = (shop: Shop, body: object) => shop.wide.post('/inventory/transfers', body);

const countOf = (shop: Shop, lines: readonly object[], more: object = {}) =>
  shop.wide.post('/inventory/counts', { location_id: shop.here, lines, ...more });

export const transfersAndCounts: Subject = {
  title: 'Transfers and counts',
  checks: [
    check('A transfer takes from one location what it brings to the other', wrong, async (shop) => {
      const product = await shop.stocked('10');
      const lines = [{ product_id: product, quantity: '4' }];
      const body = {
        from_location_id: shop.here,
        to_location_id: shop.there,
        reason: 'transfer',
        lines,
      };
      done(await move(shop, body), 201);
      is('here', await shop.quantity(product), '6');
      is('there', await shop.quantity(product, shop.there), '4');
    }),
    check(
      'Both movements of a transfer have one operation and one position',
      wrong,
      async (shop) => {
        const product = await shop.stocked('10');
        const lines = [{ product_id: product, quantity: '4' }];
        const body = {
          from_location_id: shop.here,
          to_location_id: shop.there,
          reason: 'transfer',
          lines,
        };
        const done_ = done(await move(shop, body), 201);
        const found = done(
          await shop.wide.get('/inventory/movements', { operation_id: done_.operation }),
        );
        const movements = found.listAt('data');
        is('the types', movements.map((one) => memberAt(one, 'type')).sort(), [
          'transfer_in',
          'transfer_out',
        ]);
        is('the positions', new Set(movements.map((one) => memberAt(one, 'position'))).size, 1);
      },
    ),
    check('A sale takes what it says, whatever the level is', wrong, async (shop) => {
      const product = await shop.stocked('10');
      const answer = done(await shop.sell(product, '3'), 201);
      is(
        'from, to',
        [answer.at('data.from_location_id'), answer.at('data.to_location_id')],
        [shop.here, null],
      );
      is('what is left', await shop.quantity(product), '7');
    }),
    check('A receipt brings what it says, also of what was never there', wrong, async (shop) => {
      const product = await shop.product();
      done(await shop.receive(product, '12'), 201);
      is('what is there', await shop.quantity(product), '12');
    }),
    check('A sale of more than is there is refused, and takes nothing', wrong, async (shop) => {
      const product = await shop.stocked('2');
      const answer = refused(await shop.sell(product, '3'), 422, 'insufficient_quantity');
      names(answer, 'lines.0.quantity', 'insufficient_quantity');
      is('available_quantity', answer.at('error.details.0.available_quantity'), '2');
      is('what is left', await shop.quantity(product), '2');
    }),
    check(
      'A transfer moves all of its lines or none, and names each that lacks',
      wrong,
      async (shop) => {
        const products = [
          await shop.stocked('5'),
          await shop.stocked('1'),
          await shop.stocked('2'),
        ];
        const lines = products.map((product_id) => ({ product_id, quantity: '3' }));
        const answer = await move(shop, { from_location_id: shop.here, reason: 'sale', lines });
        refused(answer, 422, 'insufficient_quantity');
        const fields = answer.listAt('error.details').map((one) => memberAt(one, 'field'));
        is('the lines', fields, ['lines.1.quantity', 'lines.2.quantity']);
        is('the first level', await shop.quantity(products[0] ?? ''), '5');
      },
    ),
    check('shortage=record takes what is there, and says what was not', lostSale, async (shop) => {
      const product = await shop.stocked('2');
      const answer = done(await shop.sell(product, '5', { shortage: 'record' }), 201);
      is('quantity_short', answer.at('data.lines.0.quantity_short'), '3');
      is('is_short', answer.at('data.is_short'), true);
      is('what is left', await shop.quantity(product), '0');
    }),
    check('What was short is listed', lostSale, async (shop) => {
      const product = await shop.stocked('1');
      const sold = done(await shop.sell(product, '5', { shortage: 'record' }), 201);
      const query = { short: 'true', limit: '200', location_id: shop.here };
      const list = done(await shop.wide.get('/inventory/transfers', query)).listAt('data');
      is(
        'in the list',
        list.some((one) => memberAt(one, 'id') === sold.id),
        true,
      );
    }),
    check('A transfer can be read, and never changes', wrong, async (shop) => {
      const product = await shop.stocked('5');
      const sold = done(await shop.sell(product, '1'), 201);
      const path = `/inventory/transfers/${sold.id}`;
      is('the transfer', done(await shop.wide.get(path)).at('data'), sold.at('data'));
      refused(await shop.wide.send('PATCH', path, undefined), 405, 'method_not_allowed');
    }),
    check('A quantity of 0 is refused', wrong, async (shop) => {
      const answer = await shop.sell(await shop.stocked('5'), '0');
      names(refused(answer, 422, 'validation_failed'), 'lines.0.quantity', 'must_be_positive');
    }),
    check('A product is in one line of a transfer only', wrong, async (shop) => {
      const product_id = await shop.stocked('5');
      const lines = [
        { product_id, quantity: '1' },
        { product_id, quantity: '2' },
      ];
      const answer = await move(shop, { from_location_id: shop.here, reason: 'sale', lines });
      names(refused(answer, 422, 'validation_failed'), 'lines.1.product_id', 'repeated');
    }),
    check(
      'A sale cannot come from the outside, and a receipt cannot leave',
      wrong,
      async (shop) => {
        const product = await shop.stocked('5');
        refused(await shop.receive(product, '1', { reason: 'sale' }), 422, 'validation_failed');
        refused(await shop.sell(product, '1', { reason: 'receipt' }), 422, 'validation_failed');
        is('what is there', await shop.quantity(product), '5');
      },
    ),
    check('A count sets each level to what was found', wrong, async (shop) => {
      const products = [await shop.stocked('5'), await shop.product()];
      const lines = products.map((product_id) => ({ product_id, counted_quantity: '7' }));
      const answer = done(await countOf(shop, lines), 201);
      is(
        'the outcomes',
        answer.listAt('data.lines').map((one) => memberAt(one, 'outcome')),
        ['changed', 'changed'],
      );
      for (const product of products) is('the level', await shop.quantity(product), '7');
    }),
    check('A line that says what is there is recorded, and moves nothing', wrong, async (shop) => {
      const product = await shop.stocked('5');
      const answer = done(
        await countOf(shop, [{ product_id: product, counted_quantity: '5' }]),
        201,
      );
      is('the outcome', answer.at('data.lines.0.outcome'), 'unchanged');
      is('the movement', answer.at('data.lines.0.movement_id'), null);
      is('how many movements', (await shop.movements(product)).length, 1);
    }),
    check('counted_at_position adds what has moved since', overwritten, async (shop) => {
      const product = await shop.stocked('10');
      const moment = done(await shop.sell(product, '1'), 201);
      done(await shop.sell(product, '2'), 201);
      const more = {
        counted_at_position: moment.textAt('meta.position'),
        journal: moment.textAt('meta.journal'),
      };
      const answer = await countOf(shop, [{ product_id: product, counted_quantity: '8' }], more);
      is('quantity_after', done(answer, 201).at('data.lines.0.quantity_after'), '6');
      is('the level', await shop.quantity(product), '6');
    }),
    check(
      'expected_quantity of a count refuses it whole, naming the lines',
      overwritten,
      async (shop) => {
        const products = [await shop.stocked('5'), await shop.stocked('5')];
        const lines = products.map((product_id, n) => {
          return { product_id, counted_quantity: '9', expected_quantity: n === 0 ? '5' : '6' };
        });
        const answer = await countOf(shop, lines);
        refused(answer, 422, 'inventory_quantity_mismatch');
        is('the line', answer.at('error.details.0.field'), 'lines.1.expected_quantity');
        is('the first level', await shop.quantity(products[0] ?? ''), '5');
      },
    ),
    check('A count can be read, and is listed', wrong, async (shop) => {
      const product = await shop.stocked('5');
      const made = done(await countOf(shop, [{ product_id: product, counted_quantity: '4' }]), 201);
      const read = done(await shop.wide.get(`/inventory/counts/${made.id}`));
      is('the count', read.at('data'), made.at('data'));
      const list = done(await shop.wide.get('/inventory/counts', { limit: '200' })).listAt('data');
      is(
        'in the list',
        list.some((one) => memberAt(one, 'id') === made.id),
        true,
      );
    }),
    check('A position of another journal is refused', overwritten, async (shop) => {
      const product = await shop.stocked('5');
      const foreign = done(await shop.other.post('/customers', shop.customerBody()), 201);
      const more = { counted_at_position: '1', journal: foreign.textAt('meta.journal') };
      const answer = await countOf(shop, [{ product_id: product, counted_quantity: '4' }], more);
      names(refused(answer, 422, 'validation_failed'), 'journal', 'journal_mismatch');
      is('the level', await shop.quantity(product), '5');
    }),
    check('A count of 500 lines passes', 'A shop cannot count its shelves.', async (shop) => {
      const products = await Promise.all(Array.from({ length: 10 }, () => shop.product()));
      const unknown = Array.from({ length: 490 }, (_, n) => `prod_${n}`);
      const lines = [...products, ...unknown].map((product_id) => {
        return { product_id, counted_quantity: '1' };
      });
      // It names each that is unknown: the whole body was read.
      const answer = refused(await countOf(shop, lines), 422, 'product_not_found');
      is('how many it names', answer.listAt('error.details').length, 490);
    }),
  ],
};
