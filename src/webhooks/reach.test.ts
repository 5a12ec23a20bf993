// What a webhook may be sent, as the rows behind its credential are now.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { Applications } from '../../test/kit/applications.ts';
import { createTestDatabase, type TestDatabase } from '../../test/kit/database.ts';
import { Given } from '../../test/kit/given.ts';
import { mintId } from '../core/id.ts';
import type { MerchantId } from '../core/principal.ts';
import { connectDatabase, type Database } from '../database/connect.ts';
import { scopes } from '../resources.ts';
import { readReaches } from './reach.ts';

let db: TestDatabase;
let database: Database;
let given: Given;
let applications: Applications;
let merchant: MerchantId;

beforeAll(async () => {
  db = await createTestDatabase();
  database = connectDatabase({ url: db.serviceUrl, writers: 1 });
  given = new Given(db);
  applications = new Applications(db);
  merchant = (await given.merchant()) as MerchantId;
});
afterAll(async () => {
  await database.close();
  await db.drop();
});

async function reachOf(
  credential_id: string,
  token_scopes: readonly string[] | null = null,
  at = merchant,
) {
  const [reach] = await readReaches(database.reader, [
    { merchant: at, credential_id, token_scopes },
  ]);
  return reach && { scopes: [...reach.scopes].sort(), locations: reach.locations };
}

const everything = { scopes: [...scopes].sort(), locations: 'all' };

const end = (table: string, column: string, key: string, id: unknown) =>
  db.sql(`update ${table} set ${column} = now() where ${key} = $1`, [id]);

/** A consent under an approval, by somebody with a token. */
async function givenConsent() {
  const giver = await given.credential(merchant);
  const application = await applications.application();
  const approval = await applications.approval(merchant, application);
  const consent = await applications.consent(merchant, application, { approval, by: giver.token });
  return { giver, application, approval, consent };
}

test('is what its credential may do now', async () => {
  const location = await given.location(merchant);
  const { id } = await given.credential(merchant);
  expect(await reachOf(id)).toEqual(everything);
  const held = ['webhooks.write', 'inventory.read'];
  await db.sql(
    `update credentials set scopes = $2, all_locations = false, location_ids = $3 where id = $1`,
    [id, held, [location]],
  );
  expect(await reachOf(id)).toEqual({ scopes: held.toSorted(), locations: [location] });
});

test('lasts while one of the tokens of its credential does', async () => {
  const { id } = await given.credential(merchant);
  const other = await given.credential(merchant);
  await db.sql('update credential_tokens set credential_id = $1 where credential_id = $2', [
    id,
    other.id,
  ]);
  expect(await reachOf(other.id)).toBeUndefined();
  const expire = `update credential_tokens set expires_at = now() where token_hash = (
    select token_hash from credential_tokens where credential_id = $1 and expires_at > now()
    limit 1)`;
  await db.sql(expire, [id]);
  expect(await reachOf(id)).toEqual(everything);
  await db.sql(expire, [id]);
  expect(await reachOf(id)).toBeUndefined();
});

test('ends when its credential is revoked, or may have no webhooks any more', async () => {
  const { id } = await given.credential(merchant);
  await end('credentials', 'revoked_at', 'id', id);
  expect(await reachOf(id)).toBeUndefined();
  const without = scopes.filter((scope) => scope !== 'webhooks.write');
  const narrowed = await given.credential(merchant, { scopes: without });
  expect(await reachOf(narrowed.id)).toBeUndefined();
});

test('ends when its merchant is disabled', async () => {
  const other = (await given.merchant()) as MerchantId;
  const { id } = await given.credential(other);
  expect(await reachOf(id, null, other)).toEqual(everything);
  await end('merchants', 'disabled_at', 'id', other);
  expect(await reachOf(id, null, other)).toBeUndefined();
});

test('of an application does not end with the hour of its token', async () => {
  const application = await applications.application();
  const approval = await applications.approval(merchant, application);
  const limited = ['webhooks.write', 'products.read', 'suppliers.read'];
  expect(await reachOf(approval)).toEqual(everything);
  expect(await reachOf(approval, limited)).toEqual({
    scopes: ['products.read', 'webhooks.write'],
    locations: 'all',
  });
  await end('applications', 'disabled_at', 'id', application);
  expect(await reachOf(approval)).toBeUndefined();
});

test('of an application ends with its approval', async () => {
  const { approval, consent } = await givenConsent();
  expect(await reachOf(consent)).toEqual(everything);
  await end('credentials', 'revoked_at', 'id', approval);
  expect(await reachOf(approval)).toBeUndefined();
  expect(await reachOf(consent)).toBeUndefined();
});

test('of a consent never exceeds its approval, nor who gave it', async () => {
  const [one, two] = [await given.location(merchant), await given.location(merchant)];
  const { giver, approval, consent } = await givenConsent();
  await db.sql('update credentials set scopes = $2 where id = $1', [
    approval,
    ['webhooks.write', 'products.read', 'inventory.read'],
  ]);
  await db.sql(
    `update credentials set scopes = $2, all_locations = false, location_ids = $3 where id = $1`,
    [giver.id, ['webhooks.write', 'products.read', 'customers.read'], [one, two]],
  );
  expect(await reachOf(consent)).toEqual({
    scopes: ['products.read', 'webhooks.write'],
    locations: [one, two],
  });
});

test('of a consent ends with the token that gave it, and with its giver', async () => {
  const first = await givenConsent();
  await end('credential_tokens', 'expires_at', 'credential_id', first.giver.id);
  expect(await reachOf(first.consent)).toBeUndefined();
  const second = await givenConsent();
  await end('credentials', 'revoked_at', 'id', second.giver.id);
  expect(await reachOf(second.consent)).toBeUndefined();
});

test('is read for many at once, each by its own merchant', async () => {
  const other = (await given.merchant()) as MerchantId;
  const [mine, theirs] = [await given.credential(merchant), await given.credential(other)];
  const asked = [
    { merchant, credential_id: mine.id, token_scopes: null },
    { merchant, credential_id: theirs.id, token_scopes: null },
    { merchant: other, credential_id: theirs.id, token_scopes: null },
    { merchant, credential_id: mintId('cred_'), token_scopes: null },
  ];
  const reaches = await readReaches(database.reader, asked);
  expect(reaches.map((reach) => reach?.merchant)).toEqual([merchant, undefined, other, undefined]);
});
