// A database of a test file's own: a clone of the migrated template, on real PostgreSQL.

import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';
import { pathOf } from '../../src/database/cells.ts';
import { pathAtOwner } from '../../src/database/citus.ts';
import { migrate } from '../../src/database/migrate.ts';
import { ensureServiceRole } from '../../src/database/role.ts';
import { homeCell, lookHome } from './cells.ts';
import {
  clusterUrl,
  createOnCluster,
  dropOnCluster,
  isDeadlock,
  isForCoordinator,
  ownerOf,
  serverUrls,
} from './citus.ts';
import { makeCells, templateName, withDatabase } from './postgres.ts';
import { sqlAt } from './sql.ts';

export interface TestDatabase {
  readonly ownerUrl: string;
  readonly serviceUrl: string;
  /**
   * SQL as the schema's owner, for arranging and for looking behind the interface. On a cluster it
   * goes where the home cell is, and what cannot be done there to the coordinator.
   */
  sql<Row extends pg.QueryResultRow = Record<string, unknown>>(
    text: string,
    values?: unknown[],
  ): Promise<Row[]>;
  /** A connection of its own, for holding locks, to where a cell is: the home cell. End it. */
  session(cell?: string): Promise<pg.Client>;
  /** The same to the global tables. On a cluster they are changed at the coordinator. */
  globalSession(): Promise<pg.Client>;
  drop(): Promise<void>;
}

export async function createTestDatabase(): Promise<TestDatabase> {
  // On a cluster a clone would be of the coordinator alone.
  const from = clusterUrl === undefined ? ` template ${templateName} strategy file_copy` : '';
  const db = await makeDatabase(from, lookHome);
  if (clusterUrl === undefined) {
    await setRole(db);
    return db;
  }
  await migrate({ owner: db.ownerUrl, service: db.serviceUrl });
  await makeCells(db.ownerUrl);
  return db;
}

/** A clone has the schema and the rights. The role's settings belong to a database. */
async function setRole({ ownerUrl, serviceUrl }: TestDatabase): Promise<void> {
  const owner = new pg.Client({ connectionString: ownerUrl, options });
  await owner.connect();
  await ensureServiceRole(owner, serviceUrl, 'begin');
  await owner.end();
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
  const pool = poolAt(ownerUrl);
  const placeOf = placesOf(ownerUrl);
  let home: pg.Pool | undefined;
  const sessions: pg.Client[] = [];
  const sessionAt = async (connectionString: string, path = ''): Promise<pg.Client> => {
    const client = new pg.Client({ connectionString, options: options + path });
    client.on('error', () => undefined);
    await client.connect();
    sessions.push(client);
    return client;
  };
  return {
    ownerUrl,
    serviceUrl,
    async sql<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []) {
      const place = await placeOf(homeCell);
      if (place === undefined) return (await pool.query<Row>(text, values)).rows;
      home ??= poolAt(place, pathTo(pathOf(homeCell)));
      return throughCitus<Row>([home, pool], text, values);
    },
    async session(cell = homeCell) {
      const place = await placeOf(cell);
      if (place === undefined) return sessionAt(ownerUrl, pathTo(pathOf(cell)));
      const client = await sessionAt(place, pathTo(pathAtOwner(cell)));
      // Not every test has written by the service before.
      await client.query('select show_cell($1)', [cell]);
      return client;
    },
    globalSession: () => sessionAt(ownerUrl, clusterUrl === undefined ? '' : passingOn),
    async drop() {
      await Promise.all(sessions.map((session) => session.end()));
      await pool.end();
      await home?.end();
      if (clusterUrl === undefined) await admin.query(`drop database ${name} with (force)`);
      else await dropOnCluster(clusterUrl, name);
      await admin.end();
    },
  };
}

// Where the service is the owner, too, the owner's default is to write nothing.
const options = '-c default_transaction_read_only=off';

function poolAt(connectionString: string, path = ''): pg.Pool {
  const pool = new pg.Pool({ connectionString, max: 4, options: options + path });
  pool.on('error', () => undefined);
  return pool;
}

/**
 * As the service does it. Two that change tables that every server has may end in a deadlock, and
 * what only the coordinator does is asked of that.
 */
async function throughCitus<Row extends pg.QueryResultRow>(
  [home, coordinator]: readonly [pg.Pool, pg.Pool],
  text: string,
  values: unknown[],
): Promise<Row[]> {
  for (let tries = 1, pool = home; ; tries += 1) {
    try {
      return (await pool.query<Row>(text, values)).rows;
    } catch (error) {
      if (isForCoordinator(error) && pool === home) pool = coordinator;
      else if (!isDeadlock(error) || tries === 5) throw error;
    }
  }
}

/** Undefined: no other than the one server. A server that a cell has left passes all on. */
function placesOf(ownerUrl: string): (cell: string) => Promise<string | undefined> {
  const places = new Map<string, string>();
  return async (cell) => {
    if (clusterUrl === undefined) return undefined;
    const place = places.get(cell) ?? (await ownerOf(ownerUrl, cell));
    if (place !== undefined) places.set(cell, place);
    return place;
  };
}

/** What is set in a transaction is set for it on all servers. */
const passingOn = ' -c citus.propagate_set_commands=local';

const pathTo = (path: string) => ` -c search_path=${path.replaceAll(' ', '')}`;

/** Makes something on each server by itself: no other is told of it. */
export async function makeEverywhere({ ownerUrl }: TestDatabase, text: string): Promise<void> {
  const alone = ' -c citus.enable_ddl_propagation=off';
  for (const connectionString of await serverUrls(ownerUrl)) {
    await sqlAt({ connectionString, options: options + alone }, text);
  }
}

/** How many sessions wait for a lock, on whichever server. */
export async function waitsOf(db: TestDatabase): Promise<number> {
  const waiting = `select count(*)::int as count from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`;
  const everywhere = `select sum(result::int)::int as count
    from run_command_on_all_nodes($$${waiting}$$)`;
  const text = clusterUrl === undefined ? waiting : everywhere;
  const [row] = await db.sql<{ count: number }>(text);
  return row?.count ?? 0;
}

/** Merchants and credentials that are created from now on have no rate limits. */
export async function withoutLimits(db: TestDatabase): Promise<void> {
  for (const table of ['merchants', 'credentials']) {
    await db.sql(`alter table ${table} alter column requests_per_minute set default 0`);
  }
}
