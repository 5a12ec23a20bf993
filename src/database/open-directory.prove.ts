// What opening a data directory guarantees: it is made, migrated and kept. What any database
// guarantees when it is opened is in open.test.ts.

import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createMerchant } from '../access/operator/merchants.ts';
import { readConfig } from '../config.ts';
import { type PrivateServer, startPrivateServer } from '../postgres/server.ts';
import { openStore } from './open.ts';

const options = { startPrivateServer };
const quietLog = () => ({ info: () => undefined, warn: () => undefined });

describe('a data directory', () => {
  let directory: string;
  let server: PrivateServer;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'tallybook-open-'));
    // Running already, so that nothing of it outlives this test.
    server = await startPrivateServer({
      dataDirectory: directory,
      stopWithParent: true,
      log: () => undefined,
    });
  });

  afterAll(async () => {
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  });

  test('is new until it holds a merchant, and migrated by the first who opens it', async () => {
    const config = readConfig({ data: directory }, {});
    const first = await openStore(config, quietLog(), options);
    expect(first).toMatchObject({ isNew: true, schemaVersion: first.applied.length });
    expect(await first.isCurrent()).toBe(true);
    await first.close();
    const second = await openStore(config, quietLog(), options);
    expect(second).toMatchObject({ isNew: true, applied: [] });
    await createMerchant(second.database, 'Corner Shop');
    await second.close();
    const third = await openStore(config, quietLog(), options);
    expect(third).toMatchObject({ isNew: false, secret: first.secret });
    await third.close();
  });

  test('sorts by nothing that an upgrade of the system could change', async () => {
    const store = await openStore(readConfig({ data: directory }, {}), quietLog(), options);
    await store.close();
    const client = new pg.Client({ connectionString: server.ownerUrl });
    await client.connect();
    const { rows } = await client.query(
      `select count(*)::int as parts, count(*) filter (where
         case c.collname when 'default' then d.datlocprovider else c.collprovider end in ('c', 'i')
         and c.collname <> 'C')::int as of_the_system
       from pg_index i
       cross join lateral unnest(i.indcollation) as part (oid)
       join pg_collation c on c.oid = part.oid
       join pg_database d on d.datname = current_database()
       where i.indrelid in (select oid from pg_class
         where relnamespace = any (current_schemas(false)::text[]::regnamespace[]))`,
    );
    await client.end();
    expect(rows).toEqual([{ parts: expect.any(Number), of_the_system: 0 }]);
    expect(rows[0].parts).toBeGreaterThan(50);
  });

  test('that holds no database is refused to a command that needs one, and not made', async () => {
    const config = readConfig({ data: join(directory, 'mistyped') }, {});
    const opening = openStore(config, quietLog(), {
      ...options,
      purpose: 'command',
      mustExist: true,
    });
    await expect(opening).rejects.toThrow('there is no database');
    await expect(stat(join(directory, 'mistyped'))).rejects.toThrow('ENOENT');
  });
});
