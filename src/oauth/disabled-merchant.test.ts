// What OAuth gives at a merchant that the operator has disabled: nothing, until it is enabled.

import * as client from 'openid-client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newKey } from '../../test/kit/api.ts';
import { ConsentEnvironment, refusal } from '../../test/kit/consent-environment.ts';
import { changeDisabled } from '../access/operator/merchants.ts';

let scene: ConsentEnvironment;

beforeAll(async () => {
  scene = await ConsentEnvironment.start();
});
afterAll(() => scene.close());

test('a disabled merchant has no tokens, no refresh and no new consent', async () => {
  const { operator, merchant, made, service } = scene;
  const giver = await scene.person();
  const { exchange } = await scene.consent(giver, ['all']);
  const { access_token: token, refresh_token: refresh = '' } = await exchange();
  const own = await client.clientCredentialsGrant(made.config);
  const write = (bearer: string) =>
    service.api.as(bearer).post('/products', { name: 'Flour' }, { key: newKey() });
  expect((await write(own.access_token)).status).toBe(201);

  await changeDisabled(operator, merchant, true);
  for (const bearer of [token, own.access_token]) {
    expect((await service.api.as(bearer).get('/locations')).code).toBe('invalid_token');
    expect((await write(bearer)).code).toBe('invalid_token');
  }
  expect(await refusal(client.refreshTokenGrant(made.config, refresh))).toBe('invalid_grant');
  expect(await refusal(client.clientCredentialsGrant(made.config))).toBe('unauthorized_client');
  const inspected = await client.tokenIntrospection(made.config, own.access_token);
  expect(inspected.active).toBe(false);
  const { chosen } = await scene.consent(giver, ['all']);
  expect([chosen.status, chosen.text.includes('not valid')]).toEqual([403, true]);

  await changeDisabled(operator, merchant, false);
  expect((await write(own.access_token)).status).toBe(201);
  expect((await service.api.as(token).get('/locations')).status).toBe(200);
  expect((await client.clientCredentialsGrant(made.config)).access_token).toMatch(/^tb_oat_/);
});
