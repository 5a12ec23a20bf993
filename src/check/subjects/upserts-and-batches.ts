// Upserts by the caller's own ID, and batches.

import { done, holds, is, memberAt, names, refused } from '../answer.ts';
import { newKey } from '../caller.ts';
import { check, type Subject } from '../check.ts';

const doubled = 'A nightly sync makes everything twice.';
const lost = 'A till that was offline sends its day, and a part of it is lost or booked twice.';

const at = (path: string, id: string) => `${path}?external_id=${encodeURIComponent(id)}`;

export const upsertsAndBatches: Subject = {
  title: 'Upserts and batches',
  checks: [
    check('An upsert creates what has no such ID: 201', doubled, async (shop) => {
      const id = shop.unique('up');
      const body = { name: shop.name('upserted'), sku: shop.unique('S') };
      const made = done(await shop.wide.patch(at('/products', id), body), 201);
      is('external_id', made.at('data.external_id'), id);
      holds(
        'Location is missing',
        made.headers.location?.endsWith(`/products/${made.id}`) === true,
      );
    }),
    check(
      'An upsert changes what has the ID: 200, and keeps what is not sent',
      doubled,
      async (shop) => {
        const id = shop.unique('up');
        const sku = shop.unique('S');
        const made = done(
          await shop.wide.patch(at('/products', id), { name: shop.name('a'), sku }),
          201,
        );
        const name = shop.name('b');
        const changed = done(await shop.wide.patch(at('/products', id), { name }));
        is('the record', changed.id, made.id);
        is('name, sku', [changed.at('data.name'), changed.at('data.sku')], [name, sku]);
        is('version', changed.at('data.version'), 2);
      },
    ),
    check('An upsert of what is so already changes nothing', doubled, async (shop) => {
      const id = shop.unique('up');
      const body = { name: shop.name('same') };
      done(await shop.wide.patch(at('/products', id), body), 201);
      const again = done(await shop.wide.patch(at('/products', id), body));
      is('version', again.at('data.version'), 1);
      is('meta.position', again.at('meta.position'), undefined);
    }),
    check('An upsert is replayed with the status of its first answer', doubled, async (shop) => {
      const path = at('/products', shop.unique('up'));
      const body = { name: shop.name('replayed') };
      const ask = { key: newKey() };
      const first = done(await shop.wide.patch(path, body, ask), 201);
      const again = done(await shop.wide.patch(path, body, ask), 201);
      is('the operation', again.operation, first.operation);
      is('a replay', again.isReplay, true);
    }),
    check('An upsert of a new ID needs what a record needs', doubled, async (shop) => {
      const answer = await shop.wide.patch(at('/products', shop.unique('up')), { sku: null });
      names(refused(answer, 422, 'validation_failed'), 'name', 'required');
    }),
    check('An upsert works for customers and locations, too', doubled, async (shop) => {
      const customer = at('/customers', shop.unique('up'));
      const body = shop.customerBody();
      done(await shop.wide.patch(customer, body), 201);
      done(await shop.wide.patch(customer, body), 200);
      const location = at('/locations', shop.unique('up'));
      done(await shop.wide.patch(location, { name: shop.name('up') }), 201);
      done(await shop.wide.patch(location, { status: 'inactive' }), 200);
    }),
    check('A batch answers one result for each write, in their order', lost, async (shop) => {
      const operations = Array.from({ length: 5 }, () => {
        return { type: 'customers.create', idempotency_key: newKey(), body: shop.customerBody() };
      });
      const answer = done(await shop.wide.post('/batches', { operations }));
      const results = answer.listAt('data.results').map((one) => memberAt(one, 'data.email'));
      is(
        'the addresses',
        results,
        operations.map(({ body }) => body.email),
      );
    }),
    check('A batch sent again replays what is done', lost, async (shop) => {
      const product = await shop.stocked('10');
      const body = {
        from_location_id: shop.here,
        reason: 'sale',
        lines: [{ product_id: product, quantity: '2' }],
      };
      const operations = [{ type: 'inventory.transfer', idempotency_key: newKey(), body }];
      const ask = { key: newKey() };
      const first = done(await shop.wide.post('/batches', { operations }, ask));
      const again = done(await shop.wide.post('/batches', { operations }, ask));
      is('the operation', again.operation, first.operation);
      const result = again.at('data.results.0');
      is('the status', memberAt(result, 'status'), 201);
      is('replayed', memberAt(result, 'meta.replayed'), true);
      is('what is left', await shop.quantity(product), '8');
    }),
    check('A write of a batch is a replay as a request of its own', lost, async (shop) => {
      const body = shop.customerBody();
      const key = newKey();
      const operations = [{ type: 'customers.create', idempotency_key: key, body }];
      const batch = done(await shop.wide.post('/batches', { operations }));
      const own = done(await shop.wide.post('/customers', body, { key }), 201);
      is('a replay', own.isReplay, true);
      is('the operation', own.operation, batch.at('data.results.0.meta.operation_id'));
    }),
    check('A write that was done by itself is a replay in a batch', lost, async (shop) => {
      const product = await shop.stocked('10');
      const key = newKey();
      done(await shop.sell(product, '1', {}, key), 201);
      const lines = [{ product_id: product, quantity: '1' }];
      const body = { from_location_id: shop.here, reason: 'sale', lines };
      const operations = [{ type: 'inventory.transfer', idempotency_key: key, body }];
      const answer = done(await shop.wide.post('/batches', { operations }));
      is('replayed', answer.at('data.results.0.meta.replayed'), true);
      is('what is left', await shop.quantity(product), '9');
    }),
    check('A refused write of a batch leaves the others alone', lost, async (shop) => {
      const product = await shop.stocked('3');
      const sale = (quantity: string) => {
        const lines = [{ product_id: product, quantity }];
        const body = { from_location_id: shop.here, reason: 'sale', lines };
        return { type: 'inventory.transfer', idempotency_key: newKey(), body };
      };
      const wrong = { type: 'customers.create', idempotency_key: newKey(), body: { x: 1 } };
      const operations = [sale('99'), wrong, sale('2')];
      const results = done(await shop.wide.post('/batches', { operations })).listAt('data.results');
      is(
        'the statuses',
        results.map((one) => memberAt(one, 'status')),
        [422, 422, 201],
      );
      is('what is left', await shop.quantity(product), '1');
    }),
    check(
      'Another list under the key of a batch is 409, and nothing of it is done',
      lost,
      async (shop) => {
        const write = () => {
          return { type: 'customers.create', idempotency_key: newKey(), body: shop.customerBody() };
        };
        const ask = { key: newKey() };
        done(await shop.wide.post('/batches', { operations: [write()] }, ask));
        const other = write();
        const answer = await shop.wide.post('/batches', { operations: [other] }, ask);
        refused(answer, 409, 'idempotency_key_reused');
        const { email } = other.body;
        const found = await shop.wide.get('/customers', { email: String(email) });
        is('what was made', done(found).listAt('data'), []);
      },
    ),
    check(
      'Two writes of a batch with one key are refused, and nothing is done',
      lost,
      async (shop) => {
        const write = {
          type: 'customers.create',
          idempotency_key: newKey(),
          body: shop.customerBody(),
        };
        const answer = await shop.wide.post('/batches', { operations: [write, write] });
        refused(answer, 422, 'validation_failed');
        const found = await shop.wide.get('/customers', { email: String(write.body.email) });
        is('what was made', done(found).listAt('data'), []);
      },
    ),
    check('A write of a batch needs its own scope and its own location', lost, async (shop) => {
      const product = await shop.stocked('5', shop.there);
      const adjustment = {
        product_id: product,
        location_id: shop.there,
        target_quantity: '1',
        reason: 'correction',
      };
      const operations = [
        { type: 'customers.create', idempotency_key: newKey(), body: shop.customerBody() },
        { type: 'inventory.adjust', idempotency_key: newKey(), body: adjustment },
      ];
      const results = done(await shop.narrow.post('/batches', { operations })).listAt(
        'data.results',
      );
      is(
        'the codes',
        results.map((one) => memberAt(one, 'error.code')),
        ['insufficient_scope', 'location_not_granted'],
      );
      is('the level', await shop.quantity(product, shop.there), '5');
    }),
    check('A batch changes the version that if_match names', lost, async (shop) => {
      const id = await shop.customer();
      const change = (note: string) => {
        return {
          type: 'customers.update',
          idempotency_key: newKey(),
          id,
          if_match: 1,
          body: { note },
        };
      };
      const operations = [change('a'), change('b')];
      const results = done(await shop.wide.post('/batches', { operations })).listAt('data.results');
      is('the statuses', results.map((one) => memberAt(one, 'status')).sort(), [200, 412]);
    }),
    check('A batch takes 200 writes, and no more', lost, async (shop) => {
      const write = () => {
        return { type: 'customers.create', idempotency_key: newKey(), body: shop.customerBody() };
      };
      const operations = Array.from({ length: 201 }, write);
      const answer = await shop.wide.post('/batches', { operations });
      names(refused(answer, 422, 'validation_failed'), 'operations', 'too_many');
    }),
    check(
      'A sync by upserts in a batch makes nothing new the second night',
      doubled,
      async (shop) => {
        const ids = Array.from({ length: 20 }, () => shop.unique('night'));
        const bodies = ids.map(() => ({ name: shop.name('night') }));
        const night = async () => {
          const operations = ids.map((external_id, n) => {
            return {
              type: 'products.upsert',
              idempotency_key: newKey(),
              external_id,
              body: bodies[n],
            };
          });
          const answer = done(await shop.wide.post('/batches', { operations }));
          return answer.listAt('data.results').map((one) => memberAt(one, 'status'));
        };
        is('the first night', new Set(await night()), new Set([201]));
        is('the second night', new Set(await night()), new Set([200]));
      },
    ),
  ],
};
