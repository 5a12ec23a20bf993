// Whole messages through what is between: long addresses, large bodies, slow ones, compression,
// connections that are used again.

import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { type Answer, done, holds, is, matches, refused } from '../answer.ts';
import { newKey } from '../caller.ts';
import { check, type Subject } from '../check.ts';
import { oneConnection, sentInParts } from '../raw.ts';

const ownForm = 'Programs that branch on error codes meet a page of HTML and stop.';
const lost = 'What a merchant writes is refused, or arrives as something else.';

export const messages: Subject = {
  title: 'Messages through all that is between',
  checks: [
    check('An unknown path is answered by the service', ownForm, async (shop) => {
      refused(await shop.wide.get('/nothing'), 404, 'not_found');
    }),
    check('Each method reaches the service', ownForm, async (shop) => {
      for (const method of ['PUT', 'DELETE', 'OPTIONS']) {
        const answer = await shop.wide.send(method, '/products', undefined);
        refused(answer, 405, 'method_not_allowed');
      }
    }),
    check('PATCH passes with its body', lost, async (shop) => {
      const path = `/customers/${await shop.customer()}`;
      const note = shop.unique('note');
      is('the note', done(await shop.wide.patch(path, { note })).at('data.note'), note);
    }),
    check(
      'HEAD is answered like GET, without a body',
      'Monitors report an outage.',
      async (shop) => {
        const answer = done(await shop.wide.send('HEAD', '/credential', undefined));
        is('the length of the body', answer.bytes.length, 0);
      },
    ),
    check('Each of several parameters of one name arrives', lost, async (shop) => {
      const products = await Promise.all([shop.stocked('1'), shop.stocked('2'), shop.stocked('3')]);
      const query = { location_id: shop.here, product_id: products };
      const levels = done(await shop.wide.get('/inventory/levels', query)).listAt('data');
      is('how many levels', levels.length, 3);
    }),
    check('Escaped characters of the address arrive as they are', lost, async (shop) => {
      const id = `${shop.unique('gid://shop/Product')}?a=1&b=%2F+ ü#x`;
      const path = `/products?external_id=${encodeURIComponent(id)}`;
      const made = done(await shop.wide.patch(path, { name: shop.name('escaped') }), 201);
      is('the external ID', made.at('data.external_id'), id);
      const found = done(await shop.wide.get('/products', { external_id: id })).listAt('data');
      is('how many have it', found.length, 1);
    }),
    check('An address of 8,000 characters passes', lost, async (shop) => {
      const product_id = Array.from({ length: 99 }, (_, n) => `prod_${String(n).padEnd(59, '0')}`);
      const query = { location_id: shop.here, product_id };
      holds('it is shorter', shop.wide.urlOf('/inventory/levels', query).length > 7_500);
      is('levels', done(await shop.wide.get('/inventory/levels', query)).listAt('data'), []);
    }),
    check('A longer address is refused by the service', ownForm, async (shop) => {
      refused(await shop.wide.get('/products', { q: 'x'.repeat(9_000) }), 414, 'uri_too_long');
    }),
    check('Letters of any script come back byte for byte', lost, async (shop) => {
      const note = 'Zoë Ångström 北京 🧺 e\u0301 \u202bעברית\u202c "quoted" \\ </script> \u2028';
      const made = done(await shop.wide.post('/customers', shop.customerBody({ note })), 201);
      is('the note', made.at('data.note'), note);
      const read = done(await shop.wide.get(`/customers/${made.id}`));
      is('the note, read', read.at('data.note'), note);
    }),
    check(
      'Decimals stay texts, digit for digit, in both directions',
      'Quantities and prices become floating-point numbers, and sums are wrong.',
      async (shop) => {
        const unit = { code: 'kg', precision: 5 };
        const product = await shop.stocked('123456789012.12345', shop.here, { unit });
        is('the quantity', await shop.quantity(product), '123456789012.12345');
        const price = { amount: '0.10', currency: 'EUR' };
        const path = `/products/${await shop.product({ price })}`;
        is('the price', done(await shop.wide.get(path)).at('data.price'), price);
      },
    ),
    check('A body of 60 KB passes', lost, async (shop) => {
      const bytes = JSON.stringify(shop.customerBody()).padEnd(60_000);
      done(await shop.wide.post('/customers', undefined, { bytes }), 201);
    }),
    check('A body that is too large is refused by the service', ownForm, async (shop) => {
      const bytes = JSON.stringify(shop.customerBody()).padEnd(100_000);
      const answer = await shop.wide.post('/customers', undefined, { bytes });
      refused(answer, 413, 'content_too_large');
    }),
    check(
      'A batch of 1 MiB passes',
      'A till that was offline cannot send its day.',
      async (shop) => {
        const operation = {
          type: 'customers.create',
          idempotency_key: newKey(),
          body: shop.customerBody(),
        };
        const bytes = JSON.stringify({ operations: [operation] }).padEnd(1_000_000);
        const answer = done(await shop.wide.post('/batches', undefined, { bytes }));
        is('the status of its write', answer.at('data.results.0.status'), 201);
      },
    ),
    check('A body in chunks, without its length, passes', lost, async (shop) => {
      const text = JSON.stringify(shop.customerBody());
      const parts = [`${text.length.toString(16)}\r\n${text}\r\n`, '0\r\n\r\n'];
      const answer = await sentInParts(shop.wide, '/customers', { parts, isChunked: true });
      is('the status', answer.status, 201);
    }),
    check(
      'A body that arrives slowly is taken whole',
      'Phones on bad lines fail.',
      async (shop) => {
        const text = JSON.stringify(shop.customerBody());
        const parts = Array.from({ length: 5 }, (_, n) =>
          text.slice(n * 20, n === 4 ? undefined : n * 20 + 20),
        );
        const answer = await sentInParts(shop.wide, '/customers', { parts, pauseMs: 400 });
        is('the status', answer.status, 201);
      },
    ),
    check(
      'Expect: 100-continue is answered',
      'Some clients wait for it, and give up.',
      async (shop) => {
        const parts = [JSON.stringify(shop.customerBody())];
        const more = { parts, pauseMs: 300, head: 'Expect: 100-continue\r\n' };
        is('the status', (await sentInParts(shop.wide, '/customers', more)).status, 201);
      },
    ),
    check('Requests on one connection are answered in their order', lost, async (shop) => {
      const paths = ['/credential', '/nothing', '/products?limit=1', '/products/x', '/credential'];
      const statuses = await oneConnection(shop.wide, paths);
      is('the statuses', statuses, [200, 404, 200, 404, 200]);
    }),
    check(
      'A long list is compressed for who asks, and whole',
      'Phones pay for it.',
      async (shop) => {
        const more = { description: 'Words that repeat. '.repeat(100) };
        const made = await Promise.all([
          shop.product(more),
          shop.product(more),
          shop.product(more),
        ]);
        const path = '/products?limit=200';
        for (const encoding of ['gzip', 'br']) {
          const ask = { headers: { 'Accept-Encoding': encoding } };
          const answer = done(await shop.wide.get(path, {}, ask));
          is('Content-Encoding', answer.headers['content-encoding'], encoding);
          const text = unpacked(answer).toString('utf8');
          matches('the list', text, /^\{"data":\[.*\}$/s);
        }
        const own = done(await shop.wide.get(`/products/${made[0]}`)).at('data.description');
        is('the description', own, more.description);
      },
    ),
    check(
      'Nothing is compressed for who does not ask',
      'Simple clients read rubbish.',
      async (shop) => {
        const ask = { headers: { 'Accept-Encoding': 'identity' } };
        const answer = done(await shop.wide.get('/products', { limit: '200' }, ask));
        is('Content-Encoding', answer.headers['content-encoding'], undefined);
        holds('it is no JSON', answer.body !== undefined);
      },
    ),
    check('A list of 200 records comes whole', 'A sync misses records.', async (shop) => {
      const note = 'n'.repeat(2_000);
      const operations = Array.from({ length: 200 }, () => {
        return {
          type: 'customers.create',
          idempotency_key: newKey(),
          body: shop.customerBody({ note }),
        };
      });
      const sent = done(await shop.wide.post('/batches', { operations })).listAt('data.results');
      is('how many were made', sent.length, 200);
      const list = done(await shop.wide.get('/customers', { limit: '200' }));
      holds('it ends early', list.listAt('data').length === 200);
    }),
  ],
};

function unpacked({ headers, bytes }: Answer): Buffer {
  const coding = headers['content-encoding'];
  if (coding === 'br') return brotliDecompressSync(bytes);
  return coding === 'gzip' ? gunzipSync(bytes) : bytes;
}
