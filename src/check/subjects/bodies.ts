// Requests that are wrong: refused in one form, naming all that is wrong, and without any effect.

import { type Answer, done, holds, is, matches, memberAt, names, refused } from '../answer.ts';
import { check, type Subject } from '../check.ts';
import type { Shop } from '../shop.ts';

const unclear = 'Whoever writes a client does not learn what to mend.';
const accepted = 'What nobody meant is stored, and is found months later.';

const sendBytes = (shop: Shop, bytes: string | Buffer, headers: Record<string, string> = {}) =>
  shop.wide.post('/customers', undefined, { bytes, headers });

const wrongTexts: readonly (readonly [string, string])[] = [
  ['No body', ''],
  ['A list', '[]'],
  ['Half an object', '{"name": "A"'],
  ['A comma too many', '{"name": "A",}'],
  ['A member that comes twice', '{"name": "A", "name": "B"}'],
  ['Half a character', '{"name": "\\ud800"}'],
  ['What is nested too deeply', `{"name": ${'['.repeat(50)}${']'.repeat(50)}}`],
];

export const bodies: Subject = {
  title: 'Requests that are wrong',
  checks: [
    check(
      'A refusal has code, message, details and a page that explains it',
      unclear,
      async (shop) => {
        const answer = refused(await shop.wide.get('/products/x'), 404, 'not_found');
        matches('error.message', answer.at('error.message'), /\w+ \w+/);
        is('error.retryable', answer.at('error.retryable'), false);
        is('error.doc_url', answer.at('error.doc_url'), '/docs/errors#not_found');
        holds('details is no list', Array.isArray(answer.at('error.details')));
      },
    ),
    check('The page that explains the codes is there', unclear, async (shop) => {
      const answer = done(await shop.nobody.get(`${shop.root}/docs/errors`));
      holds(
        'it does not name idempotency_key_reused',
        answer.text.includes('idempotency_key_reused'),
      );
    }),
    check('The published document is there', unclear, async (shop) => {
      const answer = done(await shop.nobody.get(`${shop.root}/openapi.json`));
      matches('openapi', answer.at('openapi'), /^3\./);
    }),
    ...wrongTexts.map(([what, text]) =>
      check(`${what} is refused as a body`, accepted, async (shop) => {
        refused(await sendBytes(shop, text), 400, 'invalid_json');
      }),
    ),
    check('Bytes that are no UTF-8 are refused', accepted, async (shop) => {
      const bytes = Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]);
      refused(await sendBytes(shop, bytes), 400, 'invalid_json');
    }),
    check('A body must be declared as JSON', accepted, async (shop) => {
      const bytes = JSON.stringify(shop.customerBody());
      for (const type of ['text/plain', 'application/x-www-form-urlencoded']) {
        const answer = await sendBytes(shop, bytes, { 'Content-Type': type });
        refused(answer, 415, 'unsupported_media_type');
      }
      const type = 'application/json; charset=utf-8';
      done(await sendBytes(shop, bytes, { 'Content-Type': type }), 201);
    }),
    check('A compressed body is refused, and not misread', accepted, async (shop) => {
      const bytes = JSON.stringify(shop.customerBody());
      const answer = await sendBytes(shop, bytes, { 'Content-Encoding': 'gzip' });
      refused(answer, 415, 'unsupported_media_type');
    }),
    check('A member that is not known is refused, and named', accepted, async (shop) => {
      const answer = await shop.wide.post('/customers', shop.customerBody({ colour: 'red' }));
      names(refused(answer, 422, 'validation_failed'), 'colour', 'unknown_field');
    }),
    check('A member that the service sets is refused, and named', accepted, async (shop) => {
      const answer = await shop.wide.post('/customers', shop.customerBody({ version: 7 }));
      names(refused(answer, 422, 'validation_failed'), 'version', 'read_only');
    }),
    check('Each member that is missing is named, all at once', unclear, async (shop) => {
      const answer = refused(await shop.wide.post('/customers', {}), 422, 'validation_failed');
      names(answer, 'name', 'required');
      names(answer, 'email', 'required');
    }),
    check('A member of another type is refused, and named', accepted, async (shop) => {
      const answer = await shop.wide.post('/customers', shop.customerBody({ note: 7 }));
      names(refused(answer, 422, 'validation_failed'), 'note', 'invalid_type');
    }),
    check('A text that is too long is refused, and not cut', accepted, async (shop) => {
      const name = `${shop.name('long')}${'x'.repeat(300)}`;
      const answer = await shop.wide.post('/customers', shop.customerBody({ name }));
      names(refused(answer, 422, 'validation_failed'), 'name', 'too_long');
    }),
    check('A number is no quantity: decimals are texts', accepted, async (shop) => {
      const product = await shop.product();
      const answer = await shop.adjust(product, 4.5 as unknown as string);
      names(refused(answer, 422, 'validation_failed'), 'target_quantity', 'invalid_type');
    }),
    check('A wrong e-mail address is refused', accepted, async (shop) => {
      for (const email of ['ada', 'ada@example', 'a b@example.com']) {
        const answer = await shop.wide.post('/customers', shop.customerBody({ email }));
        names(refused(answer, 422, 'validation_failed'), 'email', 'invalid_email');
      }
    }),
    check('A parameter that is not known is refused, and named', accepted, async (shop) => {
      const answer = refused(
        await shop.wide.get('/products', { page: '2' }),
        400,
        'unknown_parameter',
      );
      is('the field', answer.at('error.details.0.field'), 'query.page');
    }),
    check('A parameter that is missing is named', unclear, async (shop) => {
      const answer = refused(await shop.wide.get('/inventory/levels'), 400, 'missing_parameter');
      names(answer, 'query.location_id', 'required');
    }),
    check('A refused write leaves nothing behind', accepted, async (shop) => {
      const email = `${shop.unique('nothing')}@example.com`;
      refused(
        await shop.wide.post('/customers', shop.customerBody({ email, colour: 'red' })),
        422,
        'validation_failed',
      );
      is('customers', done(await shop.wide.get('/customers', { email })).listAt('data'), []);
    }),
    check(
      'An ID that cannot be one is 404, in the words of one that is not there',
      unclear,
      async (shop) => {
        const answers: Answer[] = [];
        for (const id of ['x', 'prod_x', `${await shop.product()}a`, '%C3%B6', 'a'.repeat(70)]) {
          answers.push(refused(await shop.wide.get(`/products/${id}`), 404, 'not_found'));
        }
        const texts = answers.map(({ body }) => JSON.stringify(memberAt(body, 'error')));
        is('how many answers there are', new Set(texts).size, 1);
      },
    ),
  ],
};
