// What opening a database guarantees: it is there, migrated and safe when it is handed over, and
// what is missing is said at once where waiting would not help.

import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../test/kit/database.ts';
import { DatabaseProxy } from '../../test/kit/proxy.ts';
import { readConfig, UsageError } from '../config.ts';
import { startPrivateServer } from '../postgres/server.ts';
import { openStore } from './open.ts';

const options = { startPrivateServer };
const secret = { TALLYBOOK_SECRET: 'a secret of at least thirty-two characters' };

function quietLog() {
  const warnings: string[] = [];
  return {
    warnings,
    info: () => undefined,
    warn: (_: unknown, text: string) => warnings.push(text),
  };
}

describe('a database of the operator’s', () => {
  let db: TestDatabase;

  beforeAll(async () => {
    db = await createTestDatabase();
  });

  afterAll(() => db.drop());

  test('needs a secret for a service, and none for a command', async () => {
    const config = readConfig({ databaseUrl: db.serviceUrl }, {});
    await expect(openStore(config, quietLog(), options)).rejects.toThrow(UsageError);
    const store = await openStore(config, quietLog(), { ...options, purpose: 'command' });
    await store.close();
  });

  test('is never new, so no demo is put into it', async () => {
    const store = await openStore(
      readConfig({ databaseUrl: db.serviceUrl }, secret),
      quietLog(),
      options,
    );
    expect(store.isNew).toBe(false);
    await store.close();
  });

  test('that is up to date needs no owner, and warns of nothing', async () => {
    const log = quietLog();
    const store = await openStore(readConfig({ databaseUrl: db.serviceUrl }, secret), log, options);
    await store.close();
    expect(log.warnings).toEqual([]);
  });

  test('that the service owns is used with a warning', async () => {
    const log = quietLog();
    const store = await openStore(readConfig({ databaseUrl: db.ownerUrl }, secret), log, options);
    await store.close();
    expect(log.warnings).toEqual([expect.stringContaining('only triggers guard the ledger')]);
  });

  test('newer than this program is refused', async () => {
    await db.sql(`insert into schema_migrations (number, name, checksum, steps)
      values (999, 'x', '', 1)`);
    const opening = openStore(
      readConfig({ databaseUrl: db.serviceUrl }, secret),
      quietLog(),
      options,
    );
    await expect(opening).rejects.toThrow('run a newer one');
    await db.sql('delete from schema_migrations where number = 999');
  });

  test('whose schema is behind is not ready, and the log says why, once', async () => {
    const log = quietLog();
    const store = await openStore(readConfig({ databaseUrl: db.serviceUrl }, secret), log, options);
    const version = store.schemaVersion;
    await db.sql(`update schema_migrations set number = -1 where number = ${version}`);
    expect([await store.isCurrent(), await store.isCurrent()]).toEqual([false, false]);
    await db.sql(`update schema_migrations set number = ${version} where number = -1`);
    expect([await store.isCurrent(), await store.isCurrent()]).toEqual([true, true]);
    await store.close();
    expect(log.warnings).toEqual([
      `not ready: the schema is at version ${version - 1}, not ${version}`,
      'ready again',
    ]);
  });

  test('of which one cell is behind is not ready, and nothing starts on it', async () => {
    const log = quietLog();
    const config = readConfig({ databaseUrl: db.serviceUrl }, secret);
    const store = await openStore(config, log, options);
    const version = store.schemaVersion;
    const others = await db.sql('select name from cells');
    await db.sql(`insert into cells (name, version) values ('cell_99', ${version - 1})`);
    expect([await store.isCurrent(), await store.isCurrent()]).toEqual([false, false]);
    const opening = openStore(config, quietLog(), options);
    await expect(opening).rejects.toThrow(`cell_99 is not of version ${version}`);
    await db.sql(`update cells set version = ${version + 1} where name = 'cell_99'`);
    expect(await store.isCurrent()).toBe(true);
    await db.sql(`delete from cells where name = 'cell_99'`);
    await store.close();
    expect(await db.sql('select name from cells')).toEqual(others);
    expect(log.warnings).toEqual([
      `not ready: cell_99 is not at version ${version}`,
      'ready again',
    ]);
  });

  test('that refuses the password is reported at once, not waited for', async () => {
    const url = new URL(db.serviceUrl);
    url.password = 'wrong';
    const started = performance.now();
    const config = readConfig({ databaseUrl: url.toString() }, secret);
    await expect(openStore(config, quietLog(), options)).rejects.toThrow(
      /password.*\(--database-url or DATABASE_URL\)$/,
    );
    expect(performance.now() - started).toBeLessThan(2_000);
  });

  test.concurrent.each([
    ['that looks for it, as it connects', 'application_name', 1, 'opened'],
    ['that looks for it', 'pg_has_role', 1, 'opened'],
    ['that asks whether it is durable, as it connects', 'application_name', 2, 'ended'],
    ['that asks whether it is durable', 'fsync', 1, 'ended'],
    ['that asks whether it is the primary, as it connects', 'application_name', 3, 'opened'],
    ['that asks whether it is the primary', 'pg_walfile_name', 1, 'opened'],
    ['that asks whether it is safe, as it connects', 'application_name', 4, 'ended'],
    ['that asks whether it is safe', 'fsync', 2, 'ended'],
  ])('whose connection %s falls silent is not waited for without end', async (...row) => {
    const [, sent, time, expected] = row;
    const proxy = new DatabaseProxy(db.serviceUrl);
    let times = 0;
    proxy.toDatabase = (bytes) => {
      if (bytes.includes(sent)) times += 1;
      if (times === time && bytes.includes(sent)) {
        // The answer meets it, and its connection stays silent for good; the next one does not.
        proxy.isHole = true;
        setTimeout(() => {
          proxy.isHole = false;
        }, 1_000);
      }
      return bytes;
    };
    const config = readConfig({ databaseUrl: await proxy.listen() }, secret);
    const store = openStore(config, quietLog(), options);
    const outcome = await Promise.race([
      store.then(
        () => 'opened',
        () => 'ended',
      ),
      sleep(25_000, 'silent', { ref: false }),
    ]);
    await proxy.close();
    expect(outcome).toBe(expected);
    await store.then(({ close }) => close()).catch(() => undefined);
  });

  test('that is not there yet is waited for by a service, until it is told to stop', async () => {
    const log = quietLog();
    const abort = new AbortController();
    const config = readConfig({ databaseUrl: 'postgres://service@127.0.0.1:1/none' }, secret);
    const opening = openStore(config, log, { ...options, signal: abort.signal });
    const ended = expect(opening).rejects.toThrow('abort');
    await expect.poll(() => log.warnings.length).toBeGreaterThan(1);
    abort.abort();
    await ended;
    expect(new Set(log.warnings)).toEqual(new Set(['waiting for the database']));
  });
});
