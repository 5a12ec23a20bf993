// The audit trail from the command line, through real processes on the built program.

import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { hostname, userInfo } from 'node:os';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AuditTrail } from '../../test/kit/audit.ts';
import { createTestDatabase, type TestDatabase } from '../../test/kit/database.ts';
import { type ServiceProcess, startProcess } from '../../test/kit/process.ts';

const program = new URL('../../bin/tallybook.js', import.meta.url).pathname;
const operator = `${userInfo().username}@${hostname()}`;
const id = (prefix: string) => expect.stringMatching(new RegExp(`^${prefix}_[0-9a-z]{26}$`));
const hash = expect.stringMatching(/^[0-9a-f]{64}$/);
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const day = expect.stringMatching(/^\d{4}-\d\d-\d\d$/);

let db: TestDatabase;
let trail: AuditTrail;
let service: ServiceProcess;
let merchant: string;

/** Two actions of the operator, two denials that are alike, and a third action. */
beforeAll(async () => {
  db = await createTestDatabase();
  trail = new AuditTrail(db);
  service = await startProcess(db);
  ({ id: merchant } = await json<{ id: string }>('merchant', 'create', '--name', 'Corner Shop'));
  await json('location', 'create', '--merchant', merchant, '--name', 'Main Street');
  // At the same moment: the first of a kind gets its line within a second.
  const headers = { 'x-forwarded-for': '127.0.0.1' };
  await Promise.all([1, 2].map(() => service.api.get('/products', { headers })));
  await service.end();
  await json('merchant', 'create', '--name', 'B');
});
afterAll(async () => {
  await service.end();
  await trail.database.close();
  await db.drop();
});

interface Result {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function tallybook(...args: readonly string[]): Promise<Result> {
  const env = { PATH: process.env.PATH ?? '', TALLYBOOK_MIGRATE_URL: db.ownerUrl };
  const flags = [program, ...args, '--database-url', db.serviceUrl];
  return new Promise((resolve) => {
    execFile(process.execPath, flags, { env }, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr });
    });
  });
}

async function json<Value>(...args: readonly string[]): Promise<Value> {
  const { code, stdout, stderr } = await tallybook(...args, '--json');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout);
}

type Shown = Readonly<Record<string, unknown>>;

const list = (...flags: readonly string[]) => json<Shown[]>('audit', 'list', ...flags);

describe('audit list', () => {
  test('shows what was done and who was denied, the newest last', async () => {
    const place = { day, number: expect.any(Number), at: time, hash };
    const common = { ...place, operator };
    const made = { ...common, action: 'merchant.create', cell: 'cell_1' };
    expect(await list()).toEqual([
      { ...made, merchant_id: merchant, name: 'Corner Shop' },
      { ...common, action: 'locations.create', merchant_id: merchant, request_id: id('req') },
      {
        ...place,
        action: 'request.denied',
        method: 'GET',
        route: '/api/v1/products',
        status: 401,
        code: 'authentication_required',
        address: '127.0.0.1',
        count: 2,
        request_id: id('req'),
        last_request_id: id('req'),
        over_ms: expect.any(Number),
      },
      { ...made, merchant_id: id('mer'), name: 'B' },
    ]);
  });

  test('shows those asked for', async () => {
    const actions = async (...flags: readonly string[]) =>
      (await list(...flags)).map(({ action }) => action);
    const all = ['merchant.create', 'locations.create', 'request.denied', 'merchant.create'];
    expect(await actions('--limit', '2')).toEqual(all.slice(2));
    expect(await actions('--denied')).toEqual(['request.denied']);
    expect(await actions('--action', 'merchant')).toEqual(['merchant.create', 'merchant.create']);
    expect(await actions('--merchant', merchant)).toEqual(all.slice(0, 2));
    expect(await actions('--since', '1h')).toEqual(all);
    expect(await actions('--until', '1h')).toEqual([]);
    expect(await actions('--since', '2020-01-31', '--until', '2020-02-01')).toEqual([]);
    const [, second] = await list();
    expect(await actions('--since', String(second?.at))).toEqual(all.slice(1));
    expect(await actions('--until', String(second?.at))).toEqual(all.slice(0, 1));
  });

  test('is a table for people, and says so when there is nothing', async () => {
    const { stdout } = await tallybook('audit', 'list');
    expect(stdout).toMatch(/│ Time .*│ Action .*│ Who .*│ What /);
    expect(stdout).toContain('GET /api/v1/products');
    expect(stdout).toContain('401 authentication_required, 2 times');
    expect(stdout).toContain('name Corner Shop');
    expect(stdout).toMatch(new RegExp(`│ ${operator} +│ merchant ${merchant}`));
    const none = await tallybook('audit', 'list', '--until', '2020-01-31');
    expect(none).toEqual({ code: 0, stdout: 'There is no such record.\n', stderr: '' });
  });
});

describe('audit export', () => {
  test('prints lines of JSON whose hashes anyone can recompute', async () => {
    const { code, stdout } = await tallybook('audit', 'export');
    expect(code).toBe(0);
    const lines = stdout.trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toEqual(await list());
    let last: Buffer = Buffer.alloc(32);
    for (const line of lines) {
      const stored = `${line.slice(0, -`,"hash":"${'0'.repeat(64)}"}`.length)}}`;
      last = createHash('sha256').update(last).update(stored).digest();
      expect(line.slice(-66, -2)).toBe(last.toString('hex'));
    }
  });

  test('prints one array with --json, and filters', async () => {
    expect(await json('audit', 'export')).toEqual(await list());
    expect(await json('audit', 'export', '--denied')).toEqual(await list('--denied'));
    expect(await json('audit', 'export', '--until', '2020-01-31')).toEqual([]);
    const none = await tallybook('audit', 'export', '--until', '2020-01-31');
    expect(none).toEqual({ code: 0, stdout: '', stderr: '' });
  });
});

test.each(['audit', 'audit list', 'audit export', 'audit verify'])(
  '%s has help with an example of it',
  async (command) => {
    const help = [program, ...command.split(' '), '--help'];
    const { stdout } = await promisify(execFile)(process.execPath, help);
    expect(stdout).toMatch(new RegExp(`Example:\n  \\$ .*tallybook ${command}`));
    if (command !== 'audit') expect(stdout).toMatch(/--data.*--database-url.*--json/s);
  },
);

test.each([
  ['a time that is none', ['list', '--since', 'yesterday']],
  ['a day that is none', ['list', '--until', '2026-02-30']],
  ['an action that is none', ['list', '--action', '"']],
  ['no record', ['list', '--limit', '0']],
  ['two actions', ['list', '--denied', '--action', 'token']],
  ['half a hash', ['verify', '--expect', 'abcd']],
])('%s is not understood: 2', async (_, args) => {
  const { code, stdout, stderr } = await tallybook('audit', ...args);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).not.toBe('');
});

test('migrate leaves a line of each migration that the trail can take', async () => {
  await db.sql('drop schema cell_1, public cascade; create schema public');
  await json('migrate');
  const line = { action: 'schema.migrate', operator };
  expect(await trail.lines()).toEqual([
    expect.objectContaining({ ...line, number: 1, migration: '0001_foundation.sql' }),
  ]);
  expect(await json('migrate')).toMatchObject({ applied: [] });
  expect(await trail.lines()).toHaveLength(1);
});

/** On the trail of the test before. */
describe('audit verify', () => {
  test('tells the last hash of a sound trail, and finds it again', async () => {
    await trail.append('a', 'b', 'c');
    const report = await json<{ last: { hash: string } }>('audit', 'verify');
    const last = { day, number: 4, hash };
    expect(report).toEqual({ ok: true, records: 4, last, fault: null });
    expect(await json('audit', 'verify', '--expect', report.last.hash.toUpperCase())).toEqual(
      report,
    );
    const { code, stdout } = await tallybook('audit', 'verify');
    expect(code).toBe(0);
    expect(stdout).toContain('The audit trail is sound: 4 records.');
    expect(stdout).toContain(report.last.hash);
  });

  test('exits with 1 for a trail without the hash that was kept', async () => {
    const { code, stdout } = await tallybook('audit', 'verify', '--expect', '0'.repeat(64));
    expect(code).toBe(1);
    expect(stdout).toContain('no record has the hash 000');
  });

  test('names the first altered record and exits with 1; listing still works', async () => {
    await trail.tamper("update audit_records set line = E'{\\u001b[2J' where number = 3");
    const { code, stdout } = await tallybook('audit', 'verify');
    expect(code).toBe(1);
    expect(stdout).toMatch(/^Record 3 of \d{4}-\d\d-\d\d was altered: /);
    expect(stdout).toContain('Sound before it: 2 records.');
    expect(stdout).not.toContain('--expect');
    const report = await tallybook('audit', 'verify', '--json');
    expect(report.code).toBe(1);
    expect(JSON.parse(report.stdout)).toMatchObject({
      ok: false,
      records: 2,
      fault: { kind: 'altered', number: 3, message: expect.any(String) },
    });
    const { stdout: listed } = await tallybook('audit', 'list');
    expect(listed).toContain('line {\uFFFD[2J');
    expect((await tallybook('audit', 'export')).stdout.trimEnd().split('\n')).toHaveLength(4);
  });
});

test('a reader that has seen enough ends an export without an error', async () => {
  for (let n = 0; n < 20; n += 1) await trail.append(...Array(500).fill('x'.repeat(200)));
  const flags = [program, 'audit', 'export', '--database-url', db.serviceUrl];
  const child = spawn(process.execPath, flags, { stdio: ['ignore', 'pipe', 'pipe'] });
  let errors = '';
  child.stderr.on('data', (chunk) => {
    errors += String(chunk);
  });
  child.stdout.once('data', () => child.stdout.destroy());
  const code = await new Promise((resolve) => child.once('exit', resolve));
  expect({ code, errors }).toEqual({ code: 0, errors: '' });
});
