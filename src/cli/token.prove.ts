// What `tallybook token` prints about credentials of every kind, and how it prunes them: through
// real processes, on a database that a service could be using.

import { execFile } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Applications } from '../../test/kit/applications.ts';
import { createTestDatabase, type TestDatabase } from '../../test/kit/database.ts';
import { Given } from '../../test/kit/given.ts';

const program = new URL('../../bin/tallybook.js', import.meta.url).pathname;
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

let db: TestDatabase;
let merchant: string;
let application: string;
let credential: string;
let approval: string;
let consent: string;

beforeAll(async () => {
  db = await createTestDatabase();
  const given = new Given(db);
  const applications = new Applications(db);
  merchant = await given.merchant();
  application = await applications.application();
  const { id, token: by } = await given.credential(merchant);
  credential = id;
  approval = await applications.approval(merchant, application);
  consent = await applications.consent(merchant, application, { approval, by });
  await applications.token(merchant, consent);
});
afterAll(() => db.drop());

function tallybook(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const env = { PATH: process.env.PATH, TALLYBOOK_MIGRATE_URL: db.ownerUrl };
  return new Promise((resolve) => {
    const all = [program, 'token', ...args, '--database-url', db.serviceUrl];
    const child = execFile(process.execPath, all, { env }, (_, stdout, stderr) =>
      resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    );
  });
}

async function json<Printed>(...args: string[]): Promise<Printed> {
  const { code, stdout, stderr } = await tallybook(...args, '--json');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout);
}

async function age(id: string, interval: string): Promise<void> {
  await db.sql(
    `update credentials set created_at = now() - $2::interval, last_used_at = now() - $2::interval
     where id = $1`,
    [id, interval],
  );
}

describe('token list', () => {
  test('tells personal access tokens, approvals and consents apart', async () => {
    const shop = { id: application, name: 'Shop Sync' };
    // Made within one millisecond, in no order.
    const listed = await json<{ id: string }[]>('list', '--merchant', merchant);
    const places = [credential, approval, consent];
    listed.sort((a, b) => places.indexOf(a.id) - places.indexOf(b.id));
    expect(listed).toEqual([
      expect.objectContaining({
        id: credential,
        kind: 'personal_access_token',
        application: null,
        approval_id: null,
        last_used_at: null,
      }),
      expect.objectContaining({
        id: approval,
        kind: 'oauth_access_token',
        application: shop,
        approval_id: null,
        last_four: null,
        expires_at: null,
        valid_tokens: [],
      }),
      expect.objectContaining({
        id: consent,
        kind: 'oauth_access_token',
        application: shop,
        approval_id: approval,
        valid_tokens: [expect.objectContaining({ expires_at: time })],
      }),
    ]);
    const { stdout } = await tallybook('list', '--merchant', merchant);
    expect(stdout).toContain(' personal access token ');
    expect(stdout).toContain(' approval of Shop Sync ');
    expect(stdout).toContain(' consent to Shop Sync ');
    expect(stdout).not.toContain('null');
  });

  test('and token show say when a credential was last used', async () => {
    await age(credential, '1 day');
    const shown = await json<{ last_used_at: string }>('show', credential);
    expect(Date.now() - Date.parse(shown.last_used_at)).toBeGreaterThan(86_000_000);
    const [first] = await json<{ last_used_at: string }[]>('list', '--merchant', merchant);
    expect(first?.last_used_at).toBe(shown.last_used_at);
    expect((await tallybook('show', credential)).stdout).toContain(shown.last_used_at);
    expect((await tallybook('show', consent)).stdout).toMatch(/^Kind +consent to Shop Sync$/m);
  });
});

describe('token rotate', () => {
  test('is refused for what an application holds, with a reason', async () => {
    for (const id of [approval, consent]) {
      const { code, stdout, stderr } = await tallybook('rotate', id);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toContain('is of an application');
    }
  });

  test('of a revoked approval says to approve again, not to make a token', async () => {
    await db.sql('update credentials set revoked_at = now() where id = $1', [approval]);
    const { code, stderr } = await tallybook('rotate', approval);
    await db.sql('update credentials set revoked_at = null where id = $1', [approval]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/of an application was revoked at .*: "tallybook app approve" says/);
  });
});

describe('token prune', () => {
  test('with --dry-run shows what it would do; without, does it and shows the same', async () => {
    await age(credential, '2 years');
    await age(consent, '2 years');
    await db.sql(`update credential_tokens set expires_at = now() - interval '2 days'
      where credential_id = '${consent}'`);
    const before = await tallybook('prune', '--dry-run');
    expect(before.stdout).toContain(credential);
    expect(before.stdout).toContain(' consent to Shop Sync ');
    expect(before.stdout).toMatch(/Would revoke 2 credentials that nobody has used for a year\.$/m);
    expect(before.stdout).toMatch(
      /^Would remove 1 ended OAuth token and 0 ended OAuth records\.$/m,
    );
    const preview = await json<Record<string, unknown>>('prune', '--dry-run');
    const unused = { merchant_id: merchant, created_at: time, last_used_at: time };
    expect(preview).toEqual({
      dry_run: true,
      revoked: [
        expect.objectContaining({ ...unused, id: credential, application: null }),
        expect.objectContaining({ ...unused, id: consent, approval_id: approval }),
      ],
      removed_tokens: 1,
      removed_records: 0,
    });
    expect(await json('show', credential)).toMatchObject({ revoked_at: null });
    expect(await json('prune')).toEqual({ ...preview, dry_run: false });
    expect(await json('show', credential)).toMatchObject({ revoked_at: time });
    const { stdout } = await tallybook('prune');
    expect(stdout).toBe(
      'Revoked 0 credentials that nobody has used for a year.\n' +
        'Removed 0 ended OAuth tokens and 0 ended OAuth records.\n',
    );
  });
});
