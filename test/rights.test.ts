// What a token of an OAuth application may do: what it was asked for, its credential may and, for a
// consent, both the approval and the token that gave it may. Never more than any of them, as they
// are at the moment of the request.

import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hashToken } from '../src/access/token.ts';
import type { Scope } from '../src/core/principal.ts';
import { scopes } from '../src/resources.ts';
import { type Api, newKey } from './kit/api.ts';
import { Applications } from './kit/applications.ts';
import { type Case, cases, send } from './kit/cases.ts';
import { extent } from './kit/extent.ts';
import { matrix } from './kit/matrix.ts';
import { createTestMerchant, type TestMerchant } from './kit/merchant.ts';
import { Sender } from './kit/sender.ts';
import { startWholeEnvironment, type WholeEnvironment } from './kit/whole-environment.ts';

let service: WholeEnvironment;
let applications: Applications;
let sender: Sender;
let shop: TestMerchant;
let chain: Chain;

/** What one record behind a token allows. */
interface Reach {
  readonly scopes: readonly string[];
  readonly locations: 'all' | readonly number[];
}

/** A token of an approval, and one of a consent under it, with all records that they depend on. */
interface Chain {
  readonly giver: string;
  readonly givingToken: string;
  readonly application: string;
  readonly approval: string;
  readonly consent: string;
  readonly ofApproval: string;
  readonly ofConsent: string;
}

beforeAll(async () => {
  service = await startWholeEnvironment();
  applications = new Applications(service.db);
  sender = new Sender(service.origin);
  shop = await createTestMerchant(service);
  chain = await givenChain();
});
afterAll(async () => {
  sender.close();
  await service.stop();
});

async function givenChain(): Promise<Chain> {
  const { merchant } = shop;
  const { id: giver, token: givingToken } = await service.given.credential(merchant);
  const application = await applications.application();
  const approval = await applications.approval(merchant, application);
  const given = { approval, by: givingToken };
  const consent = await applications.consent(merchant, application, given);
  const ofApproval = await applications.token(merchant, approval);
  const ofConsent = await applications.token(merchant, consent);
  return { giver, givingToken, application, approval, consent, ofApproval, ofConsent };
}

const someScopes = fc.oneof(
  { weight: 1, arbitrary: fc.constant([...scopes]) },
  { weight: 3, arbitrary: fc.subarray([...scopes]) },
);
const reach: fc.Arbitrary<Reach> = fc.record({
  scopes: someScopes,
  locations: fc.oneof(fc.constant('all' as const), fc.subarray([0, 1, 2])),
});
const asked = fc.option(someScopes, { nil: null });

async function setReach(credential: string, { scopes: held, locations }: Reach): Promise<void> {
  const ids = locations === 'all' ? [] : locations.map((n) => shop.locations[n]);
  await service.db.sql(
    'update credentials set scopes = $2, all_locations = $3, location_ids = $4 where id = $1',
    [credential, held, locations === 'all', ids],
  );
}

async function setAsked(token: string, limitedTo: readonly string[] | null): Promise<void> {
  const statement = 'update credential_tokens set scopes = $2 where token_hash = $1';
  await service.db.sql(statement, [hashToken(token), limitedTo]);
}

/** The scopes and locations that a token must have, worked out from sets alone. */
function expected(limitedTo: readonly string[] | null, ...behind: readonly Reach[]) {
  const inAll = (scope: string) => behind.every((one) => one.scopes.includes(scope));
  const held = scopes.filter((scope) => inAll(scope) && (limitedTo ?? scopes).includes(scope));
  const reached = [0, 1, 2].filter((n) =>
    behind.every(({ locations }) => locations === 'all' || locations.includes(n)),
  );
  const isAll = behind.every(({ locations }) => locations === 'all');
  const ids = reached.map((n) => shop.locations[n] ?? '');
  return { scopes: held, locations: isAll ? ('all' as const) : ids, ids };
}

const sorted = (names: 'all' | readonly string[]) => (names === 'all' ? names : [...names].sort());

/** What the service says the token may do, and what it can do: at every location, on one route. */
async function expectRights(api: Api, may: ReturnType<typeof expected>, one: Case): Promise<void> {
  const own = (await api.get('/credential')).body.data;
  expect(own.kind).toBe('oauth_access_token');
  expect(own.application).toEqual({ id: chain.application, name: 'Shop Sync' });
  expect(sorted(own.scopes)).toEqual(sorted(may.scopes));
  expect(sorted(own.locations)).toEqual(sorted(may.locations));
  const mayRead = may.scopes.includes('inventory.read');
  for (const id of shop.locations) {
    const { status } = await api.get(`/inventory/levels?location_id=${id}`);
    expect([id, status]).toEqual([id, mayRead && may.ids.includes(id) ? 200 : 403]);
  }
  const scope = matrix[one.name]?.scope as Scope;
  const answer = await send(one, shop, api);
  // To change a person, the caller also needs what the person may do.
  const lacks = answer.code === 'insufficient_scope' ? answer.body.error.details : [];
  const isMissing = lacks.some((detail: { scope?: string }) => detail.scope === scope);
  expect([one.name, isMissing]).toEqual([one.name, !may.scopes.includes(scope)]);
}

describe('a token of an application may do no more and no less than', () => {
  const route = fc.constantFrom(...cases.filter(({ name }) => matrix[name]?.scope !== null));

  test('its approval and what it was asked for', async () => {
    await fc.assert(
      fc.asyncProperty(reach, asked, route, async (approval, limitedTo, one) => {
        await setReach(chain.approval, approval);
        await setAsked(chain.ofApproval, limitedTo);
        const api = service.api.as(chain.ofApproval);
        await expectRights(api, expected(limitedTo, approval), one);
      }),
      { numRuns: extent(15, 60), seed: 1 },
    );
  });

  test('its consent, the approval, the token that gave it, and what it was asked for', async () => {
    await fc.assert(
      fc.asyncProperty(
        ...[reach, reach, reach, asked, route],
        async (consent, approval, giver, limitedTo, one) => {
          await setReach(chain.consent, consent);
          await setReach(chain.approval, approval);
          await setReach(chain.giver, giver);
          await setAsked(chain.ofConsent, limitedTo);
          const api = service.api.as(chain.ofConsent);
          await expectRights(api, expected(limitedTo, consent, approval, giver), one);
        },
      ),
      { numRuns: extent(30, 150), seed: 2 },
    );
  });

  test('the one location that all of them have, when each has two', async () => {
    const holding = (...locations: number[]) => ({ scopes, locations });
    await setAsked(chain.ofConsent, null);
    await setReach(chain.consent, holding(0, 1));
    await setReach(chain.approval, holding(1, 2));
    await setReach(chain.giver, { scopes, locations: 'all' });
    const api = service.api.as(chain.ofConsent);
    const adjust = (location_id = '') =>
      api.post('/inventory/adjustments', {
        product_id: shop.products[2],
        location_id,
        target_quantity: '9',
        reason: 'correction',
      });
    const [first, second, third] = shop.locations;
    expect((await adjust(first)).code).toBe('location_not_granted');
    expect((await adjust(third)).code).toBe('location_not_granted');
    const { status, body } = await adjust(second);
    expect(status).toBe(201);
    expect(body.data.actor).toEqual({
      credential_id: chain.consent,
      name: expect.any(String),
      kind: 'oauth_access_token',
      application_id: chain.application,
    });
    const seen = await api.get('/inventory/movements?limit=200');
    const places = seen.body.data.map((one: { location_id: string }) => one.location_id);
    expect(new Set(places)).toEqual(new Set([second]));
    expect((await api.post('/locations', { name: 'New' })).code).toBe('location_not_granted');
  });
});

describe('a token of an application', () => {
  test('is valid while all records that it depends on are', async () => {
    const revoked = 'update credentials set revoked_at = $2 where id = $1';
    const ended = `update credential_tokens set expires_at =
      case when $2::timestamptz is null then now() + interval '1 hour' else $2 end
      where token_hash = $1`;
    const disabled = 'update applications set disabled_at = $2 where id = $1';
    const { giver, givingToken, application, approval, consent, ofApproval, ofConsent } = chain;
    const ends: [statement: string, of: unknown, endsApproval: boolean, endsConsent: boolean][] = [
      [disabled, application, true, true],
      [revoked, approval, true, true],
      [ended, hashToken(ofApproval), true, false],
      [revoked, consent, false, true],
      [ended, hashToken(ofConsent), false, true],
      [revoked, giver, false, true],
      [ended, hashToken(givingToken), false, true],
    ];
    for (let chosen = 0; chosen < 2 ** ends.length; chosen += 1) {
      const isOver = (_: unknown, at: number) => (chosen & (1 << at)) !== 0;
      const past = '2020-01-01T00:00:00Z';
      await Promise.all(
        ends.map(([statement, of], at) =>
          service.db.sql(statement, [of, isOver(of, at) ? past : null]),
        ),
      );
      const over = ends.filter(isOver);
      const statuses = await Promise.all(
        [ofApproval, ofConsent].map(async (token) => {
          const headers = { authorization: `Bearer ${token}` };
          return (await sender.send('GET', '/api/v1/credential', headers)).status;
        }),
      );
      expect([chosen, statuses]).toEqual([
        chosen,
        [over.some(([, , ends]) => ends) ? 401 : 200, over.some((end) => end[3]) ? 401 : 200],
      ]);
    }
  });

  test('is refused when the records behind it do not belong together', async () => {
    const { merchant } = shop;
    const mine = await service.given.credential(merchant);
    const foreign = await service.given.credential(await service.given.merchant('Other Shop'));
    const [one, other] = [await applications.application(), await applications.application()];
    const approval = await applications.approval(merchant, one);
    const pieces = [
      { application: one, by: mine.token, status: 200 },
      { application: one, by: foreign.token, status: 401 },
      { application: other, by: mine.token, status: 401 },
    ];
    for (const { application, by, status } of pieces) {
      const consent = await applications.consent(merchant, application, { approval, by });
      const token = await applications.token(merchant, consent);
      const answer = await service.api.as(token).get('/credential');
      expect([application, answer.status]).toEqual([application, status]);
    }
  });

  test('shares the keys of its credential with its other tokens', async () => {
    const { merchant } = shop;
    const { approval, ofApproval } = await givenChain();
    const key = newKey();
    const body = { name: 'Ada', email: 'ada@example.com' };
    const first = await service.api.as(ofApproval).post('/customers', body, { key });
    expect(first.status).toBe(201);
    const next = await applications.token(merchant, approval);
    const again = await service.api.as(next).post('/customers', body, { key });
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.body.meta.operation_id).toBe(first.body.meta.operation_id);
  });
});
