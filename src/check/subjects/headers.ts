// What proxies lose or change: headers, in both directions.

import { done, holds, is, matches, names, refused } from '../answer.ts';
import { newKey } from '../caller.ts';
import { check, type Subject } from '../check.ts';

const lostKey = 'Without the key no write is safe to send again: a sale may be booked twice.';
const lostVersion = 'Two people who change one record overwrite each other without knowing.';
const lostId = 'Nobody finds a request in the log of the service when a merchant asks about it.';
const slowed = 'Clients that do not know when to come back hammer the service, or give up.';

export const headers: Subject = {
  title: 'Headers through all that is between',
  checks: [
    check('Authorization reaches the service', 'Nobody could sign in.', async (shop) => {
      const own = done(await shop.wide.get('/credential'));
      is('the merchant', own.at('data.merchant.id'), shop.merchant);
    }),
    check('Idempotency-Key reaches the service', lostKey, async (shop) => {
      done(await shop.wide.post('/customers', shop.customerBody()), 201);
    }),
    check('Idempotency-Key reaches it letter for letter', lostKey, async (shop) => {
      const body = shop.customerBody();
      const key = `Check-${newKey()}-!#$%&'()*+,-./:;<=>?@[]^_{|}~`;
      const first = done(await shop.wide.post('/customers', body, { key }), 201);
      const other = done(await shop.wide.post('/customers', body, { key: key.toLowerCase() }), 201);
      holds('a key in other letters found the first write', first.operation !== other.operation);
    }),
    check('Idempotency-Key of 255 characters reaches it whole', lostKey, async (shop) => {
      const body = shop.customerBody();
      const key = newKey().padEnd(254, 'k');
      const first = done(await shop.wide.post('/customers', body, { key: `${key}a` }), 201);
      const other = done(await shop.wide.post('/customers', body, { key: `${key}b` }), 201);
      holds('keys that differ in the last letter are one', first.operation !== other.operation);
    }),
    check('Idempotent-Replayed comes back with a replay', lostKey, async (shop) => {
      const ask = { key: newKey() };
      const body = shop.customerBody();
      done(await shop.wide.post('/customers', body, ask), 201);
      const again = done(await shop.wide.post('/customers', body, ask), 201);
      is('Idempotent-Replayed', again.headers['idempotent-replayed'], 'true');
    }),
    check('ETag comes back as it was made', lostVersion, async (shop) => {
      const answer = done(await shop.wide.get(`/products/${await shop.product()}`));
      is('ETag', answer.headers.etag, '"1"');
    }),
    check('ETag comes back with a compressed answer, too', lostVersion, async (shop) => {
      const path = `/products/${await shop.product({ description: 'Long words. '.repeat(300) })}`;
      const ask = { headers: { 'Accept-Encoding': 'gzip, br' } };
      is('ETag', done(await shop.wide.get(path, {}, ask)).headers.etag, '"1"');
    }),
    check('If-Match reaches the service', lostVersion, async (shop) => {
      const path = `/customers/${await shop.customer()}`;
      const stale = { headers: { 'If-Match': '"7"' } };
      refused(await shop.wide.patch(path, { note: 'x' }, stale), 412, 'precondition_failed');
    }),
    check(
      'If-None-Match reaches the service, and 304 comes back without a body',
      'Copies are read anew each time, and cost the traffic that they should save.',
      async (shop) => {
        const path = `/products/${await shop.product()}`;
        const ask = { headers: { 'If-None-Match': '"1"' } };
        const answer = done(await shop.wide.get(path, {}, ask), 304);
        is('the length of the body', answer.bytes.length, 0);
        is('ETag', answer.headers.etag, '"1"');
        done(await shop.wide.get(path, {}, { headers: { 'If-None-Match': '"2"' } }));
      },
    ),
    check(
      'Location names what was created',
      'A client cannot find what it has made.',
      async (shop) => {
        const made = done(await shop.wide.post('/customers', shop.customerBody()), 201);
        matches('Location', made.headers.location, new RegExp(`/customers/${made.id}$`));
        const { origin } = new URL(shop.base);
        const url = new URL(made.headers.location ?? '', origin).href;
        is('what is there', done(await shop.wide.get(url)).id, made.id);
      },
    ),
    check('X-Request-Id comes with each success', lostId, async (shop) => {
      const answer = done(await shop.wide.get('/products', { limit: '1' }));
      is('X-Request-Id', answer.headers['x-request-id'], answer.textAt('meta.request_id'));
    }),
    check('X-Request-Id comes with each refusal', lostId, async (shop) => {
      for (const path of ['/products/x', '/nothing', '/products?limit=0']) {
        const answer = await shop.wide.get(path);
        is('X-Request-Id', answer.headers['x-request-id'], answer.textAt('meta.request_id'));
      }
    }),
    check('X-Request-Id is another one each time', lostId, async (shop) => {
      const all = await Promise.all(Array.from({ length: 5 }, () => shop.wide.get('/credential')));
      is('how many', new Set(all.map((one) => one.headers['x-request-id'])).size, 5);
    }),
    check(
      'WWW-Authenticate says what a request without a token needs',
      'A client cannot tell a missing token from a wrong one.',
      async (shop) => {
        const answer = refused(
          await shop.nobody.get('/credential'),
          401,
          'authentication_required',
        );
        is('WWW-Authenticate', answer.headers['www-authenticate'], 'Bearer realm="tallybook"');
      },
    ),
    check(
      'WWW-Authenticate names the scope that is missing',
      'Whoever sets up a till does not learn what its token lacks.',
      async (shop) => {
        const answer = refused(await shop.narrow.get('/customers'), 403, 'insufficient_scope');
        matches('WWW-Authenticate', answer.headers['www-authenticate'], /scope="customers\.read"/);
      },
    ),
    check('Allow says which methods a path has', 'A client guesses.', async (shop) => {
      const answer = refused(
        await shop.wide.send('DELETE', '/products', undefined),
        405,
        'method_not_allowed',
      );
      const methods = answer.headers.allow?.split(/, */).sort();
      is('Allow', methods, ['GET', 'HEAD', 'PATCH', 'POST']);
    }),
    check('RateLimit says how many requests are left', slowed, async (shop) => {
      const answer = done(await shop.wide.get('/credential'));
      matches('RateLimit', answer.headers.ratelimit, /^"\w+";r=\d+;t=\d+/);
      matches('RateLimit-Policy', answer.headers['ratelimit-policy'], /^"\w+";q=\d+;w=60/);
    }),
    check(
      'Cache-Control: no-store comes with each answer',
      'A cache on the way shows a stock of yesterday, or that of somebody else.',
      async (shop) => {
        for (const path of ['/credential', '/products?limit=1', '/products/x']) {
          is('Cache-Control', (await shop.wide.get(path)).headers['cache-control'], 'no-store');
        }
      },
    ),
    check(
      'No answer comes from a cache on the way',
      'A till sells what is not there, because it is shown a level of before.',
      async (shop) => {
        const path = `/products/${await shop.product({ description: 'before' })}`;
        done(await shop.wide.get(path));
        done(await shop.wide.patch(path, { description: 'after' }));
        for (const ask of [{}, { headers: { 'Cache-Control': 'max-age=600' } }]) {
          is(
            'the description',
            done(await shop.wide.get(path, {}, ask)).at('data.description'),
            'after',
          );
        }
      },
    ),
    check(
      'No answer to one token is given to another',
      'A merchant reads the records of another one.',
      async (shop) => {
        const [own, foreign] = [
          await shop.wide.get('/credential'),
          await shop.other.get('/credential'),
        ];
        holds(
          'both are one merchant',
          own.at('data.merchant.id') !== foreign.at('data.merchant.id'),
        );
        refused(await shop.nobody.get('/credential'), 401, 'authentication_required');
      },
    ),
    check('Content-Type of an answer is JSON', 'Clients do not parse it.', async (shop) => {
      for (const path of ['/credential', '/nothing']) {
        const answer = await shop.wide.get(path);
        matches('Content-Type', answer.headers['content-type'], /^application\/json/);
      }
    }),
    check('Accept reaches the service', 'A client gets what it cannot read.', async (shop) => {
      const ask = { headers: { Accept: 'text/html' } };
      refused(await shop.wide.get('/credential', {}, ask), 406, 'not_acceptable');
    }),
    check('12 KiB of headers pass', 'Requests with long tokens or traces fail.', async (shop) => {
      done(await shop.wide.get('/credential', {}, { headers: { 'X-Long': 'x'.repeat(12_000) } }));
    }),
    check(
      'Two headers Idempotency-Key are refused, and not made one',
      'One request carries the key of another one.',
      async (shop) => {
        const twice = [newKey(), newKey()] as unknown as string;
        const answer = await shop.wide.post('/customers', shop.customerBody(), {
          headers: { 'Idempotency-Key': twice },
        });
        holds(`it was answered with ${answer.status}`, answer.status === 400);
      },
    ),
    check('A detail names the header that is wrong', 'Errors are hard to mend.', async (shop) => {
      const answer = await shop.wide.post('/customers', shop.customerBody(), { key: 'short' });
      names(
        refused(answer, 400, 'idempotency_key_invalid'),
        'header.idempotency-key',
        'invalid_format',
      );
    }),
  ],
};
