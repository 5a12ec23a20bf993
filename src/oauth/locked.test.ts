// Tokens of an application whose approval is locked by another session: requests for a token wait,
// and writes do not.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Environment, startEnvironment } from '../../test/kit/environment.ts';
import { createTestMerchant, type TestMerchant } from '../../test/kit/merchant.ts';
import { givenApplication } from '../../test/kit/oauth.ts';
import { approve } from '../access/operator/applications.ts';
import type { MerchantId } from '../core/principal.ts';
import { connectDatabase, type Database } from '../database/connect.ts';

let service: Environment;
let operator: Database;
let other: TestMerchant;

beforeAll(async () => {
  service = await startEnvironment();
  operator = connectDatabase({ url: service.db.serviceUrl, writers: 1 });
  other = await createTestMerchant(service, 'Other');
});
afterAll(async () => {
  await operator.close();
  await service.stop();
});

test('requests for tokens that wait for a lock hold up no write', async () => {
  const merchant = (await service.given.merchant()) as MerchantId;
  const scopes = ['inventory.read'] as const;
  const { id, secret } = await givenApplication(operator, service.api.origin, { scopes });
  await approve(operator, id, { merchant, scopes, locations: 'all' });
  let asked = 0;
  const token = async () => {
    asked += 1;
    const basic = Buffer.from(`${id}:${secret}`).toString('base64');
    const response = await fetch(`${service.api.origin}/oauth/token`, {
      method: 'POST',
      headers: {
        authorization: `Basic ${basic}`,
        'content-type': 'application/x-www-form-urlencoded',
        'x-forwarded-for': `10.9.8.${asked % 250}`,
      },
      body: 'grant_type=client_credentials',
    });
    await response.text();
    return response.status;
  };
  expect(await token()).toBe(200);
  const session = await service.db.globalSession();
  await session.query('begin');
  await session.query('select from credentials where application_id = $1 for update', [id]);
  const end = performance.now() + 3_000;
  const refused: number[] = [];
  const asking = Array.from({ length: 12 }, async () => {
    while (performance.now() < end) refused.push(await token());
  });
  const statuses: number[] = [];
  while (performance.now() < end) {
    const { status } = await other.api.post('/inventory/adjustments', {
      product_id: other.products[1],
      location_id: other.locations[0],
      target_quantity: String(1_000 + statuses.length),
      reason: 'correction',
    });
    statuses.push(status);
  }
  await Promise.all(asking);
  await session.query('rollback');
  expect(refused.filter((status) => status !== 503 && status !== 504)).toEqual([]);
  expect(new Set(statuses)).toEqual(new Set([201]));
  expect(statuses.length).toBeGreaterThan(20);
  expect(await token()).toBe(200);
});
