// The life of an OAuth application by command, beside a running service: what
// docs/operate/credentials.md shows, line by line.

import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CryptoKey, exportJWK, generateKeyPair } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../test/kit/database.ts';
import { testSecret } from '../../test/kit/environment.ts';
import { Given } from '../../test/kit/given.ts';
import { type ServiceProcess, startProcess } from '../../test/kit/process.ts';

const program = new URL('../../bin/tallybook.js', import.meta.url).pathname;

let db: TestDatabase;
let service: ServiceProcess;
let merchant: string;
let shops: string[];

beforeAll(async () => {
  db = await createTestDatabase();
  const given = new Given(db);
  merchant = await given.merchant();
  shops = await Promise.all([1, 2, 3].map(() => given.location(merchant)));
  service = await startProcess(db);
});
afterAll(async () => {
  await service.end();
  await db.drop();
});

/** Runs `tallybook app …`. */
function app(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const all = [program, 'app', ...args, '--database-url', db.serviceUrl];
  const env = { PATH: process.env.PATH ?? '', TALLYBOOK_SECRET: testSecret };
  return new Promise((resolve) => {
    execFile(process.execPath, all, { env }, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr });
    });
  });
}

async function printed(...args: string[]) {
  const { code, stdout, stderr } = await app(...args, '--json');
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout);
}

async function token(id: string, secret: string): Promise<{ status: number; token: string }> {
  const answer = await fetch(`${service.api.origin}/oauth/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  const body = (await answer.json()) as { access_token?: string };
  return { status: answer.status, token: body.access_token ?? '' };
}

test('an application is made, approved at two locations, used, and revoked', async () => {
  const made = await printed('create', '--name', 'Stock Sync', '--scopes', 'inventory.read');
  expect(made).toMatchObject({
    id: expect.stringMatching(/^app_[0-9a-z]{26}$/),
    client_id: made.id,
    client_secret: expect.stringMatching(/^tb_ocs_[0-9A-Za-z]{46}$/),
    scopes: ['inventory.read'],
    redirect_uris: [],
  });
  const { id, client_secret: secret } = made;
  const at = ['--merchant', merchant];
  const granted = shops.slice(0, 2);
  const what = ['--scopes', 'inventory.read', '--locations', granted.join(',')];
  const approval = await printed('approve', id, ...at, ...what);
  expect(approval).toMatchObject({ merchant_id: merchant, locations: [...granted].sort() });

  const { token: access } = await token(id, secret);
  const levels = (shop: string | undefined) =>
    service.api.as(access).get(`/inventory/levels?location_id=${shop}`);
  expect((await levels(shops[0])).status).toBe(200);
  expect((await levels(shops[1])).status).toBe(200);
  expect((await levels(shops[2])).code).toBe('location_not_granted');

  const renewed = await printed('rotate', id, '--overlap', '0');
  expect((await token(id, secret)).status).toBe(401);
  expect((await token(id, renewed.client_secret)).status).toBe(200);

  const revoked = await printed('revoke', id, ...at);
  expect(revoked.revoked_at).not.toBeNull();
  expect((await levels(shops[0])).code).toBe('invalid_token');

  await printed('disable', id);
  expect((await token(id, renewed.client_secret)).status).toBe(401);
  const shown = await printed('show', id);
  expect(shown).toMatchObject({ id, secrets: [], approvals: [{ merchant_id: merchant }] });
  expect(JSON.stringify(shown)).not.toContain('tb_ocs_');
  const listed = await printed('list');
  expect(listed.map((one: { id: string }) => one.id)).toContain(id);
  const readable = await app('show', id);
  expect(readable.stdout).toContain('Stock Sync');
});

describe('app create refuses, naming the option,', () => {
  test('addresses that are not exact and safe, and keys that are private', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'tallybook-keys-'));
    const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
    const file = async (name: string, key: CryptoKey) => {
      const path = join(directory, name);
      await writeFile(path, JSON.stringify({ keys: [await exportJWK(key)] }));
      return path;
    };
    const [open, secret] = [await file('open', publicKey), await file('secret', privateKey)];
    const base = ['create', '--name', 'x', '--scopes', 'inventory.read'];
    for (const wrong of [
      ['--redirect-uri', 'http://example.com/back'],
      ['--redirect-uri', 'https://example.com/back#here'],
      ['--redirect-uri', 'javascript:alert(1)'],
      ['--jwks', secret],
      ['--jwks', join(directory, 'absent')],
    ]) {
      const { code, stderr } = await app(...base, ...wrong);
      expect([wrong, code]).toEqual([wrong, 2]);
      expect(stderr).toContain(wrong[0]);
    }
    const made = await printed(...base, '--jwks', open, '--redirect-uri', 'http://localhost:1/b');
    expect(made).toMatchObject({ client_secret: null, uses_keys: true });
    await rm(directory, { recursive: true });
  });
});

test('app approve refuses what the application was not made for', async () => {
  const made = await printed('create', '--name', 'Reader', '--scopes', 'inventory.read');
  const { code, stderr } = await app(
    ...['approve', made.id, '--merchant', merchant],
    ...['--scopes', 'inventory.write', '--locations', 'all'],
  );
  expect(code).toBe(2);
  expect(stderr).toContain('inventory.write');
});
