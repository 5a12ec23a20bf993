// What `verify` says of people and tokens: nothing while whatever an operation has made or changed
// is there, and which operation when it is not.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { connect, type Environment, startEnvironment } from '../../test/kit/environment.ts';
import type { Database } from '../database/connect.ts';
import { verifyLedger } from '../inventory/verify.ts';

let service: Environment;
let database: Database;

beforeAll(async () => {
  service = await startEnvironment();
  database = connect(service.db.serviceUrl, 2);
});
afterAll(async () => {
  await database.close();
  await service.stop();
});

async function damage(sql: string, values: readonly unknown[]): Promise<void> {
  const session = await service.db.globalSession();
  const { rowCount } = await session.query(sql, [...values]);
  expect(rowCount).toBe(1);
}

const missing = async (merchant: string) => {
  const { differences } = await verifyLedger(database, { merchant });
  return differences.map(({ kind, operation_id }) => `${kind} ${operation_id}`);
};

const copy = `insert into credentials
  select (jsonb_populate_record(c, jsonb_build_object('merchant_id', $3::text))).*
  from credentials c where c.merchant_id = $1 and c.id = $2`;
const gone = `with ended as (
    delete from credential_tokens where merchant_id = $1 and credential_id = $2)
  delete from credentials where merchant_id = $1 and id = $2`;

test.each([
  ['a person who is missing', '/people', { name: 'Ada', role: 'viewer' }, gone],
  [
    'a person who is none',
    '/people',
    { name: 'Ada', role: 'viewer' },
    `update credentials set role = null, name_key = null, invited_at = null, invitation_hash = null,
       invitation_expires_at = null where merchant_id = $1 and id = $2`,
  ],
  ['a token that is missing', '/tokens', { name: 'Till', scopes: ['products.read'] }, gone],
  [
    'a token that is a person',
    '/tokens',
    { name: 'Till', scopes: ['products.read'] },
    `update credentials set role = 'owner', name_key = 'till', invited_at = now()
     where merchant_id = $1 and id = $2`,
  ],
])('%s is named, with each operation of it', async (_, path, body, sql) => {
  const [merchant, other] = [await service.given.merchant(), await service.given.merchant()];
  const api = service.api.as((await service.given.credential(merchant)).token);
  const made = await api.post(path, body);
  const { id } = made.body.data;
  const changed = await api.patch(`${path}/${id}`, { name: 'Renamed' });
  expect(await missing(merchant)).toEqual([]);
  // Another merchant has one with its ID, which is as it should be.
  await damage(copy, [merchant, id, other]);
  await damage(sql, [merchant, id]);
  const operations = [made, changed].map((one) => one.body.meta.operation_id);
  expect(await missing(merchant)).toEqual(operations.map((one) => `resource_missing ${one}`));
});
