// Tokens and people, as who runs a shop makes and ends them: what is taken away counts at once.

import { done, holds, is, matches, memberAt, names, refused, type Values } from '../answer.ts';
import { newKey } from '../caller.ts';
import { check, type Subject } from '../check.ts';
import { allOf, type Shop } from '../shop.ts';

const open = 'Whoever has left the shop, or found a till, goes on reading and selling.';
const shown = 'A secret that is shown twice is read by somebody else.';

const tillScopes = ['inventory.read', 'inventory.write'];

/** A token for a till, made over HTTP. */
async function till(shop: Shop, more: Values = {}) {
  const body = { name: shop.name('till'), scopes: tillScopes, location_ids: [shop.here], ...more };
  const made = done(await shop.wide.post('/tokens', body), 201);
  shop.atEnd(async () => {
    await shop.wide.patch(`/tokens/${made.id}`, { status: 'revoked' });
  });
  return {
    path: `/tokens/${made.id}`,
    id: made.id,
    caller: shop.nobody.as(made.textAt('data.token')),
  };
}

export const tokensAndPeople: Subject = {
  title: 'Tokens and people',
  checks: [
    check(
      'A token that was made is admitted at once, with what it was given',
      open,
      async (shop) => {
        const { caller, id } = await till(shop);
        const own = done(await caller.get('/credential'));
        is('the credential', own.at('data.id'), id);
        is('scopes', own.at('data.scopes'), tillScopes);
        is('locations', own.at('data.locations'), [shop.here]);
      },
    ),
    check('A token is shown by the first answer alone', shown, async (shop) => {
      const body = { name: shop.name('once'), scopes: tillScopes };
      const ask = { key: newKey() };
      const first = done(await shop.wide.post('/tokens', body, ask), 201);
      matches('the token', first.at('data.token'), /^tb_pat_/);
      const again = done(await shop.wide.post('/tokens', body, ask), 201);
      is('the token of a replay', again.at('data.token'), null);
      const path = `/tokens/${first.id}`;
      is('the token when read', done(await shop.wide.get(path)).at('data.token'), null);
      done(await shop.wide.patch(path, { status: 'revoked' }));
    }),
    check('A token that is revoked is 401 from the next request on', open, async (shop) => {
      const { caller, path } = await till(shop);
      done(await caller.get('/credential'));
      done(await shop.wide.patch(path, { status: 'revoked' }));
      refused(await caller.get('/credential'), 401, 'invalid_token');
    }),
    check('A scope that is taken away counts from the next request on', open, async (shop) => {
      const product = await shop.stocked('5');
      const { caller, path } = await till(shop);
      done(await shop.wide.patch(path, { scopes: ['inventory.read'] }));
      const lines = [{ product_id: product, quantity: '1' }];
      const body = { from_location_id: shop.here, reason: 'sale', lines };
      refused(await caller.post('/inventory/transfers', body), 403, 'insufficient_scope');
      is('the level', await shop.quantity(product), '5');
    }),
    check('A location that is taken away counts from the next request on', open, async (shop) => {
      const { caller, path } = await till(shop);
      const query = { location_id: shop.here, limit: '1' };
      done(await caller.get('/inventory/levels', query));
      done(await shop.wide.patch(path, { location_ids: [shop.there] }));
      refused(await caller.get('/inventory/levels', query), 403, 'location_not_granted');
    }),
    check('Who has lost a location is not shown a replay of it', open, async (shop) => {
      const product = await shop.stocked('5');
      const { caller, path } = await till(shop);
      const lines = [{ product_id: product, quantity: '1' }];
      const body = { from_location_id: shop.here, reason: 'sale', lines };
      const ask = { key: newKey() };
      done(await caller.post('/inventory/transfers', body, ask), 201);
      done(await shop.wide.patch(path, { location_ids: [shop.there] }));
      const again = await caller.post('/inventory/transfers', body, ask);
      refused(again, 403, 'location_not_granted');
      is('the level', await shop.quantity(product), '4');
    }),
    check('Nobody makes a token without the scope for it', open, async (shop) => {
      const body = { name: shop.name('more'), scopes: ['customers.read'] };
      refused(await shop.narrow.post('/tokens', body), 403, 'insufficient_scope');
    }),
    check('Nobody gives a scope that he does not hold himself', open, async (shop) => {
      const { caller } = await till(shop, {
        scopes: ['access.write'],
        all_locations: true,
        location_ids: [],
      });
      const body = { name: shop.name('more'), scopes: ['customers.read'] };
      const answer = await caller.post('/tokens', body);
      holds(
        `it was answered with ${answer.status}`,
        answer.status === 403 || answer.status === 422,
      );
    }),
    check('A scope that does not exist is refused', open, async (shop) => {
      const body = { name: shop.name('odd'), scopes: ['everything.write'] };
      const answer = await shop.wide.post('/tokens', body);
      names(refused(answer, 422, 'validation_failed'), 'scopes.0', 'value_not_allowed');
    }),
    check('Tokens are listed without themselves, and to nobody else', shown, async (shop) => {
      const { id } = await till(shop);
      const own = (await allOf(shop.wide, '/tokens')).find((one) => one.id === id);
      is('the token', own?.token, null);
      const others = await allOf(shop.other, '/tokens');
      is('at the other merchant', others.filter((one) => one.id === id).length, 0);
      refused(await shop.other.get(`/tokens/${id}`), 404, 'not_found');
    }),
    check('An invitation of a person is shown by the first answer alone', shown, async (shop) => {
      const body = { name: shop.name('person'), role: 'viewer', location_ids: [shop.here] };
      const ask = { key: newKey() };
      const first = done(await shop.wide.post('/people', body, ask), 201);
      matches('the invitation', first.at('data.invitation'), /^tb_inv_/);
      const again = done(await shop.wide.post('/people', body, ask), 201);
      is('the invitation of a replay', again.at('data.invitation'), null);
      const path = `/people/${first.id}`;
      is('when read', memberAt(done(await shop.wide.get(path)).at('data'), 'invitation'), null);
      const ended = done(await shop.wide.patch(path, { status: 'revoked' }));
      is('the status', ended.at('data.status'), 'revoked');
    }),
    check('An invitation is no token', open, async (shop) => {
      const body = { name: shop.name('person'), role: 'keeper', all_locations: true };
      const made = done(await shop.wide.post('/people', body), 201);
      const caller = shop.nobody.as(made.textAt('data.invitation'));
      refused(await caller.get('/credential'), 401, 'invalid_token');
      done(await shop.wide.patch(`/people/${made.id}`, { status: 'revoked' }));
    }),
    check(
      'GET /status says what needs a person',
      'Nobody sees that a till stops soon.',
      async (shop) => {
        done(await shop.wide.get('/status')).listAt('data.needs');
      },
    ),
  ],
};
