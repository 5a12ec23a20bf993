// What an application gets for itself: driven by a client library that is not ours, against a real
// server and its database.

import { exportJWK, generateKeyPair, type JWK } from 'jose';
import * as client from 'openid-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newKey } from '../../test/kit/api.ts';
import { type Environment, startEnvironment } from '../../test/kit/environment.ts';
import { discover, type GivenApplication, givenApplication } from '../../test/kit/oauth.ts';
import {
  approve,
  createApplication,
  disable,
  revokeAt,
  rotateSecret,
} from '../access/operator/applications.ts';
import { changeLocations, changeScopes } from '../access/operator/credentials.ts';
import type { MerchantId, Scope } from '../core/principal.ts';
import { connectDatabase, type Database } from '../database/connect.ts';

const scopes: readonly Scope[] = ['products.read', 'products.write', 'locations.read'];

let service: Environment;
let operator: Database;
let merchant: MerchantId;

beforeAll(async () => {
  service = await startEnvironment();
  operator = connectDatabase({ url: service.db.serviceUrl, writers: 2 });
  merchant = (await service.given.merchant()) as MerchantId;
});
afterAll(async () => {
  await operator.close();
  await service.stop();
});

const origin = () => service.api.origin;

async function application(): Promise<GivenApplication> {
  return givenApplication(operator, origin(), { scopes });
}

async function approved(at = merchant) {
  const made = await application();
  await approve(operator, made.id, { merchant: at, scopes, locations: 'all' });
  return made;
}

const grant = ({ config }: GivenApplication, parameters: Record<string, string> = {}) =>
  client.clientCredentialsGrant(config, parameters);

/** The error that the server answered, by its code. */
async function refusal(attempt: Promise<unknown>) {
  const error = await attempt.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  const isChallenge = error instanceof client.WWWAuthenticateChallengeError;
  if (!isChallenge) expect(error).toBeInstanceOf(client.ResponseBodyError);
  const { status, response } = error as client.ResponseBodyError;
  expect(response.headers.get('x-request-id')).toMatch(/^req_/);
  expect(response.headers.get('cache-control')).toBe('no-store');
  const code = isChallenge
    ? (await errorOf(response)).error
    : (error as client.ResponseBodyError).error;
  return [status, code];
}

/** An ordinary request to the token endpoint. */
function ask(body: Record<string, string>, headers: Record<string, string> = {}) {
  return fetch(`${origin()}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams(body),
    headers: { 'x-forwarded-for': '10.0.0.9', ...headers },
  });
}

async function errorOf(answer: Response): Promise<{ readonly error?: string }> {
  return (await answer.json()) as { error?: string };
}

describe('the metadata', () => {
  test('says what is offered, under both names, and no more', async () => {
    const { config } = await application();
    const found = config.serverMetadata();
    expect(found.issuer).toBe(origin());
    expect(found.token_endpoint).toBe(`${origin()}/oauth/token`);
    expect(found.registration_endpoint).toBeUndefined();
    expect(found.code_challenge_methods_supported).toEqual(['S256']);
    const resource = await fetch(`${origin()}/.well-known/oauth-protected-resource`);
    expect(await resource.json()).toMatchObject({
      resource: origin(),
      authorization_servers: [origin()],
      bearer_methods_supported: ['header'],
    });
  });

  test('offers no way to register, and there is none', async () => {
    const metadata = { redirect_uris: ['https://x.example.com/'], client_name: 'x' };
    for (const path of ['/oauth/register', '/oauth/reg', '/reg', '/oauth/registration']) {
      const answer = await fetch(origin() + path, {
        method: 'POST',
        body: JSON.stringify(metadata),
        headers: { 'content-type': 'application/json' },
      });
      expect([path, answer.status]).toEqual([path, 404]);
    }
    for (const path of ['/.well-known/openid-configuration', '/oauth/jwks', '/oauth/me']) {
      expect((await fetch(origin() + path)).status).toBe(404);
    }
  });
});

describe('a token for the application itself', () => {
  test('is opaque, for an hour, for all approved scopes, and says them', async () => {
    const token = await grant(await approved());
    expect(token.access_token).toMatch(/^tb_oat_[0-9A-Za-z]{46}$/);
    expect(token.expires_in).toBe(3_600);
    expect(new Set(token.scope?.split(' '))).toEqual(new Set(scopes));
    expect(token.refresh_token).toBeUndefined();
  });

  test('is admitted as what it is, with its application', async () => {
    const made = await approved();
    const { access_token: token } = await grant(made);
    const api = service.api.as(token);
    expect((await api.get('/products')).status).toBe(200);
    const { data } = (await api.get('/credential')).body;
    expect(data).toMatchObject({
      kind: 'oauth_access_token',
      merchant: { id: merchant },
      application: { id: made.id, name: 'Stock <Sync>' },
      locations: 'all',
    });
    expect(new Set(data.scopes)).toEqual(new Set(scopes));
  });

  test('may be asked for less, and then may do no more', async () => {
    const token = await grant(await approved(), { scope: 'products.read' });
    expect(token.scope).toBe('products.read');
    const api = service.api.as(token.access_token);
    expect((await api.get('/products')).status).toBe(200);
    expect((await api.get('/locations')).code).toBe('insufficient_scope');
  });

  test('is refused for a scope beyond the approval, never smaller in silence', async () => {
    const made = await application();
    const narrow = ['products.read'] as const;
    await approve(operator, made.id, { merchant, scopes: narrow, locations: 'all' });
    for (const scope of ['products.write', 'products.read products.write', 'no.such', 'openid']) {
      expect(await refusal(grant(made, { scope }))).toEqual([400, 'invalid_scope']);
    }
  });

  test('needs an approval, and a name of the merchant where there are several', async () => {
    const made = await application();
    expect(await refusal(grant(made))).toEqual([400, 'unauthorized_client']);
    const other = (await service.given.merchant('Other Shop')) as MerchantId;
    for (const at of [merchant, other]) {
      await approve(operator, made.id, { merchant: at, scopes, locations: 'all' });
    }
    expect(await refusal(grant(made))).toEqual([400, 'invalid_request']);
    const { access_token: token } = await grant(made, { merchant_id: other });
    const answer = await service.api.as(token).get('/credential');
    expect(answer.body.data.merchant.id).toBe(other);
    const foreign = await service.given.merchant('Third Shop');
    for (const merchant_id of [foreign, 'mer_unknown', 'x']) {
      const refused = await refusal(grant(made, { merchant_id }));
      expect(refused).toEqual([400, 'unauthorized_client']);
    }
  });

  test('reaches the locations of the approval and no others', async () => {
    const made = await application();
    const [granted, other] = [
      await service.given.location(merchant),
      await service.given.location(merchant),
    ];
    await approve(operator, made.id, { merchant, scopes, locations: [granted] });
    const api = service.api.as((await grant(made)).access_token);
    expect((await api.get(`/locations/${granted}`)).status).toBe(200);
    expect((await api.get(`/locations/${other}`)).status).toBe(404);
  });
});

describe('an application proves itself', () => {
  test('by its secret, in the header or in the body', async () => {
    const made = await approved();
    for (const method of [client.ClientSecretBasic, client.ClientSecretPost]) {
      const config = await discover(origin(), made.id, method(made.secret));
      const { access_token: token } = await client.clientCredentialsGrant(config);
      expect((await service.api.as(token).get('/products')).status).toBe(200);
    }
  });

  test('by its key, each assertion once', async () => {
    const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
    const jwk: JWK = { ...(await exportJWK(publicKey)), alg: 'ES256', kid: '1' };
    const { application: made, secret } = await createApplication(operator, {
      name: 'Signer',
      scopes,
      redirectUris: [],
      jwks: { keys: [jwk] },
    });
    expect(secret).toBeUndefined();
    await approve(operator, made.id, { merchant, scopes, locations: 'all' });
    const config = await discover(
      origin(),
      made.id,
      client.PrivateKeyJwt({ key: privateKey, kid: '1' }),
    );
    const sent: string[] = [];
    const send = config[client.customFetch];
    config[client.customFetch] = (url, options) => {
      sent.push(String(options.body));
      return send?.(url, options) ?? Promise.reject(new Error('there is no way to send'));
    };
    const { access_token: token } = await client.clientCredentialsGrant(config);
    expect((await service.api.as(token).get('/products')).status).toBe(200);
    const body = Object.fromEntries(new URLSearchParams(sent[0]));
    const answers = await Promise.all(Array.from({ length: 5 }, () => ask(body)));
    expect(answers.map(({ status }) => status)).toEqual(Array(5).fill(401));
    const other = await generateKeyPair('ES256');
    const forger = await discover(origin(), made.id, client.PrivateKeyJwt(other.privateKey));
    const refused = await refusal(client.clientCredentialsGrant(forger));
    expect(refused).toEqual([401, 'invalid_client']);
  });

  test('or gets no token: no secret, a wrong one, an unknown or disabled application', async () => {
    const made = await approved();
    const wrong = made.secret.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a'));
    const { access_token: token } = await grant(made);
    for (const [id, secret] of [
      [made.id, wrong],
      [made.id, 'kept as a hash'],
      ['app_unknown', made.secret],
      [(await application()).id, made.secret],
    ] as const) {
      const basic = Buffer.from(`${id}:${secret}`).toString('base64');
      const answer = await ask(
        { grant_type: 'client_credentials' },
        { authorization: `Basic ${basic}` },
      );
      expect([answer.status, (await errorOf(answer)).error]).toEqual([401, 'invalid_client']);
      expect(answer.headers.get('www-authenticate')).toMatch(/^Basic /);
    }
    const bare = await ask({ grant_type: 'client_credentials', client_id: made.id });
    expect(bare.status).toBe(401);
    await disable(operator, made.id);
    expect(await refusal(grant(made))).toEqual([401, 'invalid_client']);
    expect((await service.api.as(token).get('/credential')).code).toBe('invalid_token');
  });

  test('by either secret while they overlap, and then by the new one', async () => {
    const made = await approved();
    const { secret = '' } = await rotateSecret(operator, made.id, 3_600);
    const renewed = await discover(origin(), made.id, client.ClientSecretBasic(secret));
    await grant(made);
    await client.clientCredentialsGrant(renewed);
    const { secret: last = '' } = await rotateSecret(operator, made.id, 0);
    const latest = await discover(origin(), made.id, client.ClientSecretBasic(last));
    expect(await refusal(grant(made))).toEqual([401, 'invalid_client']);
    expect(await refusal(client.clientCredentialsGrant(renewed))).toEqual([401, 'invalid_client']);
    await client.clientCredentialsGrant(latest);
  });
});

describe('an approval', () => {
  test('is the namespace of keys: a retry with another token of it is a replay', async () => {
    const made = await approved();
    const key = newKey();
    const body = { name: 'Flour' };
    const write = async () =>
      service.api.as((await grant(made)).access_token).post('/products', body, { key });
    const first = await write();
    const again = await write();
    expect(again.body.meta.operation_id).toBe(first.body.meta.operation_id);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    await revokeAt(operator, made.id, merchant);
    await approve(operator, made.id, { merchant, scopes, locations: 'all' });
    const later = await write();
    expect(later.body.meta.operation_id).toBe(first.body.meta.operation_id);
  });

  test('revoked ends its tokens from the next request on, for good', async () => {
    const made = await approved();
    const { access_token: token } = await grant(made);
    await revokeAt(operator, made.id, merchant);
    expect((await service.api.as(token).get('/products')).code).toBe('invalid_token');
    expect(await refusal(grant(made))).toEqual([400, 'unauthorized_client']);
    await approve(operator, made.id, { merchant, scopes, locations: 'all' });
    expect((await service.api.as(token).get('/products')).code).toBe('invalid_token');
    const { access_token: next } = await grant(made);
    expect((await service.api.as(next).get('/products')).status).toBe(200);
  });

  test('given less counts for tokens that are out there, given more does not', async () => {
    const made = await approved();
    const { access_token: token } = await grant(made, { scope: 'products.read locations.read' });
    const narrow = ['products.read'] as const;
    await approve(operator, made.id, { merchant, scopes: narrow, locations: [] });
    const api = service.api.as(token);
    expect((await api.get('/locations')).code).toBe('insufficient_scope');
    await approve(operator, made.id, { merchant, scopes, locations: 'all' });
    expect((await api.get('/locations')).status).toBe(200);
    expect((await api.post('/products', { name: 'Salt' })).code).toBe('insufficient_scope');
  });

  test('cannot exceed what the application was made for', async () => {
    const made = await application();
    const attempt = approve(operator, made.id, {
      merchant,
      scopes: ['customers.read'],
      locations: 'all',
    });
    await expect(attempt).rejects.toMatchObject({ code: 'validation_failed' });
  });
});

describe('a token can be', () => {
  test('revoked by its application, and only by it', async () => {
    const [made, other] = [await approved(), await approved()];
    const { access_token: token } = await grant(made);
    await client.tokenRevocation(other.config, token).catch(() => undefined);
    expect((await service.api.as(token).get('/products')).status).toBe(200);
    await client.tokenRevocation(made.config, token);
    expect((await service.api.as(token).get('/products')).code).toBe('invalid_token');
    await client.tokenRevocation(made.config, 'tb_oat_unknown');
  });

  test('introspected by its application, and only by it', async () => {
    const [made, other] = [await approved(), await approved()];
    const { access_token: token } = await grant(made);
    const seen = await client.tokenIntrospection(made.config, token);
    expect(seen).toMatchObject({ active: true, client_id: made.id, merchant_id: merchant });
    expect((seen.exp ?? 0) - (seen.iat ?? 0)).toBe(3_600);
    const inactive = { active: false };
    expect(await client.tokenIntrospection(other.config, token)).toEqual(inactive);
    await revokeAt(operator, made.id, merchant);
    expect(await client.tokenIntrospection(made.config, token)).toEqual(inactive);
    const { token: personal } = await service.given.credential(merchant);
    expect(await client.tokenIntrospection(made.config, personal)).toEqual(inactive);
  });
});

test('errors are JSON, for every Accept header', async () => {
  const made = await approved();
  const basic = `Basic ${Buffer.from(`${made.id}:${made.secret}`).toString('base64')}`;
  const accept = 'text/html, image/gif, */*; q=.2';
  const body = { grant_type: 'client_credentials', scope: 'no.such' };
  const answer = await ask(body, { authorization: basic, accept });
  expect([answer.status, (await errorOf(answer)).error]).toEqual([400, 'invalid_scope']);
});

test('what an application may do is changed by approving only', async () => {
  const made = await approved();
  const { access_token: token } = await grant(made);
  const { id } = (await service.api.as(token).get('/credential')).body.data;
  await expect(changeScopes(operator, id, ['customers.read'])).rejects.toThrow('app approve');
  await expect(changeLocations(operator, id, [])).rejects.toThrow('app approve');
});

test('an application gets many tokens, and then has to wait', async () => {
  const made = await approved();
  const statuses = new Map<number, number>();
  const basic = `Basic ${Buffer.from(`${made.id}:${made.secret}`).toString('base64')}`;
  // The limit grows while they are sent, on a slow machine by more than a hundred. 16 at a time,
  // because of more such a machine answers 503; very slow ones do so now and then.
  while (!statuses.has(429)) {
    const answers = await Promise.all(
      Array.from({ length: 16 }, () =>
        ask({ grant_type: 'client_credentials' }, { authorization: basic }),
      ),
    );
    for (const { status } of answers) statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }
  expect([...statuses.keys()].filter((status) => status !== 503).sort()).toEqual([200, 429]);
  expect(statuses.get(200)).toBeGreaterThanOrEqual(300);
  await grant(await approved());
});

test('all errors have the form of OAuth, and a request ID', async () => {
  const made = await approved();
  const basic = `Basic ${Buffer.from(`${made.id}:${made.secret}`).toString('base64')}`;
  const authorization = { authorization: basic };
  const token = `${origin()}/oauth/token`;
  const cases: [Promise<Response>, number, string][] = [
    [ask({ grant_type: 'password' }, authorization), 400, 'unsupported_grant_type'],
    [ask({}, authorization), 400, 'invalid_request'],
    [fetch(token), 405, 'invalid_request'],
    [fetch(token, { method: 'OPTIONS' }), 405, 'invalid_request'],
    [ask({ grant_type: 'x'.repeat(70_000) }, authorization), 413, 'invalid_request'],
    [
      fetch(token, { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } }),
      400,
      'invalid_request',
    ],
  ];
  for (const [answering, status, error] of cases) {
    const answer = await answering;
    const body = await errorOf(answer);
    expect([answer.status, body.error]).toEqual([status, error]);
    expect(answer.headers.get('x-request-id')).toMatch(/^req_/);
    expect(answer.headers.get('access-control-allow-origin')).toBeNull();
  }
});
