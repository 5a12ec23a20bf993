// Whether a database may be trusted with what is acknowledged. What belongs to its server is judged
// before anything is changed in it, what belongs to the service's role once migrations have set it.
// Every fault is named with where the setting comes from and what mends it.

import pg from 'pg';
import { limits } from '../core/limits.ts';
import { patienceOfLooks } from './reach.ts';

const oldestVersion = 150_000;

/** A crash of the server alone could lose or tear what was acknowledged. */
const durable = ['fsync', 'full_page_writes'] as const;

/** Acknowledged once it is on disk here. What waits for standbys as well is safe, too. */
const synchronous = ['on', 'remote_apply'];

/** What migrations set on the role, as pg_settings has it: times in milliseconds. */
const expectedOfRole: Readonly<Record<string, string>> = {
  default_transaction_isolation: 'read committed',
  default_transaction_read_only: 'on',
  timezone: 'UTC',
  lock_timeout: String(limits.lockTimeout),
  statement_timeout: String(limits.statementTimeout),
  idle_in_transaction_session_timeout: String(limits.idleInTransactionTimeout),
};

interface Setting {
  readonly value: string;
  /** Where it comes from, as PostgreSQL says: `configuration file`, `database user`. */
  readonly source: string;
}

interface Found {
  readonly settings: ReadonlyMap<string, Setting>;
  /** Quoted as SQL wants them. */
  readonly role: string;
  readonly database: string;
}

/** @throws Error naming every fault of the server, before it is migrated. */
export async function assertDurable(ownerUrl: string): Promise<void> {
  await judge(ownerUrl, serverFaults);
}

/**
 * Refuses a database that could lose or mix up what it acknowledged.
 * @throws Error naming every setting that is wrong and how to mend it.
 */
export async function assertSafe(serviceUrl: string, schemaVersion: number): Promise<void> {
  await judge(serviceUrl, async (client, found) => [
    ...(await serverFaults(client, found)),
    ...synchronyFaults(found),
    ...roleFaults(found),
    ...(await rightsFaults(client, found)),
    ...(await schemaFaults(client, schemaVersion)),
  ]);
}

/**
 * How far this node's clock is ahead of the database's, in seconds. Within the time that asking
 * takes the two count as equal.
 */
export async function clockLead(serviceUrl: string): Promise<number> {
  return look(serviceUrl, async (client) => {
    const before = Date.now();
    const { rows } = await client.query<{ at: string }>(
      'select extract(epoch from clock_timestamp()) * 1000 as at',
    );
    const at = Number(rows[0]?.at);
    return (Math.max(0, before - at) + Math.min(0, Date.now() - at)) / 1_000;
  });
}

async function judge(
  url: string,
  faultsOf: (client: pg.Client, found: Found) => Promise<readonly string[]>,
): Promise<void> {
  const faults = await look(url, async (client) => faultsOf(client, await settingsOf(client)));
  if (faults.length > 0) {
    throw new Error(`this database is not safe to use: ${faults.join('; ')}`);
  }
}

async function look<Seen>(url: string, see: (client: pg.Client) => Promise<Seen>): Promise<Seen> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'tallybook',
    ...patienceOfLooks,
  });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await see(client);
  } finally {
    await client.end();
  }
}

async function settingsOf(client: pg.Client): Promise<Found> {
  const { rows } = await client.query<{ name: string; value: string; source: string }>(
    `select lower(name) as name, setting as value, source from pg_settings
     where lower(name) = any ($1)`,
    [['server_version_num', ...durable, 'synchronous_commit', ...Object.keys(expectedOfRole)]],
  );
  return {
    settings: new Map(rows.map(({ name, ...setting }) => [name, setting])),
    role: client.escapeIdentifier(client.user ?? ''),
    database: client.escapeIdentifier(client.database ?? ''),
  };
}

async function serverFaults(client: pg.Client, found: Found): Promise<string[]> {
  const version = Number(found.settings.get('server_version_num')?.value);
  if (version < oldestVersion) {
    const major = Math.floor(version / 10_000);
    return [
      `the server is PostgreSQL ${major}, it must be 15 or newer: upgrade it, or name another in ` +
        'DATABASE_URL',
    ];
  }
  const unsafe = durable.flatMap((name) => {
    const setting = found.settings.get(name);
    return setting?.value === 'on' ? [] : [faultOf(name, 'on', setting, found)];
  });
  return [...unsafe, ...(await collationFaults(client, found))];
}

/**
 * IDs are compared byte by byte, but external IDs and states as the database does by default. When
 * an upgrade of the system has changed that order, indexes built before no longer find what is
 * there, and a unique one admits a second. PostgreSQL only warns.
 */
async function collationFaults(client: pg.Client, { database }: Found): Promise<string[]> {
  const { rows } = await client.query<{ made: string | null; actual: string | null }>(
    `select datcollversion as made, pg_database_collation_actual_version(oid) as actual
     from pg_database where datname = current_database()`,
  );
  const { made, actual } = rows[0] ?? {};
  if (made === actual || made === null) return [];
  return [
    `the system sorts text by version ${actual} of its rules, the indexes were built by ${made}: ` +
      `run reindex database ${database}, then alter database ${database} refresh collation version`,
  ];
}

function synchronyFaults(found: Found): string[] {
  const name = 'synchronous_commit';
  const setting = found.settings.get(name);
  return synchronous.includes(setting?.value ?? '') ? [] : [faultOf(name, 'on', setting, found)];
}

function roleFaults({ settings }: Found): string[] {
  return Object.entries(expectedOfRole).flatMap(([name, expected]) => {
    const value = settings.get(name)?.value;
    return value === expected
      ? []
      : [`${name} is ${value}, it must be ${expected}: run "tallybook migrate"`];
  });
}

/**
 * A role that is not the owner's is there to have fewer rights. One that has all of them by the way
 * can switch off what guards the ledger; a service that is the owner itself is warned elsewhere.
 */
async function rightsFaults(client: pg.Client, { role }: Found): Promise<string[]> {
  const { rows } = await client.query<{ owner: string; is_superuser: boolean }>(
    `select quote_ident(r.rolname) as owner, s.rolsuper as is_superuser
     from pg_class t, pg_roles r, pg_roles s
     where t.oid = to_regclass('public.inventory_movements') and r.oid = t.relowner
       and s.rolname = current_user and s.oid <> r.oid and pg_has_role(s.oid, r.oid, 'member')`,
  );
  return rows.map(({ owner, is_superuser }) =>
    is_superuser
      ? `the service's role is a superuser: run alter role ${role} nosuperuser`
      : `the service's role may act as the owner: run revoke ${owner} from ${role}`,
  );
}

async function schemaFaults(client: pg.Client, schemaVersion: number): Promise<string[]> {
  const { rows } = await client.query<{ version: number }>(
    'select max(number) as version from schema_migrations',
  );
  const version = rows[0]?.version;
  if (version === schemaVersion) return [];
  return [`the schema is at version ${version}, not ${schemaVersion}: run "tallybook migrate"`];
}

function faultOf(
  name: string,
  expected: string,
  setting: Setting | undefined,
  { role, database }: Found,
): string {
  const { value, source = '' } = setting ?? {};
  const statements: Readonly<Record<string, string>> = {
    'database user': `alter role ${role} in database ${database} reset ${name}`,
    user: `alter role ${role} reset ${name}`,
    database: `alter database ${database} reset ${name}`,
    global: `alter role all reset ${name}`,
  };
  const statement = statements[source];
  const remedies: Readonly<Record<string, string>> = {
    client: `take it out of the connection's options`,
    'command line': `start the server without -c ${name}`,
  };
  const remedy =
    statement === undefined
      ? (remedies[source] ?? `set ${name} = ${expected} in the server's settings and reload them`)
      : `run ${statement}`;
  return `${name} is ${value}, it must be ${expected} (it comes from: ${source}): ${remedy}`;
}
