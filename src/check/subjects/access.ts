// Tokens, scopes, locations, merchants: who may do what, and who sees whose records.

import { type Answer, done, holds, is, memberAt, names, refused } from '../answer.ts';
import type { Caller } from '../caller.ts';
import { check, type Subject } from '../check.ts';
import { allOf, type Shop } from '../shop.ts';

const open = 'Whoever finds an old token, or invents one, reads and changes the stock.';
const parted = 'A merchant reads or changes the records of another merchant.';
const granted = 'A till of one branch sees or changes the stock of another branch.';

const lineOf = (product: string) => [{ product_id: product, quantity: '1' }];

export const access: Subject = {
  title: 'Tokens, scopes, locations and merchants',
  checks: [
    check('A request without a token is 401', open, async (shop) => {
      for (const path of ['/products', '/inventory/movements', '/events', '/operations']) {
        refused(await shop.nobody.get(path), 401, 'authentication_required');
      }
      const answer = await shop.nobody.post('/customers', shop.customerBody());
      refused(answer, 401, 'authentication_required');
    }),
    check('A token in another form of Authorization is 401', open, async (shop) => {
      for (const form of [`Basic ${shop.tokens.token}`, shop.tokens.token, '']) {
        const answer = await shop.nobody.get(
          '/credential',
          {},
          { headers: { Authorization: form } },
        );
        refused(answer, 401, 'authentication_required');
      }
    }),
    check('A token in the address is not taken', open, async (shop) => {
      const answer = await shop.nobody.get('/credential', { access_token: shop.tokens.token });
      holds(`it was answered with ${answer.status}`, answer.status === 401);
    }),
    check('A wrong token is 401', open, async (shop) => {
      const wrong = shop.tokens.token.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a'));
      refused(await shop.nobody.as(wrong).get('/credential'), 401, 'invalid_token');
    }),
    check('A token whose time is over is 401', open, async (shop) => {
      refused(
        await shop.nobody.as(shop.tokens.expired_token).get('/credential'),
        401,
        'invalid_token',
      );
    }),
    check('A token that was revoked is 401', open, async (shop) => {
      refused(
        await shop.nobody.as(shop.tokens.revoked_token).get('/credential'),
        401,
        'invalid_token',
      );
    }),
    check('GET /credential says what a token may do', 'Nobody can find out.', async (shop) => {
      const own = done(await shop.narrow.get('/credential'));
      is('kind', own.at('data.kind'), 'personal_access_token');
      is('locations', own.at('data.locations'), [shop.here]);
      is('scopes', own.at('data.scopes'), ['inventory.read', 'inventory.write', 'events.read']);
      is(
        'locations of the wide one',
        done(await shop.wide.get('/credential')).at('data.locations'),
        'all',
      );
    }),
    ...['/customers', '/products', '/locations', '/webhooks'].map((path) =>
      check(`GET ${path} needs its scope`, granted, async ({ narrow }) => {
        const answer = refused(await narrow.get(path), 403, 'insufficient_scope');
        is('the scope', answer.at('error.details.0.scope'), `${path.slice(1)}.read`);
      }),
    ),
    ...['/customers', '/products', '/locations', '/webhooks'].map((path) =>
      check(`POST ${path} needs its scope`, granted, async ({ narrow }) => {
        const answer = refused(await narrow.post(path, {}), 403, 'insufficient_scope');
        is('the scope', answer.at('error.details.0.scope'), `${path.slice(1)}.write`);
      }),
    ),
    check('GET /stock needs products.read beside inventory.read', granted, async (shop) => {
      await shop.stocked('5');
      const query = { location_id: shop.here };
      is('what is shown', done(await shop.narrow.get('/stock', query)).listAt('data'), []);
    }),
    check('Levels of a location that is not granted are 403', granted, async (shop) => {
      const query = { location_id: shop.there };
      refused(await shop.narrow.get('/inventory/levels', query), 403, 'location_not_granted');
      done(await shop.narrow.get('/inventory/levels', { location_id: shop.here }));
    }),
    check(
      'An unknown location is refused in the words of one that is not granted',
      granted,
      async (shop) => {
        const ids = [
          shop.there,
          shop.elsewhere,
          shop.here.replace(/.$/, (last) => (last === '0' ? '1' : '0')),
          'x',
        ];
        const texts = ids.map(async (id) => {
          const answer = await shop.narrow.get('/inventory/levels', { location_id: id });
          return wordsOf(refused(answer, 403, 'location_not_granted'));
        });
        is('how many answers there are', new Set(await Promise.all(texts)).size, 1);
      },
    ),
    check('An adjustment at a location that is not granted is 403', granted, async (shop) => {
      const product = await shop.stocked('5', shop.there);
      const body = {
        product_id: product,
        location_id: shop.there,
        target_quantity: '1',
        reason: 'correction',
      };
      refused(await shop.narrow.post('/inventory/adjustments', body), 403, 'location_not_granted');
      is('the level', await shop.quantity(product, shop.there), '5');
      const own = { ...body, location_id: shop.here };
      done(await shop.narrow.post('/inventory/adjustments', own), 201);
    }),
    check('A transfer needs a grant of both of its locations', granted, async (shop) => {
      const product = await shop.stocked('5');
      const body = {
        from_location_id: shop.here,
        to_location_id: shop.there,
        reason: 'transfer',
        lines: lineOf(product),
      };
      refused(await shop.narrow.post('/inventory/transfers', body), 403, 'location_not_granted');
      is('the level', await shop.quantity(product), '5');
    }),
    check('A count and a reservation need a grant of their location', granted, async (shop) => {
      const product = await shop.stocked('5', shop.there);
      const count = {
        location_id: shop.there,
        lines: [{ product_id: product, counted_quantity: '1' }],
      };
      refused(await shop.narrow.post('/inventory/counts', count), 403, 'location_not_granted');
      const kept = { location_id: shop.there, lines: lineOf(product) };
      refused(await shop.narrow.post('/inventory/reservations', kept), 403, 'location_not_granted');
      is('the level', await shop.quantity(product, shop.there), '5');
    }),
    check('Movements of a location that is not granted are not listed', granted, async (shop) => {
      const product = await shop.stocked('5', shop.there);
      const query = { product_id: product };
      is(
        'movements',
        done(await shop.narrow.get('/inventory/movements', query)).listAt('data'),
        [],
      );
      const [own] = await shop.movements(product);
      refused(await shop.narrow.get(`/inventory/movements/${String(own?.id)}`), 404, 'not_found');
    }),
    check('Levels of a product are shown at granted locations only', granted, async (shop) => {
      const product = await shop.stocked('5', shop.there);
      done(await shop.adjust(product, '2'), 201);
      const list = done(await shop.narrow.get(`/products/${product}/levels`)).listAt('data');
      is(
        'where',
        list.map((one) => memberAt(one, 'location_id')),
        [shop.here],
      );
    }),
    check('A transfer is shown cut to the side that is granted', granted, async (shop) => {
      const product = await shop.stocked('5');
      const body = {
        from_location_id: shop.here,
        to_location_id: shop.there,
        reason: 'transfer',
        lines: lineOf(product),
      };
      const { id } = done(await shop.wide.post('/inventory/transfers', body), 201);
      const seen = done(await shop.narrow.get(`/inventory/transfers/${id}`));
      is('from', seen.at('data.from_location_id'), shop.here);
      is('to', seen.at('data.to_location_id'), null);
      is('the movement there', seen.at('data.lines.0.in_movement_id'), null);
    }),
    check(
      'A record of another merchant is 404, in the words of one that is not there',
      parted,
      async (shop) => {
        const product = await shop.product();
        const customer = await shop.customer();
        const there = wordsOf(await shop.other.get('/products/prod_0'));
        for (const path of [
          `/products/${product}`,
          `/customers/${customer}`,
          `/locations/${shop.here}`,
        ]) {
          is('the words', wordsOf(refused(await shop.other.get(path), 404, 'not_found')), there);
        }
      },
    ),
    check('A record of another merchant cannot be changed', parted, async (shop) => {
      const path = `/customers/${await shop.customer()}`;
      refused(await shop.other.patch(path, { note: 'stolen' }), 404, 'not_found');
      is('the note', done(await shop.wide.get(path)).at('data.note'), null);
    }),
    ...[
      '/products',
      '/customers',
      '/inventory/movements',
      '/operations',
      '/inventory/transfers',
    ].map((path) =>
      check(`GET ${path} shows nothing of another merchant`, parted, async (shop) => {
        await partedIn(shop, shop.other, path);
      }),
    ),
    check('A location of another merchant cannot be written to', parted, async (shop) => {
      const product = await shop.product();
      refused(await shop.adjust(product, '5', shop.elsewhere), 403, 'location_not_granted');
    }),
    check('A product of another merchant cannot be moved', parted, async (shop) => {
      const product = await shop.product();
      const body = {
        product_id: product,
        location_id: shop.elsewhere,
        target_quantity: '5',
        reason: 'correction',
      };
      const answer = await shop.other.post('/inventory/adjustments', body);
      names(refused(answer, 422, 'product_not_found'), 'product_id', 'product_not_found');
    }),
    check('Two merchants may use one SKU and one external ID', parted, async (shop) => {
      const body = {
        name: shop.name('both'),
        sku: shop.unique('S'),
        external_id: shop.unique('E'),
      };
      done(await shop.wide.post('/products', body), 201);
      done(await shop.other.post('/products', body), 201);
    }),
    check('The feed shows nothing of another merchant', parted, async (shop) => {
      const made = done(await shop.wide.post('/products', { name: shop.name('fed') }), 201);
      const events = await allOf(shop.other, '/events', {
        type: 'product.created',
        product_id: made.id,
      });
      is('events', events, []);
    }),
  ],
};

/** What this makes is in the own list, and not in that of the other merchant. */
async function partedIn(shop: Shop, other: Caller, path: string): Promise<void> {
  const product = await shop.stocked('5');
  const customer = await shop.customer();
  done(await shop.sell(product, '1'), 201);
  const own = await shop.wide.get(path, { limit: '200' });
  holds('the own list is empty', done(own).listAt('data').length > 0);
  const foreign = JSON.stringify(await allOf(other, path));
  for (const id of [product, customer, shop.here, shop.credential]) {
    holds(`${id} is in it`, !foreign.includes(id));
  }
  const words = own.listAt('data').map((one) => String(memberAt(one, 'id')));
  holds('a record of the first is in it', !words.some((id) => foreign.includes(id)));
}

/** An answer but for what differs each time. */
function wordsOf({ status, body }: Answer): string {
  return JSON.stringify([status, memberAt(body, 'error')]);
}
