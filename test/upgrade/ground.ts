// A PostgreSQL of its own for what runs outside of the tests: it ends with the process that asked
// for it, however that ends.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startPrivateServer } from '../../src/postgres/server.ts';
import type { TestDatabase } from '../kit/database.ts';

export interface Ground extends Pick<TestDatabase, 'sql' | 'ownerUrl' | 'serviceUrl'> {
  readonly client: pg.Client;
  /** What a program of any version reads of its environment. */
  readonly env: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

export async function openGround(): Promise<Ground> {
  const directory = await mkdtemp(join(tmpdir(), 'tallybook-upgrade-'));
  const { ownerUrl, serviceUrl, stop } = await startPrivateServer({
    dataDirectory: directory,
    stopWithParent: true,
    log: () => undefined,
  });
  const client = new pg.Client({ connectionString: ownerUrl });
  client.on('error', () => undefined);
  await client.connect();
  const pool = new pg.Pool({ connectionString: ownerUrl, max: 4 });
  pool.on('error', () => undefined);
  return {
    ownerUrl,
    serviceUrl,
    client,
    env: {
      DATABASE_URL: serviceUrl,
      TALLYBOOK_MIGRATE_URL: ownerUrl,
      TALLYBOOK_SECRET: 'of no value, for a database that is thrown away',
    },
    async sql<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []) {
      return (await pool.query<Row>(text, values)).rows;
    },
    close: async () => {
      await Promise.all([client.end(), pool.end()]);
      await stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
