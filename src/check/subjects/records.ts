// Customers, products and locations: members, versions, changes, and what only one may have.

import { done, holds, is, matches, names, refused } from '../answer.ts';
import { newKey } from '../caller.ts';
import { check, type Subject } from '../check.ts';

const kept = 'What was entered is not what is kept, and nobody notices until it is needed.';
const overwritten = 'Two people who change one record overwrite each other without knowing.';
const doubled = 'One thing is there twice, and each has a part of the stock.';

export const records: Subject = {
  title: 'Customers, products and locations',
  checks: [
    check('A customer keeps each member as it was sent', kept, async (shop) => {
      const body = shop.customerBody({
        phone: '+4930123456',
        external_id: shop.unique('own'),
        note: 'Rings twice.',
        metadata: { loyalty: 'gold', 'a b': '' },
      });
      const { id } = done(await shop.wide.post('/customers', body), 201);
      const data = Object(done(await shop.wide.get(`/customers/${id}`)).at('data'));
      for (const [name, value] of Object.entries(body)) is(name, data[name], value);
    }),
    check('A product keeps each member as it was sent', kept, async (shop) => {
      const body = {
        name: shop.name('whole'),
        description: 'What a buyer should know.',
        sku: shop.unique('SKU'),
        barcode: '4006381333931',
        inventory_tracked: true,
        unit: { code: 'kg', precision: 3 },
        price: { amount: '12.50', currency: 'EUR' },
        low_stock_at: '1.5',
        external_id: shop.unique('own'),
        metadata: { shelf: '4' },
      };
      const { id } = done(await shop.wide.post('/products', body), 201);
      matches('the ID', id, /^prod_/);
      const data = Object(done(await shop.wide.get(`/products/${id}`)).at('data'));
      for (const [name, value] of Object.entries(body)) is(name, data[name], value);
    }),
    check('What is not sent has its default, or is null', kept, async (shop) => {
      const data = Object(
        done(await shop.wide.get(`/products/${await shop.product()}`)).at('data'),
      );
      for (const name of ['sku', 'barcode', 'price', 'external_id', 'low_stock_at']) {
        is(name, data[name], null);
      }
      is('status, inventory_tracked', [data.status, data.inventory_tracked], ['active', true]);
      is('unit', data.unit, { code: 'each', precision: 0 });
      is('metadata', data.metadata, {});
    }),
    check('A location keeps each member as it was sent', kept, async (shop) => {
      const body = {
        name: shop.name('location'),
        code: shop.unique('L'),
        type: 'warehouse',
        timezone: 'Asia/Kathmandu',
        external_id: shop.unique('own'),
      };
      const made = done(await shop.wide.post('/locations', body), 201);
      const path = `/locations/${made.id}`;
      const data = Object(done(await shop.wide.get(path)).at('data'));
      for (const [name, value] of Object.entries(body)) is(name, data[name], value);
      done(await shop.wide.patch(path, { status: 'inactive' }));
    }),
    check('PATCH changes what is sent, and nothing else', kept, async (shop) => {
      const id = await shop.customer({ note: 'stays', phone: '+4930123456' });
      const path = `/customers/${id}`;
      const changed = done(await shop.wide.patch(path, { phone: '+4930654321' }));
      is('phone', changed.at('data.phone'), '+4930654321');
      is('note', changed.at('data.note'), 'stays');
    }),
    check('PATCH clears what is null', kept, async (shop) => {
      const path = `/customers/${await shop.customer({ note: 'goes' })}`;
      is('note', done(await shop.wide.patch(path, { note: null })).at('data.note'), null);
    }),
    check(
      'PATCH sets single pairs of metadata, and deletes those that are null',
      kept,
      async (shop) => {
        const path = `/customers/${await shop.customer({ metadata: { a: '1', b: '2' } })}`;
        const changed = done(await shop.wide.patch(path, { metadata: { b: null, c: '3' } }));
        is('metadata', changed.at('data.metadata'), { a: '1', c: '3' });
      },
    ),
    check('A version grows by one with every change', overwritten, async (shop) => {
      const path = `/customers/${await shop.customer()}`;
      for (const version of [2, 3]) {
        const changed = done(await shop.wide.patch(path, { note: String(version) }));
        is('version', changed.at('data.version'), version);
        is('ETag', changed.headers.etag, `"${version}"`);
      }
    }),
    check('A change that changes nothing makes no version', overwritten, async (shop) => {
      const path = `/customers/${await shop.customer({ note: 'same' })}`;
      const again = done(await shop.wide.patch(path, { note: 'same' }));
      is('version', again.at('data.version'), 1);
      is('meta.position', again.at('meta.position'), undefined);
    }),
    check(
      'If-Match lets a change of the version that was seen through',
      overwritten,
      async (shop) => {
        const path = `/customers/${await shop.customer()}`;
        const headers = { 'If-Match': '"1"' };
        is(
          'version',
          done(await shop.wide.patch(path, { note: 'x' }, { headers })).at('data.version'),
          2,
        );
      },
    ),
    check(
      'If-Match refuses a change of an older version, and names the newer',
      overwritten,
      async (shop) => {
        const path = `/customers/${await shop.customer()}`;
        done(await shop.wide.patch(path, { note: 'first' }));
        const headers = { 'If-Match': '"1"' };
        const answer = await shop.wide.patch(path, { note: 'second' }, { headers });
        refused(answer, 412, 'precondition_failed');
        is('current_version', answer.at('error.details.0.current_version'), 2);
        is('note', done(await shop.wide.get(path)).at('data.note'), 'first');
      },
    ),
    ...[
      ['/products', 'sku', 'sku_taken'],
      ['/locations', 'code', 'code_taken'],
      ['/customers', 'external_id', 'external_id_taken'],
      ['/products', 'external_id', 'external_id_taken'],
    ].map(([path = '', member = '', code = '']) =>
      check(`Of ${path} only one has a ${member}`, doubled, async (shop) => {
        const base = path === '/customers' ? shop.customerBody() : { name: shop.name('one') };
        const body = { ...base, [member]: shop.unique('U') };
        const first = done(await shop.wide.post(path, body), 201);
        const other = refused(await shop.wide.post(path, body), 422, code);
        names(other, member, code);
        if (path === '/locations') {
          done(await shop.wide.patch(`${path}/${first.id}`, { status: 'inactive' }));
        }
      }),
    ),
    check('A SKU differs by case', doubled, async (shop) => {
      const sku = shop.unique('Case');
      done(await shop.wide.post('/products', { name: shop.name('case'), sku }), 201);
      const other = { name: shop.name('case'), sku: sku.toLowerCase() };
      done(await shop.wide.post('/products', other), 201);
    }),
    check('A price has exactly the decimals of its currency', kept, async (shop) => {
      for (const [amount, currency] of [
        ['1.234', 'EUR'],
        ['1.50', 'JPY'],
        ['-1.00', 'EUR'],
      ]) {
        const body = { name: shop.name('price'), price: { amount, currency } };
        refused(await shop.wide.post('/products', body), 422, 'validation_failed');
      }
      const yen = { name: shop.name('price'), price: { amount: '150', currency: 'JPY' } };
      done(await shop.wide.post('/products', yen), 201);
    }),
    check('The unit of a product that has moved does not change', kept, async (shop) => {
      const path = `/products/${await shop.stocked('3')}`;
      const answer = await shop.wide.patch(path, { unit: { code: 'kg', precision: 3 } });
      holds(`it was answered with ${answer.status}`, answer.status === 422);
      is('unit', done(await shop.wide.get(path)).at('data.unit.code'), 'each');
    }),
    check('An archived product cannot be moved, and stays readable', kept, async (shop) => {
      const product = await shop.stocked('3');
      done(await shop.wide.patch(`/products/${product}`, { status: 'archived' }));
      refused(await shop.adjust(product, '5'), 422, 'product_archived');
      refused(await shop.sell(product, '1'), 422, 'product_archived');
      is('status', done(await shop.wide.get(`/products/${product}`)).at('data.status'), 'archived');
      is('the level', await shop.quantity(product), '3');
    }),
    check('A product whose inventory is not tracked cannot be moved', kept, async (shop) => {
      const product = await shop.product({ inventory_tracked: false });
      refused(await shop.adjust(product, '5'), 422, 'inventory_not_tracked');
    }),
    check('Nothing moves at an inactive location', kept, async (shop) => {
      const product = await shop.product();
      const made = done(await shop.wide.post('/locations', { name: shop.name('closed') }), 201);
      const path = `/locations/${made.id}`;
      done(await shop.adjust(product, '5', made.id), 201);
      done(await shop.wide.patch(path, { status: 'inactive' }));
      refused(await shop.adjust(product, '6', made.id), 422, 'location_inactive');
      is('the level', await shop.quantity(product, made.id), '5');
    }),
    check('A time zone that does not exist is refused', kept, async (shop) => {
      const body = { name: shop.name('zone'), timezone: 'Mars/Olympus' };
      const answer = await shop.wide.post('/locations', body);
      names(refused(answer, 422, 'validation_failed'), 'timezone', 'unknown_value');
    }),
    check('No record can be deleted', kept, async (shop) => {
      for (const path of [
        `/customers/${await shop.customer()}`,
        `/products/${await shop.product()}`,
      ]) {
        refused(await shop.wide.send('DELETE', path, undefined), 405, 'method_not_allowed');
        done(await shop.wide.get(path));
      }
    }),
    check('A record is read where its operation says that it is', kept, async (shop) => {
      const key = newKey();
      const made = done(await shop.wide.post('/customers', shop.customerBody(), { key }), 201);
      const operation = done(await shop.wide.get(`/operations/${made.operation}`));
      is('the type', operation.at('data.type'), 'customers.create');
      is('the resource', operation.at('data.resource'), { type: 'customer', id: made.id });
      is('the request', operation.at('data.request_id'), made.at('meta.request_id'));
    }),
  ],
};
