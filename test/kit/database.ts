// A database of a test file's own: a clone of the migrated template, on real PostgreSQL.

import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';
import { migrate } from '../../src/database/migrate.ts';
import { lookHome } from './cells.ts';
import { clusterUrl, createOnCluster, dropOnCluster } from './citus.ts';
import { templateName, withDatabase } from './postgres.ts';

export interface TestDatabase {
  readonly ownerUrl: string;
  readonly serviceUrl: string;
  /** SQL as the schema's owner, for arranging and for looking behind the interface. */
  sql<Row extends pg.QueryResultRow = Record<string, unknown>>(
    text: string,
    values?: unknown[],
  ): Promise<Row[]>;
  /** A connection of its own, for holding locks. End it. */
  session(): Promise<pg.Client>;
  drop(): Promise<void>;
}

export async function createTestDatabase(): Promise<TestDatabase> {
  // On a cluster a clone would be of the coordinator alone.
  const from = clusterUrl === undefined ? ` template ${templateName} strategy file_copy` : '';
  const db = await makeDatabase(from, lookHome);
  // A clone has the schema but not the role's settings, which belong to a database.
  await migrate({ owner: db.ownerUrl, service: db.serviceUrl });
  return db;
}

/** As the operator makes one: without a schema. */
export function createEmptyDatabase(): Promise<TestDatabase> {
  return makeDatabase('');
}

async function makeDatabase(
  from: string,
  prepare = async (_: pg.Client, _name: string): Promise<void> => undefined,
): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  const admin = new pg.Client({ connectionString: inject('ownerUrl') });
  // Its server may be killed meanwhile.
  admin.on('error', () => undefined);
  await admin.connect();
  if (clusterUrl === undefined) await admin.query(`create database ${name}${from}`);
  else await createOnCluster(clusterUrl, name);
  await prepare(admin, name);
  const ownerUrl = withDatabase(inject('ownerUrl'), name);
  const serviceUrl = withDatabase(inject('serviceUrl'), name);
  // Where the service is the owner, too, the owner's default is to write nothing.
  const options = '-c default_transaction_read_only=off';
  const pool = new pg.Pool({ connectionString: ownerUrl, max: 4, options });
  pool.on('error', () => undefined);
  const sessions: pg.Client[] = [];
  return {
    ownerUrl,
    serviceUrl,
    async sql<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []) {
      return (await pool.query<Row>(text, values)).rows;
    },
    async session() {
      const client = new pg.Client({ connectionString: ownerUrl, options });
      client.on('error', () => undefined);
      await client.connect();
      sessions.push(client);
      return client;
    },
    async drop() {
      await Promise.all(sessions.map((session) => session.end()));
      await pool.end();
      if (clusterUrl === undefined) await admin.query(`drop database ${name} with (force)`);
      else await dropOnCluster(clusterUrl, name);
      await admin.end();
    },
  };
}

/** Merchants and credentials that are created from now on have no rate limits. */
export async function withoutLimits(db: TestDatabase): Promise<void> {
  for (const table of ['merchants', 'credentials']) {
    await db.sql(`alter table ${table} alter column requests_per_minute set default 0`);
  }
}
