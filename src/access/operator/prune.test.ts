// What pruning revokes, what it leaves alone, and what it clears away. Years pass by SQL.

import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Applications } from '../../../test/kit/applications.ts';
import { homeCell } from '../../../test/kit/cells.ts';
import { createTestDatabase, type TestDatabase, waitsOf } from '../../../test/kit/database.ts';
import { Given } from '../../../test/kit/given.ts';
import { connectDatabase, type Database } from '../../database/connect.ts';
import { Authenticator } from '../authenticator.ts';
import { createMerchant } from './merchants.ts';
import { previewPruning, prune } from './prune.ts';

let db: TestDatabase;
let database: Database;
let given: Given;
let applications: Applications;
let authenticator: Authenticator;
let merchant: string;

beforeAll(async () => {
  db = await createTestDatabase();
  database = connectDatabase({ url: db.serviceUrl, writers: 8 });
  given = new Given(db);
  applications = new Applications(db);
  authenticator = new Authenticator(database.reserve, () => undefined);
  merchant = (await createMerchant(database, 'Corner Shop', homeCell)).id;
});
afterAll(async () => {
  await database.close();
  await db.drop();
});

/** As if it had been made and last used (null: never) so long ago. */
async function age(credential: string, made: string, used: string | null): Promise<void> {
  await db.sql(
    `update credentials set created_at = now() - $2::interval,
       last_used_at = now() - $3::interval where id = $1`,
    [credential, made, used],
  );
}

async function oldCredential(made: string, used: string | null, at = merchant): Promise<string> {
  const { id } = await given.credential(at);
  await age(id, made, used);
  return id;
}

const ids = (revoked: readonly { readonly id: string }[]) => revoked.map(({ id }) => id).sort();

async function linesOf(credential: string): Promise<Record<string, unknown>[]> {
  const rows = await db.sql<{ line: string }>(
    `select line from audit_records where line::json ->> 'credential_id' = $1
       and line::json ->> 'action' = 'token.prune' order by day, number`,
    [credential],
  );
  return rows.map(({ line }) => JSON.parse(line));
}

const isAdmitted = async (token: string) =>
  (await authenticator.authenticate(token, undefined)) !== undefined;

describe('pruning', () => {
  test('revokes what was not used for a year, at every merchant, and nothing else', async () => {
    const elsewhere = await given.merchant();
    const used = await oldCredential('3 years', '1 year 1 minute');
    const never = await oldCredential('1 year 1 minute', null);
    const foreign = await oldCredential('3 years', '2 years', elsewhere);
    await oldCredential('3 years', '1 year -1 minutes');
    await oldCredential('1 year -1 minutes', null);
    const token = await given.credential(merchant);
    const { revoked } = await prune(database);
    expect(ids(revoked)).toEqual([used, never, foreign].sort());
    const dead = await db.sql<{ id: string }>(
      'select id from credentials where revoked_at is not null',
    );
    expect(ids(dead)).toEqual(ids(revoked));
    expect(await isAdmitted(token.token)).toBe(true);
  });

  test('names each credential that it revokes in the audit trail, once', async () => {
    const id = await oldCredential('3 years', '2 years');
    const { revoked } = await prune(database);
    expect(await linesOf(id)).toEqual([
      expect.objectContaining({
        action: 'token.prune',
        merchant_id: merchant,
        credential_id: id,
        last_used_at: revoked[0]?.last_used_at,
        operator: expect.stringContaining('@'),
      }),
    ]);
  });

  test('again does nothing', async () => {
    const id = await oldCredential('3 years', null);
    await prune(database);
    const state = 'select revoked_at from credentials where id = $1';
    const before = await db.sql(state, [id]);
    expect(await prune(database)).toEqual({ revoked: [], removedTokens: 0, removedRecords: 0 });
    expect(await db.sql(state, [id])).toEqual(before);
    expect(await linesOf(id)).toHaveLength(1);
  });

  test('by several hands at the same moment revokes each once', async () => {
    const old = await Promise.all(
      Array.from({ length: 20 }, () => oldCredential('3 years', '2 years')),
    );
    const prunings = await Promise.all([1, 2, 3].map(() => prune(database)));
    expect(ids(prunings.flatMap(({ revoked }) => revoked))).toEqual([...old].sort());
    for (const id of old) expect(await linesOf(id)).toHaveLength(1);
  });

  test('spares a credential that is used while it is being pruned', async () => {
    const id = await oldCredential('3 years', '2 years');
    const session = await db.globalSession();
    await session.query('begin');
    await session.query('update credentials set last_used_at = now() where id = $1', [id]);
    const pruning = prune(database);
    await expect.poll(() => waitsOf(db)).toBeGreaterThan(0);
    await session.query('commit');
    expect((await pruning).revoked).toEqual([]);
    expect(await linesOf(id)).toEqual([]);
  });

  test('never revokes what the commands of the operator act as', async () => {
    const operator = `select id, revoked_at from credentials
      where is_operator and merchant_id = '${merchant}'`;
    const [{ id = '' } = {}] = await db.sql<{ id: string }>(operator);
    await age(id, '9 years', null);
    expect((await prune(database)).revoked).toEqual([]);
    expect(await db.sql(operator)).toEqual([{ id, revoked_at: null }]);
  });

  test('beforehand shows what it would do, and does nothing', async () => {
    const id = await oldCredential('3 years', '2 years');
    const preview = await previewPruning(database.reader);
    expect(ids(preview.revoked)).toEqual([id]);
    expect(preview.revoked[0]).toMatchObject({ merchant_id: merchant, name: 'test' });
    expect(await previewPruning(database.reader)).toEqual(preview);
    expect(await linesOf(id)).toEqual([]);
    expect(await prune(database)).toEqual(preview);
  });
});

describe('of what applications hold, pruning', () => {
  async function givenConsent() {
    const application = await applications.application();
    const approval = await applications.approval(merchant, application);
    const { token: by } = await given.credential(merchant);
    const consent = await applications.consent(merchant, application, { approval, by });
    return { application, approval, consent };
  }

  test('revokes approvals and consents that were not used for a year', async () => {
    const { application, approval, consent } = await givenConsent();
    await age(approval, '3 years', '2 years');
    await age(consent, '2 years', null);
    const { revoked } = await prune(database);
    expect(ids(revoked)).toEqual([approval, consent].sort());
    for (const one of revoked) {
      expect(one.application).toEqual({ id: application, name: 'Shop Sync' });
      expect(one.approval_id).toBe(one.id === consent ? approval : null);
      expect(one.kind).toBe('oauth_access_token');
    }
  });

  test('takes an approval as used while a consent under it is used', async () => {
    const { approval, consent } = await givenConsent();
    await age(approval, '3 years', null);
    await age(consent, '2 years', '11 months');
    expect((await prune(database)).revoked).toEqual([]);
    await age(consent, '11 months', null);
    expect((await prune(database)).revoked).toEqual([]);
    await age(consent, '2 years', '1 year 1 minute');
    expect(ids((await prune(database)).revoked)).toEqual([approval, consent].sort());
  });

  test('revokes a consent that is not used, and leaves its approval, which is', async () => {
    const { approval, consent } = await givenConsent();
    await age(approval, '3 years', '1 day');
    await age(consent, '2 years', null);
    expect(ids((await prune(database)).revoked)).toEqual([consent]);
    expect(await isAdmitted(await applications.token(merchant, approval))).toBe(true);
  });

  test('removes access tokens that ended more than a day ago, and no others', async () => {
    const { approval, consent } = await givenConsent();
    const ended = (interval: string) => `update credential_tokens
      set expires_at = now() - interval '${interval}' where credential_id = $1`;
    const pat = await given.credential(merchant);
    await db.sql(ended('9 days'), [pat.id]);
    for (const id of [approval, consent]) {
      await applications.token(merchant, id);
      await db.sql(ended('25 hours'), [id]);
    }
    await applications.token(merchant, approval);
    const recent = await applications.token(merchant, consent);
    await db.sql(`${ended('23 hours')} and last_four = $2`, [consent, recent.slice(-4)]);
    expect((await previewPruning(database.reader)).removedTokens).toBe(2);
    expect((await prune(database)).removedTokens).toBe(2);
    const left = await db.sql(
      'select credential_id as id from credential_tokens where credential_id = any ($1)',
      [[approval, consent, pat.id]],
    );
    expect(ids(left as { id: string }[])).toEqual([approval, consent, pat.id].sort());
  });

  test('removes records that ended more than a day ago, however many they are', async () => {
    await addRecords(2_500, '25 hours');
    await addRecords(3, '23 hours');
    await addRecords(2, '-1 minutes');
    expect((await previewPruning(database.reader)).removedRecords).toBe(2_500);
    const prunings = await Promise.all([prune(database), prune(database)]);
    const removed = prunings.map(({ removedRecords }) => removedRecords);
    expect(removed.reduce((a, b) => a + b)).toBe(2_500);
    const [left] = await db.sql('select count(*)::int as n from oauth_records');
    expect(left).toEqual({ n: 5 });
  });

  async function addRecords(count: number, endedBefore: string): Promise<void> {
    await db.sql(
      `insert into oauth_records (id_hash, kind, payload, expires_at)
       select sha256(($1 || n)::bytea), 'AuthorizationCode', '{}', now() - $3::interval
       from generate_series(1, $2) n`,
      [randomBytes(8).toString('hex'), count, endedBefore],
    );
  }
});
