// OAuth: an application that acts for itself, with what the operator approved.

import { Tallybook } from '@tallybook/client';
import { type Answer, done, holds, is, matches, refused } from '../answer.ts';
import { newKey } from '../caller.ts';
import { check, type Subject } from '../check.ts';
import type { Shop } from '../shop.ts';

const locked = 'Applications of others cannot sign in, and shops that use them stand still.';
const open = 'An application does more than the operator approved.';

/** Asks for a token as an application does, with these words more. */
function tokenOf(
  shop: Shop,
  more: Record<string, string> = {},
  secret = shop.tokens.client_secret,
) {
  const bytes = new URLSearchParams({ grant_type: 'client_credentials', ...more }).toString();
  const name = Buffer.from(`${shop.tokens.client_id}:${secret}`).toString('base64');
  return shop.nobody.send('POST', `${shop.root}/oauth/token`, undefined, {
    key: null,
    bytes,
    headers: {
      Authorization: `Basic ${name}`,
      'Content-Type': 'application/x-www-form-urlencoded',
    },
  });
}

const issued = (answer: Answer) => done(answer, 200).textAt('access_token');

export const oauth: Subject = {
  title: 'OAuth',
  checks: [
    check('The metadata of the authorization server names its endpoints', locked, async (shop) => {
      const url = `${shop.root}/.well-known/oauth-authorization-server`;
      const answer = done(await shop.nobody.get(url));
      matches('token_endpoint', answer.at('token_endpoint'), /\/oauth\/token$/);
      matches('authorization_endpoint', answer.at('authorization_endpoint'), /\/oauth\/authorize$/);
    }),
    check('The issuer is the address that clients use', locked, async (shop) => {
      const url = `${shop.root}/.well-known/oauth-authorization-server`;
      const issuer = done(await shop.nobody.get(url))
        .textAt('issuer')
        .replace(/\/$/, '');
      is('the issuer (TALLYBOOK_PUBLIC_URL)', issuer, shop.root);
    }),
    check('There is no registration of applications', open, async (shop) => {
      const url = `${shop.root}/.well-known/oauth-authorization-server`;
      const answer = done(await shop.nobody.get(url));
      is('registration_endpoint', answer.at('registration_endpoint'), undefined);
    }),
    check('An application gets a token with its secret', locked, async (shop) => {
      const answer = done(await tokenOf(shop));
      matches('token_type', answer.at('token_type'), /^bearer$/i);
      is('expires_in', answer.at('expires_in'), 3_600);
      matches('access_token', answer.at('access_token'), /^tb_oat_/);
    }),
    check('A wrong secret gets no token', open, async (shop) => {
      const answer = await tokenOf(shop, {}, 'tb_ocs_wrong');
      is('the status', answer.status, 401);
      is('error', answer.at('error'), 'invalid_client');
    }),
    check('The token of an application is admitted as what it is', locked, async (shop) => {
      const own = done(await shop.nobody.as(issued(await tokenOf(shop))).get('/credential'));
      is('kind', own.at('data.kind'), 'oauth_access_token');
      is('application', own.at('data.application.id'), shop.tokens.client_id);
      is('merchant', own.at('data.merchant.id'), shop.merchant);
    }),
    check('The token of an application does what was approved, and no more', open, async (shop) => {
      const caller = shop.nobody.as(issued(await tokenOf(shop)));
      done(await caller.get('/products', { limit: '1' }));
      refused(await caller.get('/customers'), 403, 'insufficient_scope');
      refused(await caller.post('/inventory/adjustments', {}), 403, 'insufficient_scope');
    }),
    check('A token that was asked for less does less', open, async (shop) => {
      const caller = shop.nobody.as(issued(await tokenOf(shop, { scope: 'inventory.read' })));
      refused(await caller.get('/products'), 403, 'insufficient_scope');
      done(await caller.get('/inventory/levels', { location_id: shop.here, limit: '1' }));
    }),
    check('Keys belong to the approval, and not to the token', locked, async (shop) => {
      const [one, other] = [issued(await tokenOf(shop)), issued(await tokenOf(shop))];
      holds('both tokens are one', one !== other);
      const body = { name: shop.name('oauth') };
      const ask = { key: newKey() };
      const first = done(await shop.nobody.as(one).post('/products', body, ask), 201);
      const again = done(await shop.nobody.as(other).post('/products', body, ask), 201);
      is('the operation', again.operation, first.operation);
    }),
    check('The client of the SDK signs in by itself', locked, async (shop) => {
      const { client_id: clientId, client_secret: clientSecret } = shop.tokens;
      const credentials = { baseUrl: shop.base, clientId, clientSecret };
      const { data } = await Tallybook.withClientCredentials(credentials).credential.get();
      is('merchant', data.merchant.id, shop.merchant);
    }),
  ],
};
