// Levels, adjustments and movements: a level always equals its ledger.

import { done, holds, is, matches, memberAt, names, refused, type Values } from '../answer.ts';
import { check, type Subject } from '../check.ts';
import { allOf, type Shop } from '../shop.ts';

const wrong = 'The stock that a merchant is shown is not the stock that is there.';
const unexplained = 'Nobody can say why a level is what it is.';

export const levels: Subject = {
  title: 'Levels, adjustments and movements',
  checks: [
    check('target_quantity is the absolute target, not a difference', wrong, async (shop) => {
      const product = await shop.stocked('10');
      const answer = done(await shop.adjust(product, '4'), 201);
      is('quantity_after', answer.at('data.quantity_after'), '4');
      is('quantity_delta', answer.at('data.quantity_delta'), '-6');
      is('the level', await shop.quantity(product), '4');
    }),
    check('A target that equals the current quantity is rejected', wrong, async (shop) => {
      const product = await shop.stocked('4');
      for (const target of ['4', '4.0', '4.00000']) {
        const answer = refused(await shop.adjust(product, target), 422, 'inventory_no_change');
        is('current_quantity', answer.at('error.details.0.current_quantity'), '4');
      }
      is('how many movements', (await shop.movements(product)).length, 1);
    }),
    check('reason is stock_count, external_adjustment or correction', wrong, async (shop) => {
      const product = await shop.product();
      for (const [n, reason] of ['stock_count', 'external_adjustment', 'correction'].entries()) {
        const answer = done(await shop.adjust(product, String(n + 1), shop.here, { reason }), 201);
        is('reason', answer.at('data.reason'), reason);
      }
      for (const reason of ['sale', 'Correction', '']) {
        const answer = await shop.adjust(product, '9', shop.here, { reason });
        refused(answer, 422, 'validation_failed');
      }
    }),
    check('reason is required', wrong, async (shop) => {
      const answer = await shop.adjust(await shop.product(), '1', shop.here, { reason: null });
      names(refused(answer, 422, 'validation_failed'), 'reason', 'required');
    }),
    ...['-1', '1e3', '1,5', '+1', '.5', '0x10', 'five', '1.123456', '1234567890123'].map((target) =>
      check(`A quantity of ${target} is refused, and never rounded`, wrong, async (shop) => {
        const product = await shop.product({ unit: { code: 'kg', precision: 5 } });
        refused(await shop.adjust(product, target), 422, 'validation_failed');
        is('the level', await shop.level(product), undefined);
      }),
    ),
    check('A quantity has no more decimals than the unit of its product', wrong, async (shop) => {
      const product = await shop.product({ unit: { code: 'kg', precision: 3 } });
      done(await shop.adjust(product, '1.125'), 201);
      refused(await shop.adjust(product, '1.1255'), 422, 'validation_failed');
      is('the level', await shop.quantity(product), '1.125');
    }),
    check('A quantity is answered in its shortest form', wrong, async (shop) => {
      const product = await shop.product({ unit: { code: 'kg', precision: 3 } });
      const answer = done(await shop.adjust(product, '1.500'), 201);
      is('quantity_after', answer.at('data.quantity_after'), '1.5');
    }),
    check('expected_quantity refuses what has changed meanwhile', wrong, async (shop) => {
      const product = await shop.stocked('5');
      const answer = await shop.adjust(product, '1', shop.here, { expected_quantity: '6' });
      refused(answer, 422, 'inventory_quantity_mismatch');
      is('current_quantity', answer.at('error.details.0.current_quantity'), '5');
      done(await shop.adjust(product, '1', shop.here, { expected_quantity: '5.0' }), 201);
    }),
    check('An adjustment of an unknown product is refused', wrong, async (shop) => {
      refused(await shop.adjust('prod_0', '1'), 422, 'product_not_found');
    }),
    check('A level is identified by its product and its location', wrong, async (shop) => {
      const product = await shop.stocked('5');
      done(await shop.adjust(product, '7', shop.there), 201);
      is(
        'here and there',
        [await shop.quantity(product), await shop.quantity(product, shop.there)],
        ['5', '7'],
      );
      const all = await allOf(shop.wide, `/products/${product}/levels`);
      is('how many levels', all.length, 2);
      is('an ID', memberAt(all[0], 'id'), undefined);
    }),
    check('Levels are filtered by product_id, up to 100 times', wrong, async (shop) => {
      const products = [await shop.stocked('1'), await shop.stocked('2')];
      const many = Array.from({ length: 98 }, (_, n) => `prod_${n}`);
      const query = { location_id: shop.here, product_id: [...products, ...many] };
      const found = done(await shop.wide.get('/inventory/levels', query)).listAt('data');
      is('which', found.map((one) => memberAt(one, 'product_id')).sort(), [...products].sort());
      const more = { ...query, product_id: [...query.product_id, 'prod_x'] };
      const answer = await shop.wide.get('/inventory/levels', more);
      names(refused(answer, 400, 'invalid_parameter'), 'query.product_id', 'too_many');
    }),
    check('Levels of a location are listed, each once over all pages', wrong, async (shop) => {
      const products = await Promise.all(Array.from({ length: 6 }, () => shop.stocked('1')));
      const all = await allOf(shop.wide, '/inventory/levels', {
        location_id: shop.here,
        limit: '50',
      });
      const own = all.map((one) => String(one.product_id)).filter((id) => products.includes(id));
      is('which', own.sort(), [...products].sort());
    }),
    check('Every level equals the sum of its movements', wrong, async (shop) => {
      const product = await shop.stocked('10.5', shop.here, { unit: { code: 'kg', precision: 3 } });
      done(await shop.sell(product, '0.1'), 201);
      done(await shop.sell(product, '0.2'), 201);
      done(await shop.receive(product, '3.125'), 201);
      done(await shop.adjust(product, '12'), 201);
      const movements = await shop.movements(product);
      const sum = movements.reduce((all, one) => all + thousandths(one.quantity_delta), 0);
      is('the sum in thousandths', sum, thousandths(await shop.quantity(product)));
    }),
    check('Each movement begins where the one before it ended', unexplained, async (shop) => {
      const product = await shop.stocked('10');
      for (const quantity of ['1', '2', '3']) done(await shop.sell(product, quantity), 201);
      const movements = await shop.movements(product);
      for (const [n, one] of movements.entries()) {
        is('the sequence', one.sequence, n + 1);
        is('quantity_before', one.quantity_before, movements[n - 1]?.quantity_after ?? '0');
      }
    }),
    check('A level names its last movement', unexplained, async (shop) => {
      const product = await shop.stocked('10');
      const sold = done(await shop.sell(product, '1'), 201);
      const level = await shop.level(product);
      is('the movement', level?.last_movement_id, sold.at('data.lines.0.out_movement_id'));
      is('the version', level?.version, 2);
    }),
    check('A movement has an imv_ ID and can be read by it', unexplained, async (shop) => {
      const [movement] = await shop.movements(await shop.stocked('5'));
      matches('the ID', movement?.id, /^imv_/);
      const read = done(await shop.wide.get(`/inventory/movements/${String(movement?.id)}`));
      is('the movement', read.at('data'), movement);
    }),
    check('A movement never changes, and no method changes it', unexplained, async (shop) => {
      const product = await shop.stocked('5');
      const [first] = await shop.movements(product);
      const path = `/inventory/movements/${String(first?.id)}`;
      for (const method of ['PATCH', 'PUT', 'DELETE', 'POST']) {
        refused(await shop.wide.send(method, path, undefined), 405, 'method_not_allowed');
      }
      done(await shop.sell(product, '1'), 201);
      is('the movement', done(await shop.wide.get(path)).at('data'), first);
    }),
    check('A movement says who recorded it, why, and by which write', unexplained, async (shop) => {
      const product = await shop.product();
      const more = { note: 'Found behind the shelf.', reference: shop.unique('R') };
      const answer = done(await shop.adjust(product, '5', shop.here, more), 201);
      const [movement] = await shop.movements(product);
      is('note, reference', [movement?.note, movement?.reference], [more.note, more.reference]);
      is('operation_id', movement?.operation_id, answer.operation);
      is('actor', memberAt(movement, 'actor.credential_id'), shop.credential);
    }),
    check('Movements are found by operation, reason and time', unexplained, async (shop) => {
      const product = await shop.stocked('5');
      const sold = done(await shop.sell(product, '1'), 201);
      const count = async (query: Record<string, string>) =>
        (await allOf(shop.wide, '/inventory/movements', { product_id: product, ...query })).length;
      is('by operation', await count({ operation_id: sold.operation }), 1);
      is('by reason', await count({ reason: 'sale' }), 1);
      is('since then', await count({ recorded_after: sold.textAt('data.recorded_at') }), 1);
      is('before then', await count({ recorded_before: sold.textAt('data.recorded_at') }), 1);
    }),
    check(
      'Movements come newest first, or oldest first with order=asc',
      unexplained,
      async (shop) => {
        const product = await shop.stocked('5');
        done(await shop.sell(product, '1'), 201);
        const newest = await allOf(shop.wide, '/inventory/movements', { product_id: product });
        is(
          'the order',
          newest.map(({ sequence }) => sequence),
          [2, 1],
        );
        is(
          'the other order',
          (await shop.movements(product)).map(({ sequence }) => sequence),
          [1, 2],
        );
      },
    ),
    check('Who goes on behind a position misses no movement', unexplained, async (shop) => {
      const product = await shop.stocked('50');
      const followed = await followedMovements(shop, product);
      is(
        'the sequences',
        followed,
        Array.from({ length: 16 }, (_, n) => n + 1),
      );
    }),
    check('A level that was counted says when, and by whom', unexplained, async (shop) => {
      const product = await shop.stocked('5');
      is('before', memberAt(await shop.level(product), 'counted_by'), null);
      const lines = [{ product_id: product, counted_quantity: '5' }];
      const count = await shop.wide.post('/inventory/counts', { location_id: shop.here, lines });
      const { recorded_at } = Object(done(count, 201).at('data'));
      const level = await shop.level(product);
      is('counted_by', level?.counted_by, shop.credential);
      is('counted_at', level?.counted_at, recorded_at);
    }),
    check('low_stock shows what is low now', wrong, async (shop) => {
      const low = await shop.stocked('3', shop.here, { low_stock_at: '3' });
      const high = await shop.stocked('4', shop.here, { low_stock_at: '3' });
      const query = { location_id: shop.here, low_stock: 'true', product_id: [low, high] };
      const found = done(await shop.wide.get('/inventory/levels', query)).listAt('data');
      is(
        'which',
        found.map((one) => memberAt(one, 'product_id')),
        [low],
      );
    }),
  ],
};

/** Exact: the checks use no quantity with more decimals. */
function thousandths(quantity: unknown): number {
  return Math.round(Number(quantity) * 1_000);
}

/** The sequences that somebody sees who reads on while others write. */
async function followedMovements(shop: Shop, product: string): Promise<unknown[]> {
  const seen: Values[] = [];
  let place: Record<string, string> = { after_position: '0' };
  const read = async () => {
    const query = { product_id: product, order: 'asc', limit: '5', ...place };
    const page = done(await shop.wide.get('/inventory/movements', query));
    seen.push(...(page.listAt('data') as Values[]));
    const after = page.textAt('meta.through_position');
    place = { after_position: after, journal: page.textAt('meta.journal') };
  };
  const selling = Promise.all(Array.from({ length: 15 }, () => shop.sell(product, '1')));
  for (let n = 0; n < 5; n += 1) await read();
  for (const answer of await selling) done(answer, 201);
  for (let n = 0; n < 6; n += 1) await read();
  holds('a movement came twice', new Set(seen.map(({ id }) => id)).size === seen.length);
  return seen.map(({ sequence }) => sequence);
}
