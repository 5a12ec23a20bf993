// Backups that the service takes by itself, with real processes: one that proves itself, one of a
// database that is not sound, and a disk that is full.

import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { SmallDisk } from './chaos/environment/small-disk.ts';
import { createTestDatabase, type TestDatabase } from './kit/database.ts';
import { testSecret } from './kit/environment.ts';
import { Given } from './kit/given.ts';
import { addLedger } from './kit/ledger.ts';
import { freePort } from './kit/port.ts';
import { type ServiceProcess, serveProcess } from './kit/process.ts';
import { runTallybook } from './kit/program.ts';
import { connectionToEach } from './kit/workers.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const root = mkdtempSync(join(tmpdir(), 'tallybook-daily-'));
let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
  const given = new Given(db);
  const merchant = await given.merchant();
  const caller = await given.credential(merchant);
  await addLedger(db, caller, await given.location(merchant), { levels: 2, movements: 3 });
});
afterAll(async () => {
  await db.drop();
  rmSync(root, { recursive: true, force: true });
});

interface Backups {
  readonly last: string | null;
  readonly failed: boolean;
}

async function withBackups(
  folder: string,
  work: (service: ServiceProcess, state: () => Promise<Backups>, metricsUrl: string) => unknown,
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  const port = await freePort();
  // The folder by a flag and the time by a variable: a command that sees one of them refuses it.
  const flags = ['--database-url', db.serviceUrl, '--backup-dir', folder];
  const service = await serveProcess(flags, {
    TALLYBOOK_MIGRATE_URL: db.ownerUrl,
    TALLYBOOK_SECRET: testSecret,
    TALLYBOOK_BACKUP_AT: '03:00',
    TALLYBOOK_METRICS_PORT: String(port),
    ...env,
  });
  try {
    const state = async () => {
      const answer = await fetch(`${service.api.origin}/readyz`);
      return ((await answer.json()) as { backup: Backups }).backup;
    };
    await work(service, state, `http://127.0.0.1:${port}/metrics`);
  } finally {
    await service.end();
  }
}

const logged = (service: ServiceProcess, text: string) =>
  vi.waitFor(() => expect(service.log()).toContain(text), 90_000);

const backupsIn = (folder: string) => readdirSync(folder).filter((name) => name.endsWith('.gz'));

test('the first is taken at once, by one for all workers, and can be restored', async () => {
  const folder = join(root, 'sound');
  const work: Parameters<typeof withBackups>[1] = async (service, _, metricsUrl) => {
    for (const connection of await connectionToEach(service)) {
      const state = async (): Promise<Backups> => {
        connection.send('GET /readyz HTTP/1.1\r\nHost: shop\r\n\r\n');
        return (await connection.next())?.json.backup;
      };
      await vi.waitFor(async () => expect((await state()).last).not.toBeNull(), 90_000);
      expect(await state()).toMatchObject({ failed: false });
      connection.end();
    }
    expect(backupsIn(folder)).toHaveLength(1);
    expect(readdirSync(folder)).toEqual(backupsIn(folder));
    await logged(service, 'took a backup, restored it and verified it');
    expect(service.log().split('taking a backup each day')).toHaveLength(2);
    expect(service.log().split('took a backup')).toHaveLength(2);
    const metrics = await (await fetch(metricsUrl)).text();
    const [, age] = /^tallybook_backup_age_seconds (\S+)$/m.exec(metrics) ?? [];
    expect(Number(age)).toBeLessThan(100);
    expect(metrics).toMatch(/^tallybook_backup_failed 0$/m);
  };
  await withBackups(folder, work, { TALLYBOOK_WORKERS: '2' });
  const file = join(folder, backupsIn(folder)[0] ?? '');
  const restored = await runTallybook(['restore', file, '--data', join(root, 'restored')]);
  expect(JSON.parse(restored)).toMatchObject({ ok: true, broken: [] });
});

test('one of a database that is not sound fails loudly, and can be saved from', async () => {
  const folder = join(root, 'unsound');
  await db.sql(`begin; set local session_replication_role = 'replica';
    update inventory_levels set quantity = quantity + 1 where ctid =
      (select ctid from inventory_levels where sequence > 0 limit 1); commit`);
  await withBackups(folder, async (service, state, metricsUrl) => {
    await vi.waitFor(async () => expect((await state()).failed).toBe(true), 90_000);
    expect(await state()).toEqual({ last: null, failed: true });
    await logged(service, 'THE BACKUP FAILED');
    expect(service.log()).toMatch(/a level differs from its last movement: prod_/);
    expect(await (await fetch(metricsUrl)).text()).toMatch(/^tallybook_backup_failed 1$/m);
  });
  expect(backupsIn(folder)).toEqual([]);
  const unsound = readdirSync(folder).find((name) => name.endsWith('.gz.unsound')) ?? '';
  const file = join(folder, unsound);
  const target = join(root, 'saved');
  await expect(runTallybook(['restore', file, '--data', target])).rejects.toThrow(
    /Nothing was restored\. To save what can be saved, restore with --accept-unsound/,
  );
  const saved = await runTallybook(['restore', file, '--data', target, '--accept-unsound']);
  const { ok, ledger } = JSON.parse(saved);
  expect(ok).toBe(false);
  expect(ledger.differences.map(({ kind }: { kind: string }) => kind).sort()).toEqual([
    'quantity_differs',
    'quantity_not_sum',
  ]);
});

test('a folder that is not there is a failed backup, and the service starts', async () => {
  await withBackups(join(root, 'not', 'mounted'), async (service, state) => {
    await logged(service, 'THE BACKUP FAILED');
    expect(service.log()).toContain('cannot be made: there is no such file or directory (ENOENT)');
    expect(await state()).toEqual({ last: null, failed: true });
  });
});

// Only root can make such a disk; on any other the backup succeeds, which is proved above.
test.runIf(process.getuid?.() === 0)('a full disk is a failed backup, and no more', async () => {
  const disk = SmallDisk.make(join(root, 'disk'));
  const folder = join(disk.directory, 'backups');
  try {
    expect(disk.canBeFull).toBe(true);
    disk.fill();
    await withBackups(folder, async (service, state) => {
      await logged(service, 'THE BACKUP FAILED');
      expect((await state()).last).toBeNull();
      expect((await service.api.get('/credential')).status).toBe(401);
    });
    expect(backupsIn(folder)).toEqual([]);
    expect(
      existsSync(folder) && readdirSync(folder).filter((name) => /proof|unfin/.test(name)),
    ).toEqual([]);
  } finally {
    disk.unmount();
  }
});
