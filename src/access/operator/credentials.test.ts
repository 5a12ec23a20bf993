// What the operator's commands guarantee about credentials: whom they admit, from when and until
// when, and that no token is stored.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newKey } from '../../../test/kit/api.ts';
import { Applications } from '../../../test/kit/applications.ts';
import { homeCell } from '../../../test/kit/cells.ts';
import { createTestDatabase, type TestDatabase } from '../../../test/kit/database.ts';
import { startNode } from '../../../test/kit/environment.ts';
import { Given } from '../../../test/kit/given.ts';
import type { MerchantId } from '../../core/principal.ts';
import { later } from '../../core/statement.ts';
import { connectDatabase, type Database } from '../../database/connect.ts';
import { scopes } from '../../resources.ts';
import { Authenticator } from '../authenticator.ts';
import { hashToken } from '../token.ts';
import {
  allCredentials,
  changeLocations,
  changeScopes,
  createCredential,
  credentialById,
  type Locations,
  revoke,
  rotateToken,
} from './credentials.ts';
import { createMerchant } from './merchants.ts';

const day = 86_400;

let db: TestDatabase;
let database: Database;
let authenticator: Authenticator;
let given: Given;
let merchant: MerchantId;

beforeAll(async () => {
  db = await createTestDatabase();
  database = connectDatabase({ url: db.serviceUrl, writers: 8 }).inCell(homeCell);
  authenticator = new Authenticator(database.reserve, () => undefined);
  given = new Given(db);
  merchant = (await createMerchant(database, 'Corner Shop', homeCell)).id as MerchantId;
});

afterAll(async () => {
  await database.close();
  await db.drop();
});

describe('a merchant', () => {
  test('comes with the credential that commands act as, which has no token', async () => {
    const operators = await db.sql(
      `select c.all_locations, c.scopes, t.token_hash from credentials c
       left join credential_tokens t on t.credential_id = c.id
       where c.merchant_id = $1 and c.is_operator`,
      [merchant],
    );
    expect(operators).toEqual([{ all_locations: true, scopes: [...scopes], token_hash: null }]);
  });

  test('does not list that credential among its tokens, and none of its changes work', async () => {
    const sql = 'select id from credentials where merchant_id = $1 and is_operator';
    const [operator] = await db.sql<{ id: string }>(sql, [merchant]);
    const id = operator?.id ?? '';
    for await (const listed of allCredentials(database.reader, merchant)) {
      expect(listed.id).not.toBe(id);
    }
    await expect(rotateToken(database, id, 0)).rejects.toThrow('no token');
    await expect(revoke(database, id)).rejects.toThrow('no token');
    await expect(changeScopes(database, id, ['products.read'])).rejects.toThrow('no token');
    await expect(changeLocations(database, id, [])).rejects.toThrow('no token');
  });
});

describe('a new token', () => {
  test('is admitted at once with what it was given, and with no more', async () => {
    const location = await given.location(merchant);
    const { credential, token } = await create({
      scopes: ['inventory.read'],
      locations: [location],
    });
    const admitted = await authenticator.authenticate(token, location);
    expect(admitted?.principal).toMatchObject({
      merchant,
      credentialId: credential.id,
      kind: 'personal_access_token',
      scopes: new Set(['inventory.read']),
      locations: [location],
    });
    expect(admitted?.location).toBe(location);
  });

  test('is kept as its SHA-256 and its last four characters only', async () => {
    const { credential, token } = await create();
    const tables = await db.sql(
      `select to_jsonb(c)::text as row from credentials c where id = $1
       union all select to_jsonb(t)::text from credential_tokens t where credential_id = $1`,
      [credential.id],
    );
    const stored = JSON.stringify(tables);
    expect(stored).not.toContain(token.slice(7, -4));
    expect(stored).toContain(hashToken(token).toString('hex'));
    expect(credential.last_four).toBe(token.slice(-4));
  });

  test('ends after its life, by the clock of the database', async () => {
    const { credential, token } = await create({ lifeSeconds: 30 * day });
    expect(await lifeOf(credential.id)).toBe(30 * day);
    await db.sql('update credential_tokens set expires_at = now() where credential_id = $1', [
      credential.id,
    ]);
    expect(await isAdmitted(token)).toBe(false);
    expect((await credentialById(database.reader, credential.id)).tokens).toEqual([]);
  });

  test('cannot be for a location of another merchant, and nothing is made then', async () => {
    const foreign = await given.location(await given.merchant());
    const count = () =>
      db.sql('select count(*) from credentials where merchant_id = $1', [merchant]);
    const before = await count();
    await expect(create({ locations: [foreign] })).rejects.toMatchObject({ code: 'not_found' });
    expect(await count()).toEqual(before);
  });
});

describe('rotating', () => {
  test('without overlap ends the old token at once and keeps the credential', async () => {
    const first = await create();
    const second = await rotateToken(database, first.credential.id, 0);
    expect(second.credential.id).toBe(first.credential.id);
    expect(await isAdmitted(first.token)).toBe(false);
    expect(await isAdmitted(second.token)).toBe(true);
  });

  test('with an overlap admits both until the old one ends', async () => {
    const first = await create();
    const { credential, token } = await rotateToken(database, first.credential.id, day);
    expect(await isAdmitted(first.token)).toBe(true);
    expect(await isAdmitted(token)).toBe(true);
    expect(credential.tokens.map(({ last_four }) => last_four)).toEqual([
      token.slice(-4),
      first.token.slice(-4),
    ]);
    const [newer, older] = credential.tokens;
    const since = Date.parse(newer?.created_at ?? '');
    expect(Date.parse(older?.expires_at ?? '') - since).toBeCloseTo(day * 1000, -3);
    expect(credential).toMatchObject({ last_four: token.slice(-4), expires_at: newer?.expires_at });
  });

  test('never makes the old token live longer', async () => {
    const first = await create({ lifeSeconds: 3_600 });
    const { credential } = await rotateToken(database, first.credential.id, 7 * day);
    expect(credential.tokens[1]?.expires_at).toBe(first.credential.expires_at);
  });

  test('gives the new token as long a life as the one before it had, every time', async () => {
    const { credential } = await create({ lifeSeconds: 10 * day });
    await rotateToken(database, credential.id, 60);
    await rotateToken(database, credential.id, 0);
    expect(await lifeOf(credential.id)).toBe(10 * day);
  });

  test('keeps the keys: what was done with the old token is replayed with the new', async () => {
    const node = await startNode(db.serviceUrl);
    const first = await create();
    const body = { name: 'Ada', email: 'ada@example.com' };
    const key = newKey();
    const done = await node.api.as(first.token).post('/customers', body, { key });
    const second = await rotateToken(database, first.credential.id, 0);
    const again = await node.api.as(second.token).post('/customers', body, { key });
    const late = await node.api.as(first.token).post('/customers', body, { key });
    const other = await create();
    const elsewhere = await node.api.as(other.token).post('/customers', body, { key });
    await node.stop();
    expect([done.status, again.status, late.status]).toEqual([201, 201, 401]);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.body.meta.operation_id).toBe(done.body.meta.operation_id);
    expect(again.body.data).toEqual(done.body.data);
    expect(elsewhere.body.meta.operation_id).not.toBe(done.body.meta.operation_id);
  });

  test('is not for approvals and consents, whose applications get their tokens', async () => {
    const applications = new Applications(db);
    const application = await applications.application();
    const approval = await applications.approval(merchant, application);
    const { token: by } = await create();
    const consent = await applications.consent(merchant, application, { approval, by });
    for (const id of [approval, consent]) {
      const token = await applications.token(merchant, id);
      await expect(rotateToken(database, id, 0)).rejects.toMatchObject({ code: 'not_found' });
      expect(await isAdmitted(token)).toBe(true);
      const found = await credentialById(database.reader, id);
      expect(found.tokens).toHaveLength(1);
      expect(found.application).toEqual({ id: application, name: 'Shop Sync' });
      expect(found.approval_id).toBe(id === consent ? approval : null);
    }
  });

  test('ends what was consented to with the old token, when that token ends', async () => {
    const applications = new Applications(db);
    const application = await applications.application();
    const approval = await applications.approval(merchant, application);
    const { credential, token: by } = await create();
    const consent = await applications.consent(merchant, application, { approval, by });
    const token = await applications.token(merchant, consent);
    await rotateToken(database, credential.id, day);
    expect(await isAdmitted(token)).toBe(true);
    await rotateToken(database, credential.id, 0);
    expect(await isAdmitted(token)).toBe(false);
  });

  test('brings back a credential whose token has ended', async () => {
    const { credential, token } = await create();
    await db.sql(
      `update credential_tokens set created_at = ${later('created_at', "interval '-91 days'")},
         expires_at = ${later('expires_at', "interval '-91 days'")} where credential_id = $1`,
      [credential.id],
    );
    expect(await isAdmitted(token)).toBe(false);
    expect(await isAdmitted((await rotateToken(database, credential.id, 0)).token)).toBe(true);
  });

  test('many times at once leaves one token that is not ending', async () => {
    const { credential } = await create();
    const issued = await Promise.all(
      Array.from({ length: 8 }, () => rotateToken(database, credential.id, 0)),
    );
    const admitted = await Promise.all(issued.map(({ token }) => isAdmitted(token)));
    expect(admitted.filter((is) => is)).toHaveLength(1);
  });
});

describe('revoking', () => {
  test('ends all tokens of the credential from the next request on', async () => {
    const first = await create();
    const second = await rotateToken(database, first.credential.id, day);
    const revoked = await revoke(database, first.credential.id);
    expect(revoked.revoked_at).not.toBeNull();
    expect(revoked.tokens).toEqual([]);
    expect(await isAdmitted(first.token)).toBe(false);
    expect(await isAdmitted(second.token)).toBe(false);
  });

  test('again changes nothing', async () => {
    const { credential } = await create();
    const { revoked_at } = await revoke(database, credential.id);
    expect((await revoke(database, credential.id)).revoked_at).toBe(revoked_at);
  });

  test('is for good: what is revoked cannot be rotated or changed', async () => {
    const { credential } = await create();
    await revoke(database, credential.id);
    await expect(rotateToken(database, credential.id, 0)).rejects.toThrow('was revoked');
    await expect(changeScopes(database, credential.id, [])).rejects.toThrow('was revoked');
    await expect(changeLocations(database, credential.id, 'all')).rejects.toThrow('was revoked');
  });
});

describe('changing what a credential may do', () => {
  test('replaces its locations, from the next request on', async () => {
    const [one, two] = [await given.location(merchant), await given.location(merchant)];
    const { credential, token } = await create({ locations: [one] });
    await changeLocations(database, credential.id, [two]);
    expect(await isGranted(token, one)).toBe(false);
    expect(await isGranted(token, two)).toBe(true);
    await changeLocations(database, credential.id, 'all');
    expect(await isGranted(token, one)).toBe(true);
    expect(await isGranted(token, await given.location(merchant))).toBe(true);
    await changeLocations(database, credential.id, []);
    expect(await isGranted(token, two)).toBe(false);
  });

  test('refuses locations that are not all of the merchant, and changes nothing then', async () => {
    const mine = await given.location(merchant);
    const foreign = await given.location(await given.merchant());
    const { credential, token } = await create({ locations: [mine] });
    await expect(changeLocations(database, credential.id, [mine, foreign])).rejects.toMatchObject({
      code: 'not_found',
    });
    expect(await isGranted(token, mine)).toBe(true);
  });

  test('replaces its scopes, from the next request on', async () => {
    const { credential, token } = await create({ scopes: ['products.read', 'inventory.read'] });
    await changeScopes(database, credential.id, ['products.write']);
    const admitted = await authenticator.authenticate(token, undefined);
    expect(admitted?.principal.scopes).toEqual(new Set(['products.write']));
  });
});

function create(
  wanted: {
    scopes?: readonly (typeof scopes)[number][];
    locations?: Locations;
    lifeSeconds?: number;
  } = {},
) {
  return createCredential(database, {
    merchant,
    name: 'till',
    scopes: wanted.scopes ?? scopes,
    locations: wanted.locations ?? 'all',
    lifeSeconds: wanted.lifeSeconds ?? 90 * day,
  });
}

async function isAdmitted(token: string): Promise<boolean> {
  return (await authenticator.authenticate(token, undefined)) !== undefined;
}

async function isGranted(token: string, location: string): Promise<boolean> {
  return (await authenticator.authenticate(token, location))?.location === location;
}

/** Seconds that the newest token of a credential was given. */
async function lifeOf(credential: string): Promise<number> {
  const [newest] = await db.sql<{ life: string }>(
    `select extract(epoch from expires_at - created_at)::float8 as life from credential_tokens
     where credential_id = $1 order by created_at desc limit 1`,
    [credential],
  );
  return Number(newest?.life);
}
