// What an application gets when a person consents, and when that ends. The application is a client
// library that is not ours.

import * as client from 'openid-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newKey } from '../../../test/kit/api.ts';
import { ask, ConsentEnvironment, refusal, scopes } from '../../../test/kit/consent-environment.ts';
import type { GivenCredential } from '../../../test/kit/given.ts';
import { approve, revokeAt } from '../../access/operator/applications.ts';
import {
  changeLocations,
  changeScopes,
  revoke,
  rotateToken,
} from '../../access/operator/credentials.ts';

let scene: ConsentEnvironment;

beforeAll(async () => {
  scene = await ConsentEnvironment.start();
});
afterAll(() => scene.close());

describe('a code', () => {
  test('becomes a token for what was granted, once, with the verifier', async () => {
    const { back, exchange } = await scene.consent(await scene.person(), [scene.shops[0] ?? '']);
    const code = new URL(back).searchParams.get('code') ?? '';
    const thief = client.authorizationCodeGrant(scene.made.config, new URL(back), {
      pkceCodeVerifier: client.randomPKCECodeVerifier(),
      expectedState: new URL(back).searchParams.get('state') ?? '',
    });
    expect(await refusal(thief)).toBe('invalid_grant');
    const token = await exchange();
    expect(token.access_token).toMatch(/^tb_oat_/);
    expect(token.refresh_token).toMatch(/^tb_ort_/);
    expect(new Set(token.scope?.split(' '))).toEqual(new Set(ask.scope.split(' ')));
    const api = scene.service.api.as(token.access_token);
    expect((await api.get(`/inventory/levels?location_id=${scene.shops[0]}`)).status).toBe(200);
    const other = await api.get(`/inventory/levels?location_id=${scene.shops[1]}`);
    expect(other.code).toBe('location_not_granted');
    expect(code).not.toBe('');
  });

  test('that comes twice ends everything it gave', async () => {
    const { exchange } = await scene.consent(await scene.person(), ['all']);
    const token = await exchange();
    expect(await refusal(exchange())).toBe('invalid_grant');
    const answer = await scene.service.api.as(token.access_token).get('/locations');
    expect(answer.code).toBe('invalid_token');
  });

  test('that comes many times at once gives at most one token, and none that lasts', async () => {
    const { exchange } = await scene.consent(await scene.person(), ['all']);
    const attempts = await Promise.allSettled(Array.from({ length: 12 }, exchange));
    const won = attempts.filter((one) => one.status === 'fulfilled');
    expect(won.length).toBeLessThanOrEqual(1);
    for (const { value } of won) {
      const answer = await scene.service.api.as(value.access_token).get('/locations');
      expect(answer.code).toBe('invalid_token');
    }
  });

  test('is good for a minute', async () => {
    const { exchange } = await scene.consent(await scene.person(), ['all']);
    const [row] = await scene.service.db.sql<{ left: number }>(
      `select extract(epoch from expires_at - now())::float8 as left from oauth_records
       where kind = 'AuthorizationCode' order by expires_at desc limit 1`,
    );
    expect(row?.left).toBeGreaterThan(50);
    expect(row?.left).toBeLessThanOrEqual(60);
    await scene.service.db.sql(
      `update oauth_records set expires_at = now() where kind = 'AuthorizationCode'`,
    );
    expect(await refusal(exchange())).toBe('invalid_grant');
  });
});

describe('a refresh token', () => {
  test('stays good when its answer is lost, and keeps the namespace of keys', async () => {
    const { exchange } = await scene.consent(await scene.person(), ['all']);
    const first = await exchange();
    const refresh = first.refresh_token ?? '';
    const tokens = [first.access_token];
    for (let i = 0; i < 3; i += 1) {
      const next = await client.refreshTokenGrant(scene.made.config, refresh);
      tokens.push(next.access_token);
    }
    expect(new Set(tokens).size).toBe(4);
    const ids = new Set<string>();
    for (const token of tokens) ids.add((await credential(token)).id);
    expect(ids.size).toBe(1);
  });

  test('replays a write that was sent with the token before', async () => {
    const asked = { scope: 'products.write' };
    const { exchange } = await scene.consent(await scene.person(), [], scene.made, asked);
    const first = await exchange();
    const key = newKey();
    const write = (token: string) =>
      scene.service.api.as(token).post('/products', { name: 'Rye' }, { key });
    const done = await write(first.access_token);
    expect(done.status).toBe(201);
    const next = await client.refreshTokenGrant(scene.made.config, first.refresh_token ?? '');
    const again = await write(next.access_token);
    expect(again.body.meta.operation_id).toBe(done.body.meta.operation_id);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
  });

  test('serves its own application only, and gives no more than was granted', async () => {
    const other = await scene.application();
    const { exchange } = await scene.consent(await scene.person(), ['all']);
    const { refresh_token: refresh = '' } = await exchange();
    expect(await refusal(client.refreshTokenGrant(other.config, refresh))).toBe('invalid_grant');
    const less = await client.refreshTokenGrant(scene.made.config, refresh, {
      scope: 'locations.read',
    });
    expect(less.scope).toBe('locations.read');
    const more = client.refreshTokenGrant(scene.made.config, refresh, { scope: 'products.write' });
    expect(await refusal(more)).toBe('invalid_scope');
  });

  test('revoked ends the consent with all of its tokens', async () => {
    const { exchange } = await scene.consent(await scene.person(), ['all']);
    const { access_token: token, refresh_token: refresh = '' } = await exchange();
    await client.tokenRevocation(scene.made.config, refresh);
    expect((await scene.service.api.as(token).get('/locations')).code).toBe('invalid_token');
    expect(await refusal(client.refreshTokenGrant(scene.made.config, refresh))).toBe(
      'invalid_grant',
    );
  });
});

async function credential(token: string) {
  const answer = await scene.service.api.as(token).get('/credential');
  expect(answer.status).toBe(200);
  return answer.body.data;
}

describe('a consent', () => {
  test('is a credential of its own, of the application and under its approval', async () => {
    const { exchange } = await scene.consent(await scene.person(), [scene.shops[2] ?? '']);
    const data = await credential((await exchange()).access_token);
    expect(data).toMatchObject({
      kind: 'oauth_access_token',
      application: { id: scene.made.id },
      locations: [scene.shops[2]],
    });
    const rows = await scene.service.db.sql('select approval_id from credentials where id = $1', [
      data.id,
    ]);
    expect(rows).toHaveLength(1);
  });

  test('never exceeds the token that gave it, nor the approval, also later', async () => {
    const giver = await scene.person();
    const { exchange } = await scene.consent(giver, ['all']);
    const { access_token: token, refresh_token: refresh = '' } = await exchange();
    const api = scene.service.api.as(token);
    await changeLocations(scene.operator, giver.id, [scene.shops[1] ?? '']);
    expect((await credential(token)).locations).toEqual([scene.shops[1]]);
    await changeScopes(scene.operator, giver.id, ['locations.read']);
    expect((await credential(token)).scopes).toEqual(['locations.read']);
    const denied = await api.get(`/inventory/levels?location_id=${scene.shops[1]}`);
    expect(denied.code).toBe('insufficient_scope');
    const next = await client.refreshTokenGrant(scene.made.config, refresh);
    expect(next.scope).toBe('locations.read');
    const asked = client.refreshTokenGrant(scene.made.config, refresh, { scope: 'inventory.read' });
    expect(await refusal(asked)).toBe('invalid_scope');
  });

  test('gives tokens that say when they end, which is no later than it does', async () => {
    const giver = await scene.person();
    const { exchange } = await scene.consent(giver, ['all']);
    await scene.service.db.sql(
      `update credential_tokens set expires_at = now() + interval '2 minutes'
       where credential_id = $1`,
      [giver.id],
    );
    const token = await exchange();
    expect(token.expires_in).toBeLessThanOrEqual(120);
    expect(token.expires_in).toBeGreaterThan(100);
    const data = await credential(token.access_token);
    expect(Date.parse(data.expires_at) - Date.now()).toBeLessThanOrEqual(121_000);
  });

  test('ends with the token that gave it, revoked or replaced', async () => {
    const ends = [
      (giver: GivenCredential) => revoke(scene.operator, giver.id),
      (giver: GivenCredential) => rotateToken(scene.operator, giver.id, 0),
    ];
    for (const end of ends) {
      const giver = await scene.person();
      const { exchange } = await scene.consent(giver, ['all']);
      const { access_token: token, refresh_token: refresh = '' } = await exchange();
      expect((await scene.service.api.as(token).get('/locations')).status).toBe(200);
      await end(giver);
      expect((await scene.service.api.as(token).get('/locations')).code).toBe('invalid_token');
      expect(await refusal(client.refreshTokenGrant(scene.made.config, refresh))).toBe(
        'invalid_grant',
      );
    }
  });

  test('ends with the approval it was given under', async () => {
    const one = await scene.application();
    const { exchange } = await scene.consent(await scene.person(), ['all'], one);
    const { access_token: token, refresh_token: refresh = '' } = await exchange();
    await revokeAt(scene.operator, one.id, scene.merchant);
    expect((await scene.service.api.as(token).get('/locations')).code).toBe('invalid_token');
    await approve(scene.operator, one.id, { merchant: scene.merchant, scopes, locations: 'all' });
    expect((await scene.service.api.as(token).get('/locations')).code).toBe('invalid_token');
    expect(await refusal(client.refreshTokenGrant(one.config, refresh))).toBe('invalid_grant');
  });
});

test('no secret, token or code is anywhere in the database', async () => {
  const giver = await scene.person();
  const { back, exchange } = await scene.consent(giver, ['all']);
  const code = new URL(back).searchParams.get('code') ?? '';
  const { access_token: token, refresh_token: refresh = '' } = await exchange();
  const tables = await scene.service.db.sql<{ name: string }>(
    `select relname as name from pg_class
     where relkind = 'r'
       and relnamespace::regnamespace::text = any (current_schemas(false)::text[])`,
  );
  const secrets = [giver.token, scene.made.secret, code, token, refresh].map((text) =>
    text.slice(7, -4),
  );
  expect(secrets.every((text) => text.length > 20)).toBe(true);
  for (const { name } of tables) {
    const rows = await scene.service.db.sql<{ row: string }>(
      `select to_jsonb(t)::text as row from ${name} t`,
    );
    const text = rows.map(({ row }) => row).join('\n');
    for (const secret of secrets) expect(text.includes(secret), name).toBe(false);
  }
});
