// What `tallybook status` names, beside a real service, and that it is silent otherwise.

import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { makeCertificate, writeCertificate } from '../../test/kit/certificates.ts';
import { createTestDatabase, type TestDatabase } from '../../test/kit/database.ts';
import { Given } from '../../test/kit/given.ts';
import { type ServiceProcess, startProcess } from '../../test/kit/process.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const program = new URL('../../bin/tallybook.js', import.meta.url).pathname;
const root = mkdtempSync(join(tmpdir(), 'tallybook-status-'));
const folder = join(root, 'backups');
const files = { cert: join(root, 'cert.pem'), key: join(root, 'key.pem') };
let db: TestDatabase;
let given: Given;
let service: ServiceProcess;

beforeAll(async () => {
  // A certificate of 13 days, and a backup of just now.
  writeCertificate(makeCertificate(13), files);
  mkdirSync(folder);
  addBackup(new Date());
  db = await createTestDatabase();
  given = new Given(db);
  service = await startProcess(db, {
    TALLYBOOK_BACKUP_DIR: folder,
    TALLYBOOK_BACKUP_AT: soon(),
  });
});
afterAll(async () => {
  await service.end();
  await db.drop();
  rmSync(root, { recursive: true, force: true });
});

/** A time of day that is far enough ahead for no backup to be due while this runs. */
function soon(): string {
  const later = new Date(Date.now() + 3_600_000);
  return [later.getHours(), later.getMinutes()].map((part) => `${part}`.padStart(2, '0')).join(':');
}

function addBackup(at: Date): void {
  const stamp = at.toISOString().replaceAll(/[-:]|\.\d+/g, '');
  writeFileSync(join(folder, `tallybook-${stamp}.gz`), '');
}

interface Status {
  readonly ok: boolean;
  readonly needs: readonly { about: string; what: string; remedy: string }[];
}

function status(
  flags: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Status & { code: number }> {
  const args = [program, 'status', '--json', '--database-url', db.serviceUrl, ...flags];
  const variables = {
    PATH: process.env.PATH ?? '',
    TALLYBOOK_PORT: new URL(service.api.origin).port,
    ...env,
  };
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, { env: variables }, (error, stdout, stderr) => {
      if (stdout === '') reject(new Error(stderr));
      else resolve({ ...(JSON.parse(stdout) as Status), code: Number(error?.code ?? 0) });
    });
  });
}

test('nothing, when there is nothing to do', async () => {
  const url = service.api.origin;
  const whole = { ok: true, service: { url, ready: true }, needs: [], code: 0 };
  expect(await status(['--backup-dir', folder])).toEqual(whole);
  expect(await status([])).toEqual(whole);
});

test('tokens that end within 14 days or ended as lately, the first to end first', async () => {
  const merchant = await given.merchant();
  const ends = async (days: number, name: string) => {
    const { id } = await given.credential(merchant);
    await db.sql('update credentials set name = $2 where id = $1', [id, name]);
    await db.sql(
      `update credential_tokens set created_at = now() - interval '90 days',
         expires_at = now() + make_interval(days => $2) where credential_id = $1`,
      [id, days],
    );
  };
  await ends(20, 'later');
  await ends(9, 'second');
  await ends(2, 'first');
  await ends(-3, 'over');
  await ends(-20, 'long over');
  // One that lives for ten days, from today on.
  const { id } = await given.credential(merchant);
  await db.sql(
    "update credential_tokens set expires_at = now() + interval '10 days' where credential_id = $1",
    [id],
  );
  const { needs, code } = await status([]);
  expect(code).toBe(1);
  const said = (what: string) => /^(".*") of mer_\w+ (ends|ended) at /.exec(what)?.slice(1);
  expect(needs.map(({ what }) => said(what))).toEqual([
    ['"over"', 'ended'],
    ['"first"', 'ends'],
    ['"second"', 'ends'],
  ]);
  await db.sql('update merchants set disabled_at = now() where id = $1', [merchant]);
  expect(await status([])).toMatchObject({ needs: [], code: 0 });
});

test('a backup that failed, is old, or was never taken', async () => {
  const other = join(root, 'other');
  const about = async () => (await status(['--backup-dir', other])).needs;
  expect(await about()).toMatchObject([{ about: 'backup', what: 'there is none yet' }]);
  mkdirSync(other);
  const old = new Date(Date.now() - 27 * 3_600_000);
  const stamp = old.toISOString().replaceAll(/[-:]|\.\d+/g, '');
  writeFileSync(join(other, `tallybook-${stamp}.gz`), '');
  expect((await about())[0]?.what).toMatch(/^the last one is of /);
  const failure = { at: new Date(), reason: 'no space left on device' };
  writeFileSync(join(other, 'last-failure.json'), JSON.stringify(failure));
  expect(await about()).toEqual([
    {
      about: 'backup',
      what: `the last one failed at ${failure.at.toISOString()}`,
      remedy: 'no space left on device',
    },
  ]);
});

test('webhooks that were paused, unless by a request', async () => {
  const merchant = await given.merchant();
  const { token } = await given.credential(merchant);
  const api = service.api.as(token);
  const url = 'https://example.com/';
  for (const more of [{}, {}, { status: 'paused' }]) await api.post('/webhooks', { url, ...more });
  expect(await status([])).toMatchObject({ needs: [], code: 0 });
  await db.sql(
    `update webhooks set status = 'paused', pause_reason = 'retries_ended'
     where merchant_id = $1 and status = 'active'`,
    [merchant],
  );
  expect(await status([])).toMatchObject({
    needs: [{ about: 'webhook', what: `2 webhooks of ${merchant} are paused: retries_ended` }],
    code: 1,
  });
  await db.sql('update merchants set disabled_at = now() where id = $1', [merchant]);
});

test('a certificate that ends', async () => {
  const secure = await startProcess(db, {
    TALLYBOOK_TLS_CERT: files.cert,
    TALLYBOOK_TLS_KEY: files.key,
  });
  try {
    const { needs } = await status([], {
      TALLYBOOK_PORT: new URL(secure.api.origin).port,
      TALLYBOOK_TLS_CERT: files.cert,
      TALLYBOOK_TLS_KEY: files.key,
    });
    expect(needs.map(({ about }) => about)).toEqual(['certificate']);
    const { port } = new URL(secure.api.origin);
    const named = await status(['--url', `https://127.0.0.1:${port}`]);
    expect(named.needs.map(({ about }) => about)).toEqual(['certificate']);
  } finally {
    await secure.end();
  }
});

test('a service and a database that do not answer', async () => {
  const nowhere = db.serviceUrl.replace(/\/test_\w+/, '/not_there');
  const { needs, code } = await status(['--database-url', nowhere], { TALLYBOOK_PORT: '1' });
  expect(code).toBe(1);
  expect(needs.map(({ about }) => about)).toEqual(['service', 'database']);
});
