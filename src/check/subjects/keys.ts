// Keys: a write is done once, however often it is sent.

import { done, holds, is, memberAt, names, refused } from '../answer.ts';
import { newKey } from '../caller.ts';
import { check, type Subject } from '../check.ts';

const twice = 'A till that sends a sale again after a time-out sells it twice.';
const mixed = 'A write that was never done is taken for done, and is lost.';
const unknown = 'After an outage nobody can say which writes were done.';

export const keys: Subject = {
  title: 'Keys',
  checks: [
    check('Every POST requires Idempotency-Key', twice, async (shop) => {
      const answer = await shop.wide.post('/customers', shop.customerBody(), { key: null });
      names(refused(answer, 400, 'idempotency_key_required'), 'header.idempotency-key', 'required');
    }),
    check('Every PATCH requires Idempotency-Key', twice, async (shop) => {
      const path = `/customers/${await shop.customer()}`;
      const answer = await shop.wide.patch(path, { note: 'x' }, { key: null });
      refused(answer, 400, 'idempotency_key_required');
    }),
    ...['/inventory/adjustments', '/inventory/transfers', '/inventory/counts', '/batches'].map(
      (path) =>
        check(`POST ${path} requires Idempotency-Key`, twice, async ({ wide }) => {
          refused(await wide.post(path, {}, { key: null }), 400, 'idempotency_key_required');
        }),
    ),
    check('A key has 16 to 255 visible ASCII characters', mixed, async (shop) => {
      const body = shop.customerBody();
      for (const key of ['k'.repeat(15), 'k'.repeat(256), `${newKey()} x`, `${newKey()}\u00e9`]) {
        refused(await shop.wide.post('/customers', body, { key }), 400, 'idempotency_key_invalid');
      }
      const short = shop.unique('k').slice(-12).padStart(16, '~');
      done(await shop.wide.post('/customers', body, { key: short }), 201);
    }),
    check('The same key and request replays the same resource', twice, async (shop) => {
      const ask = { key: newKey() };
      const body = shop.customerBody();
      const first = done(await shop.wide.post('/customers', body, ask), 201);
      const again = done(await shop.wide.post('/customers', body, ask), 201);
      is('the resource', again.id, first.id);
      is('data', again.at('data'), first.at('data'));
    }),
    check('A replay has the operation identity of the first answer', unknown, async (shop) => {
      const ask = { key: newKey() };
      const body = shop.customerBody();
      const first = done(await shop.wide.post('/customers', body, ask), 201);
      const again = await shop.wide.post('/customers', body, ask);
      is('meta.operation_id', again.operation, first.operation);
      holds('it does not begin with op_', first.operation.startsWith('op_'));
    }),
    check(
      'A replay has the status of the first answer',
      'A client that expects 201 takes a sale that was done for one that failed.',
      async (shop) => {
        const product = await shop.stocked('5');
        const key = newKey();
        done(await shop.sell(product, '1', {}, key), 201);
        done(await shop.sell(product, '1', {}, key), 201);
        const path = `/products/${product}`;
        const change = { key: newKey() };
        done(await shop.wide.patch(path, { barcode: '1' }, change), 200);
        done(await shop.wide.patch(path, { barcode: '1' }, change), 200);
      },
    ),
    check('A replay has a request ID of its own', unknown, async (shop) => {
      const ask = { key: newKey() };
      const body = shop.customerBody();
      const first = await shop.wide.post('/customers', body, ask);
      const again = await shop.wide.post('/customers', body, ask);
      holds('it is the same', first.textAt('meta.request_id') !== again.textAt('meta.request_id'));
    }),
    check('A replayed sale takes nothing a second time', twice, async (shop) => {
      const product = await shop.stocked('10');
      const key = newKey();
      for (let n = 0; n < 4; n += 1) done(await shop.sell(product, '3', {}, key), 201);
      is('what is left', await shop.quantity(product), '7');
      is('how many movements', (await shop.movements(product)).length, 2);
    }),
    check('A write that is sent once is done once', twice, async (shop) => {
      const email = `${shop.unique('once')}@example.com`;
      done(await shop.wide.post('/customers', shop.customerBody({ email })), 201);
      const found = done(await shop.wide.get('/customers', { email })).listAt('data');
      is('how many customers', found.length, 1);
      const product = await shop.stocked('10');
      done(await shop.sell(product, '3'), 201);
      is('what is left', await shop.quantity(product), '7');
    }),
    check('Blanks and the order of members make no other request', twice, async (shop) => {
      const ask = { key: newKey() };
      const body = shop.customerBody({ note: 'a' });
      const first = done(await shop.wide.post('/customers', body, ask), 201);
      const reversed = Object.fromEntries(Object.entries(body).reverse());
      const bytes = JSON.stringify(reversed, null, 3);
      const again = done(await shop.wide.post('/customers', undefined, { ...ask, bytes }), 201);
      is('the operation', again.operation, first.operation);
    }),
    check('"4" and "4.0" are the same quantity, and the same request', twice, async (shop) => {
      const product = await shop.stocked('9');
      const key = newKey();
      const first = done(await shop.sell(product, '4', {}, key), 201);
      const again = done(await shop.sell(product, '4.0', {}, key), 201);
      is('the operation', again.operation, first.operation);
      is('what is left', await shop.quantity(product), '5');
    }),
    check('The same key with a changed request is 409', mixed, async (shop) => {
      const ask = { key: newKey() };
      const body = shop.customerBody();
      const first = done(await shop.wide.post('/customers', body, ask), 201);
      const other = await shop.wide.post('/customers', { ...body, note: 'other' }, ask);
      const operation = refused(other, 409, 'idempotency_key_reused').at(
        'error.details.0.operation_id',
      );
      is('the operation that it names', operation, first.operation);
    }),
    check('No work is performed after 409', mixed, async (shop) => {
      const product = await shop.stocked('10');
      const key = newKey();
      done(await shop.sell(product, '1', {}, key), 201);
      refused(await shop.sell(product, '2', {}, key), 409, 'idempotency_key_reused');
      is('what is left', await shop.quantity(product), '9');
      done(await shop.sell(product, '1', {}, key), 201);
    }),
    check('A key of another credential is another key', mixed, async (shop) => {
      const product = await shop.stocked('10');
      const key = newKey();
      const lines = [{ product_id: product, quantity: '1' }];
      const body = { from_location_id: shop.here, reason: 'sale', lines };
      const own = done(await shop.wide.post('/inventory/transfers', body, { key }), 201);
      const other = done(await shop.narrow.post('/inventory/transfers', body, { key }), 201);
      holds('they are one operation', own.operation !== other.operation);
      is('what is left', await shop.quantity(product), '8');
    }),
    check('A key of another merchant is another key', mixed, async (shop) => {
      const ask = { key: newKey() };
      const body = shop.customerBody();
      const own = done(await shop.wide.post('/customers', body, ask), 201);
      const other = done(await shop.other.post('/customers', body, ask), 201);
      holds('they are one operation', own.operation !== other.operation);
    }),
    check('A key of another kind of write is another key', mixed, async (shop) => {
      const ask = { key: newKey() };
      done(await shop.wide.post('/customers', shop.customerBody(), ask), 201);
      done(await shop.wide.post('/products', { name: shop.name('keyed') }, ask), 201);
    }),
    check(
      'A replay shows the current state of the resource',
      'A client stores what was, over what is.',
      async (shop) => {
        const ask = { key: newKey() };
        const body = shop.customerBody();
        const first = done(await shop.wide.post('/customers', body, ask), 201);
        done(await shop.wide.patch(`/customers/${first.id}`, { note: 'newer' }));
        const again = done(await shop.wide.post('/customers', body, ask), 201);
        is('the note', again.at('data.note'), 'newer');
        is('the version', again.at('data.version'), 2);
      },
    ),
    check(
      'A replayed adjustment shows its movement, and the level of now',
      unknown,
      async (shop) => {
        const product = await shop.product();
        const key = newKey();
        const first = done(await shop.adjust(product, '5', shop.here, {}, key), 201);
        done(await shop.sell(product, '2'), 201);
        const again = done(await shop.adjust(product, '5', shop.here, {}, key), 201);
        is('quantity_after', again.at('data.quantity_after'), '5');
        is('the movement', again.id, first.id);
        is('the level', again.at('data.level.quantity'), '3');
      },
    ),
    check('A refusal by a rule binds the key, and stays', unknown, async (shop) => {
      const product = await shop.stocked('1');
      const key = newKey();
      const first = refused(await shop.sell(product, '5', {}, key), 422, 'insufficient_quantity');
      done(await shop.receive(product, '10'), 201);
      const again = refused(await shop.sell(product, '5', {}, key), 422, 'insufficient_quantity');
      is('the operation', again.operation, first.operation);
      is('a replay', again.isReplay, true);
      is('what is left', await shop.quantity(product), '11');
    }),
    check('A refusal of the request itself binds no key', mixed, async (shop) => {
      const ask = { key: newKey() };
      const body = shop.customerBody();
      const wrong = await shop.wide.post('/customers', { ...body, colour: 'red' }, ask);
      refused(wrong, 422, 'validation_failed');
      is('meta.operation_id', wrong.at('meta.operation_id'), undefined);
      const right = done(await shop.wide.post('/customers', body, ask), 201);
      is('a replay', right.isReplay, false);
    }),
    check('What became of a key can be asked', unknown, async (shop) => {
      const key = newKey();
      const made = done(await shop.wide.post('/customers', shop.customerBody(), { key }), 201);
      const found = await shop.wide.get('/operations', { type: 'customers.create' }, { key });
      const [operation, ...others] = done(found).listAt('data');
      is('how many more', others.length, 0);
      is('its ID', memberAt(operation, 'id'), made.operation);
      is('its status', memberAt(operation, 'status'), 'succeeded');
      is('its resource', memberAt(operation, 'resource.id'), made.id);
    }),
    check('Of a key that was never used nothing is found', mixed, async (shop) => {
      const ask = { key: newKey() };
      const found = await shop.wide.get('/operations', { type: 'customers.create' }, ask);
      is('what is found', done(found).listAt('data'), []);
    }),
  ],
};
