// Backup and restore as an operator does them, through real processes: while services write, on a
// server of one's own and on the private one, and when they are killed midway.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Api, newKey } from '../../test/kit/api.ts';
import { AuditTrail } from '../../test/kit/audit.ts';
import {
  createEmptyDatabase,
  createTestDatabase,
  type TestDatabase,
} from '../../test/kit/database.ts';
import { extent } from '../../test/kit/extent.ts';
import { Given, type GivenCredential } from '../../test/kit/given.ts';
import { addLedger } from '../../test/kit/ledger.ts';
import { type ServiceProcess, serveProcess, startProcess } from '../../test/kit/process.ts';

const program = new URL('../../bin/tallybook.js', import.meta.url).pathname;
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const hash = expect.stringMatching(/^[0-9a-f]{64}$/);

// Many processes on what may be a busy machine.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let directory: string;
const dropped: TestDatabase[] = [];
const started: ServiceProcess[] = [];

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tallybook-backup-'));
});
afterAll(async () => {
  for (const service of started) await service.end('SIGTERM');
  for (const db of dropped) await db.drop();
  await rm(directory, { recursive: true, force: true });
});

interface Command {
  readonly child: ChildProcess;
  readonly ended: Promise<{ code: number | null; stdout: string; stderr: string }>;
}

function tallybook(
  args: readonly string[],
  on?: TestDatabase,
  form: readonly string[] = ['--json'],
): Command {
  const flags = on === undefined ? [] : ['--database-url', on.serviceUrl];
  const child = spawn(process.execPath, [program, ...args, ...flags, ...form], {
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      ...(on === undefined ? {} : { TALLYBOOK_MIGRATE_URL: on.ownerUrl }),
    },
  });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].on('data', (chunk) => {
      output[name] += String(chunk);
    });
  }
  child.stdin.on('error', () => undefined);
  const ended = once(child, 'close').then(([code]) => ({ code, ...output }));
  return { child, ended };
}

/** What the tests look at; each command prints some of it. */
interface Report {
  readonly ok: boolean;
  readonly created_at: string;
  readonly sha256: string;
  readonly rows: number;
  readonly ledger: { readonly movements: number };
}

async function report(args: readonly string[], on?: TestDatabase): Promise<Report> {
  const { code, stdout, stderr } = await tallybook(args, on).ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout);
}

async function emptyDatabase(): Promise<TestDatabase> {
  const db = await createEmptyDatabase();
  dropped.push(db);
  return db;
}

async function service(on: TestDatabase): Promise<ServiceProcess> {
  const one = await startProcess(on);
  started.push(one);
  return one;
}

interface Source {
  readonly db: TestDatabase;
  readonly caller: GivenCredential;
  readonly location: string;
}

/** A thousand levels, or one for each movement if there are fewer. */
async function sourceOf(movements: number): Promise<Source> {
  const db = await createTestDatabase();
  dropped.push(db);
  const given = new Given(db);
  const merchant = await given.merchant();
  const location = await given.location(merchant);
  const caller = await given.credential(merchant);
  const levels = Math.min(1_000, movements);
  await addLedger(db, caller, location, { levels, movements: movements / levels });
  return { db, caller, location };
}

const many = extent(10_000, 100_000);

describe(`a backup of ${many} movements, taken while two services write`, () => {
  let caller: GivenCredential;
  let file: string;
  let written: readonly Written[];

  interface Written {
    readonly body: object;
    readonly key: string;
    readonly operation: string;
    readonly when: 'before' | 'during';
  }

  beforeAll(async () => {
    const { db: source, location, ...made } = await sourceOf(many);
    caller = made.caller;
    file = join(directory, 'writing.backup.gz');
    const given = new Given(source);
    const products = await Promise.all([0, 1, 2].map(() => given.product(caller.merchant)));
    const services = [await service(source), await service(source)];
    written = await writeBesides(
      services.map(({ api }) => api.as(caller.token)),
      products.map((product_id) => ({ product_id, location_id: location })),
      async () => {
        const begun = performance.now();
        expect(await report(['backup', file], source)).toEqual({
          file,
          created_at: time,
          schema_version: expect.any(Number),
          rows: expect.any(Number),
          sha256: hash,
          proof: null,
        });
        tell('backed up', begun);
      },
    );
    for (const one of services) await one.end();
  });

  /** One write after the other from each, of which the first twenty come before the work. */
  async function writeBesides(
    apis: readonly Api[],
    levels: readonly object[],
    work: () => Promise<void>,
  ): Promise<Written[]> {
    const all: Written[] = [];
    let isOver = false;
    let target = 0;
    const write = async (api: Api, when: Written['when']) => {
      target += 1;
      const level = levels[target % levels.length];
      const body = { ...level, target_quantity: String(target), reason: 'stock_count' };
      const key = newKey();
      const answer = await api.post('/inventory/adjustments', body, { key });
      expect(answer.status).toBe(201);
      all.push({ body, key, operation: answer.body.meta.operation_id, when });
    };
    for (let n = 0; n < 20; n += 1) for (const api of apis) await write(api, 'before');
    const writers = apis.map(async (api) => {
      while (!isOver) await write(api, 'during');
    });
    await work().finally(() => {
      isOver = true;
    });
    await Promise.all(writers);
    return all;
  }

  test('is restored, sound, and knows every key that it is older than', async () => {
    expect(written.filter(({ when }) => when === 'during').length).toBeGreaterThan(10);
    const db = await emptyDatabase();
    const begun = performance.now();
    const restoration = await report(['restore', file], db);
    tell('restored and verified', begun);
    const kept = restoration.ledger.movements - many;
    expect(kept).toBeGreaterThanOrEqual(40);
    expect(kept).toBeLessThanOrEqual(written.length);
    expect(restoration).toMatchObject({
      ok: true,
      applied: [],
      ledger: { ok: true, differences: [] },
      audit: { ok: true, fault: null },
    });
    const restored = await service(db);
    const api = restored.api.as(caller.token);
    let replays = 0;
    for (const { body, key, operation, when } of written) {
      const answer = await api.post('/inventory/adjustments', body, { key });
      const isReplay = answer.headers.get('idempotent-replayed') === 'true';
      expect([200, 201]).toContain(answer.status);
      expect(answer.body.meta.operation_id === operation).toBe(isReplay);
      if (when === 'before') expect(isReplay).toBe(true);
      if (isReplay) replays += 1;
    }
    expect(replays).toBe(kept);
    expect((await report(['verify'], db)).ok).toBe(true);
    await restored.end();
  });
});

describe('a backup', () => {
  let source: TestDatabase;

  beforeAll(async () => {
    // More than pipes hold.
    source = (await sourceOf(5_000)).db;
  });

  test('goes through a pipe, and fails when its reader or its database has gone', async () => {
    const db = await emptyDatabase();
    const out = tallybook(['backup', '-'], source);
    const back = tallybook(['restore', '-'], db);
    out.child.stdout?.pipe(back.child.stdin as NodeJS.WritableStream);
    const { code, stderr } = await out.ended;
    expect(code).toBe(0);
    expect(JSON.parse(stderr)).toMatchObject({ file: '-', sha256: hash });
    expect(JSON.parse((await back.ended).stdout)).toMatchObject({ ok: true });
    const gone = tallybook(['backup', '-'], source);
    gone.child.stdout?.destroy();
    expect((await gone.ended).code).toBe(1);
    const lost = tallybook(['backup', '-'], source);
    // As nobody reads on, it is held up midway.
    lost.child.stdout?.pause();
    const ending = `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and query like 'copy (select %'`;
    await expect.poll(() => source.sql(ending), { interval: 20 }).toHaveLength(1);
    lost.child.stdout?.resume();
    expect(await lost.ended).toMatchObject({ code: 1, stderr: expect.stringMatching(/^error: /) });
  });

  test('that cannot be written says so once', async () => {
    const shell = ['-c', 'exec "$@" > /dev/full', 'sh', process.execPath, program];
    const flags = ['backup', '-', '--database-url', source.serviceUrl];
    const { status, stderr } = spawnSync('/bin/sh', [...shell, ...flags], { encoding: 'utf8' });
    expect(status).toBe(1);
    expect(stderr).toMatch(/^error: the output could not be written: the disk is full .*\n$/);
  });

  test('whose file cannot be, or is not there, is refused in plain words', async () => {
    const { db } = await sourceOf(1);
    const nowhere = join(directory, 'gone', 'a.gz');
    const written = await tallybook(['backup', nowhere], db).ended;
    const reason = 'cannot be written: there is no such directory';
    expect([written.code, written.stderr]).toEqual([1, `error: ${nowhere} ${reason}\n`]);
    const read = await tallybook(['restore', nowhere], await emptyDatabase()).ended;
    expect([read.code, read.stderr]).toEqual([1, 'error: there is no such file\n']);
  });

  test('of an altered audit trail is restored, and the record is named', async () => {
    const altered = await emptyDatabase();
    const db = await emptyDatabase();
    const file = join(directory, 'altered.backup.gz');
    await report(['backup', file], source);
    await report(['restore', file], altered);
    const [first] = await new AuditTrail(altered).lines();
    await altered.sql(`begin; set local session_replication_role = 'replica';
      update audit_records set line = line || ' ' where number = 1; commit`);
    await report(['backup', file], altered);
    const { code, stdout } = await tallybook(['restore', file], db, []).ended;
    expect(code).toBe(1);
    expect(stdout).toMatch(
      new RegExp(
        `^Audit +Record 1 of ${first?.day} was altered: run "tallybook audit verify"$`,
        'm',
      ),
    );
  });

  test('is loaded whole or not at all: a restore that is killed can be repeated', async () => {
    const db = await emptyDatabase();
    const file = join(directory, 'killed.backup.gz');
    await report(['backup', file], source);
    const bytes = await readFile(file);
    const { child, ended } = tallybook(['restore', '-'], db);
    child.stdin?.write(bytes.subarray(0, bytes.length / 2));
    const copies = async () =>
      (
        await db.sql(`select from pg_stat_activity
          where datname = current_database() and query like 'copy %'`)
      ).length;
    await expect.poll(copies, { interval: 20 }).toBe(1);
    child.kill('SIGKILL');
    expect((await ended).code).toBe(null);
    await expect.poll(copies, { interval: 20 }).toBe(0);
    expect(await db.sql('select from merchants')).toEqual([]);
    expect((await report(['restore', file], db)).ok).toBe(true);
    // It ends though its input goes on.
    const again = tallybook(['restore', '-'], db);
    again.child.stdin?.write(bytes.subarray(0, bytes.length / 2));
    const { code, stdout, stderr } = await again.ended;
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^error: the database is not empty, it holds merchants, .*\n$/);
  });
});

describe('a data directory', () => {
  let data: string;
  let file: string;
  let running: ServiceProcess;

  beforeAll(async () => {
    data = join(directory, 'data');
    file = join(directory, 'private.backup.gz');
    running = await serveProcess(['--data', data, '--demo']);
    started.push(running);
  });

  test('is backed up beside its service, for its owner, and restored into another', async () => {
    await writeFile(file, 'an older one');
    const taken = await report(['backup', file, '--data', data]);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const other = join(directory, 'other');
    expect(await report(['restore', file, '--data', other])).toMatchObject({
      ok: true,
      sha256: taken.sha256,
      rows: taken.rows,
      ledger: { ok: true, levels: 136, movements: 443 },
      audit: { ok: true },
    });
    const lines = await report(['audit', 'list', '--action', 'database', '--data', other]);
    expect(lines).toMatchObject([
      { action: 'database.backup', file, operator: expect.any(String) },
      { action: 'database.restore', created_at: taken.created_at, sha256: taken.sha256 },
    ]);
    const restored = await serveProcess(['--data', other]);
    started.push(restored);
    const token = running.greeting.token ?? '';
    const products = async ({ api }: ServiceProcess) =>
      (await api.as(token).get('/products?limit=200')).body.data;
    expect(await products(restored)).toEqual(await products(running));
    await restored.end();
  });

  test('is backed up without a service, which leaves nothing running', async () => {
    await running.end();
    await report(['backup', file, '--data', data]);
    expect(existsSync(join(data, 'postgres', 'postmaster.pid'))).toBe(false);
  });

  test('leaves nothing behind when its backup is interrupted', async () => {
    const { child, ended } = tallybook(['backup', join(directory, 'never'), '--data', data]);
    const drafts = async () =>
      (await readdir(directory)).filter((name) => name.startsWith('never')).length;
    await expect.poll(drafts, { interval: 5 }).toBe(1);
    child.kill('SIGINT');
    expect((await ended).code).toBe(130);
    expect(await drafts()).toBe(0);
    expect(existsSync(join(data, 'postgres', 'postmaster.pid'))).toBe(false);
  });

  test('stops its server when a restore into it is interrupted, and takes the next', async () => {
    const other = join(directory, 'interrupted');
    const bytes = await readFile(file);
    const { child, ended } = tallybook(['restore', '-', '--data', other]);
    child.stdin?.write(bytes.subarray(0, bytes.length / 2));
    const pidFile = join(other, 'postgres', 'postmaster.pid');
    await expect.poll(() => existsSync(pidFile), { interval: 20 }).toBe(true);
    child.kill('SIGTERM');
    expect((await ended).code).toBe(130);
    expect(existsSync(pidFile)).toBe(false);
    expect((await report(['restore', file, '--data', other])).ok).toBe(true);
  });

  test('that cannot be backed up leaves the files as they were', async () => {
    const folder = join(directory, 'kept');
    const before = await readFile(file);
    for (const args of [
      ['backup', file, '--data', folder],
      ['backup', directory, '--data', data],
      ['restore', join(directory, 'missing.gz'), '--data', folder],
    ]) {
      const { code, stdout, stderr } = await tallybook(args).ended;
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toMatch(/^error: .+\n$/);
    }
    expect(await readFile(file)).toEqual(before);
    expect(existsSync(folder)).toBe(false);
    expect((await readdir(directory)).filter((name) => name.endsWith('.unfinished'))).toEqual([]);
  });
});

function tell(what: string, begun: number): void {
  const seconds = ((performance.now() - begun) / 1_000).toFixed(1);
  process.stderr.write(`${many} movements ${what} in ${seconds} s\n`);
}
