// Checks that a database keeps what is acknowledged. The settings of the server are checked before
// anything is changed in it, those of the service's role after the migrations have set them. A
// refusal names every fault, where the setting comes from, and what mends it.

import type pg from 'pg';
import { firstCell } from '../core/cells.ts';
import { limits } from '../core/limits.ts';
import { pathOf } from './cells.ts';
import { Client } from './client.ts';
import type { Database } from './connect.ts';
import { patienceOfLooks } from './find.ts';
import { greetedBy } from './pooler.ts';

const oldestVersion = 150_000;

/** In seconds. With NTP clocks are well within a second of each other. */
const clockLeadMax = 5;

/** With one of these off, a crash of the server could lose or tear what was acknowledged. */
const durable = ['fsync', 'full_page_writes'] as const;

/** A commit is acknowledged when it is on disk here. One that waits for standbys, too, is safe. */
const synchronous = ['on', 'remote_apply'];

/** With `replica` no trigger and no foreign key guards anything. */
const guarding = ['origin', 'local'];

/** What migrations set on the role, as pg_settings has it: times in milliseconds. */
const expectedOfRole: Readonly<Record<string, string>> = {
  default_transaction_isolation: 'read committed',
  default_transaction_read_only: 'on',
  timezone: 'UTC',
  lock_timeout: String(limits.lockTimeout),
  statement_timeout: String(limits.statementTimeout),
  idle_in_transaction_session_timeout: String(limits.idleInTransactionTimeout),
  datestyle: 'ISO, YMD',
  extra_float_digits: '1',
  search_path: pathOf(firstCell),
};

/** The defaults of a server, which are as good. */
const alsoAccepted: Readonly<Record<string, RegExp>> = {
  datestyle: /^ISO\b/,
  extra_float_digits: /^[0-3]$/,
};

/**
 * What a cluster needs of each server besides. A server that died between PREPARE and COMMIT
 * PREPARED holds what it locked until the next look for such transactions: an acknowledged write
 * was not seen for 28 s with the interval that Citus has by default.
 */
const recoveryIntervalMax = 2_000;

const settingsOfCluster = ['max_prepared_transactions', 'citus.recover_2pc_interval'];

const settingsOfServer = [
  'server_version_num',
  'server_encoding',
  ...durable,
  'synchronous_commit',
  'session_replication_role',
];

interface Setting {
  readonly value: string;
  /** Where PostgreSQL has it from: `configuration file`, `database user`. */
  readonly source: string;
}

interface Found {
  readonly settings: ReadonlyMap<string, Setting>;
  /** Sessions may be older than the settings of the role; each transaction has its own then. */
  readonly isBehindPooler: boolean;
  /** Quoted as SQL wants them. */
  readonly role: string;
  readonly database: string;
}

/** @throws Error naming every fault of the server and of the role. Call it before any change. */
export async function assertDurable(ownerUrl: string, serviceUrl = ownerUrl): Promise<void> {
  const { user: role } = new Client({ connectionString: serviceUrl });
  await judge(ownerUrl, async (client, found) => [
    ...(await serverFaults(client, found)),
    ...(await rightsFaults(client, role)),
  ]);
}

/**
 * Refuses a database that could lose or mix up what it acknowledged.
 * @throws Error naming every setting that is wrong and how to mend it.
 */
export async function assertSafe(serviceUrl: string, schemaVersion: number): Promise<void> {
  await judge(serviceUrl, async (client, found) => [
    ...(await serverFaults(client, found)),
    ...oneOf('synchronous_commit', synchronous, found),
    ...oneOf('session_replication_role', guarding, found),
    ...(found.isBehindPooler ? [] : roleFaults(found)),
    ...(await rightsFaults(client)),
    ...(await schemaFaults(client, schemaVersion)),
  ]);
}

/**
 * What is wrong with a server of a cluster, as the service finds it.
 * @throws when it cannot be asked.
 */
export async function faultsOfClusterServer(serviceUrl: string): Promise<string[]> {
  return look(serviceUrl, async (client) => {
    const found = await settingsOf(client);
    return [
      ...(await serverFaults(client, found)),
      ...oneOf('synchronous_commit', synchronous, found),
      ...oneOf('session_replication_role', guarding, found),
      ...(found.isBehindPooler ? [] : roleFaults(found)),
      ...(await clusterFaults(client, found)),
    ];
  });
}

/** A warning when this node's clock and the database's differ. */
export async function clockFault(serviceUrl: string): Promise<string | undefined> {
  const seconds = await clockLead(serviceUrl);
  if (Math.abs(seconds) <= clockLeadMax) return undefined;
  const where = `${Math.abs(Math.round(seconds))} s ${seconds > 0 ? 'ahead of' : 'behind'}`;
  return `this node's clock is ${where} the database's: the times it writes will be off`;
}

/**
 * How far this node's clock is ahead of the database's, in seconds. Within the time that asking
 * takes the two count as equal.
 */
async function clockLead(serviceUrl: string): Promise<number> {
  return look(serviceUrl, async (client) => {
    const before = Date.now();
    const { rows } = await client.query<{ at: string }>(
      'select extract(epoch from clock_timestamp()) * 1000 as at',
    );
    const at = Number(rows[0]?.at);
    return (Math.max(0, before - at) + Math.min(0, Date.now() - at)) / 1_000;
  });
}

/** What is lost with the server, as far as it says. */
export async function standbyNotice(
  serviceUrl: string,
): Promise<{ readonly level: 'info' | 'warn'; readonly text: string }> {
  // Without pg_monitor a state is null, and a base backup that is under way counts as a standby.
  const asked = `select current_setting('synchronous_standby_names') as awaited,
      count(*)::int as standbys
    from pg_stat_replication where coalesce(state, 'streaming') = 'streaming'`;
  const { rows } = await look(serviceUrl, (client) =>
    client.query<{ awaited: string; standbys: number }>(asked),
  );
  const { awaited, standbys } = rows[0] ?? { awaited: '', standbys: 0 };
  if (awaited !== '' && standbys > 0) {
    return { level: 'info', text: 'a write is acknowledged when a standby has it' };
  }
  if (awaited !== '') {
    return {
      level: 'warn',
      text:
        `writes wait for a standby (synchronous_standby_names = '${awaited}'), and none is ` +
        'connected: nothing is answered until one is, or the setting is emptied',
    };
  }
  if (standbys > 0) {
    return {
      level: 'warn',
      text:
        `no write waits for the ${standbys === 1 ? 'standby' : `${standbys} standbys`}: a ` +
        'failover may lose the last acknowledged ones. Name a standby in synchronous_standby_names',
    };
  }
  return {
    level: 'info',
    text: 'the server has no standby: with its disk is lost what is in no backup',
  };
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
  const client = new Client({
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
  const { rows } = await client.query<{ name: string; pid: number } & Setting>(
    `select lower(name) as name, setting as value, source, pg_backend_pid() as pid
     from pg_settings where lower(name) = any ($1)`,
    [[...settingsOfServer, ...Object.keys(expectedOfRole), ...settingsOfCluster]],
  );
  return {
    settings: new Map(rows.map(({ name, ...setting }) => [name, setting])),
    isBehindPooler: rows.some(({ pid }) => pid !== greetedBy(client)),
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
  return [...unsafe, ...encodingFaults(found), ...(await collationFaults(client, found))];
}

/** Another encoding cannot store every name, or stores bytes without a check. */
function encodingFaults({ settings }: Found): string[] {
  const encoding = settings.get('server_encoding')?.value;
  if (encoding === 'UTF8') return [];
  return [
    `its encoding is ${encoding}, it must be UTF8: make another one with create database NAME ` +
      "template template0 encoding 'UTF8', and restore a backup into it if this one holds anything",
  ];
}

/**
 * IDs are compared byte by byte, but external IDs and states by the database's default order. When
 * an upgrade of the system changes that order, older indexes no longer find every row, and a unique
 * one admits a duplicate. PostgreSQL only warns.
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

function oneOf(name: string, [first = '', ...others]: readonly string[], found: Found): string[] {
  const setting = found.settings.get(name);
  // Another client of a pooler has set it in this session: each of our transactions sets it anew.
  const isFine = setting?.source === 'session' || [first, ...others].includes(setting?.value ?? '');
  return isFine ? [] : [faultOf(name, first, setting, found)];
}

function roleFaults(found: Found): string[] {
  return Object.entries(expectedOfRole).flatMap(([name, expected]) => {
    const setting = found.settings.get(name);
    const { value = '', source } = setting ?? {};
    if (value === expected || alsoAccepted[name]?.test(value) === true) return [];
    // It beats what migrations set.
    if (source === 'client') return [faultOf(name, expected, setting, found)];
    return [`${name} is ${value}, it must be ${expected}: run "tallybook migrate"`];
  });
}

/**
 * A role that is not the owner's is there to have fewer rights. One that has all of them by the way
 * can switch off what guards the ledger; a service that is the owner itself is warned elsewhere.
 */
async function rightsFaults(client: pg.Client, role?: string): Promise<string[]> {
  const { rows } = await client.query<{ owner: string; role: string; is_superuser: boolean }>(
    `select quote_ident(r.rolname) as owner, quote_ident(s.rolname) as role,
       s.rolsuper as is_superuser
     from pg_roles r, pg_roles s
     where s.rolname = coalesce($1, current_user) and s.oid <> r.oid
       and pg_has_role(s.oid, r.oid, 'member')
       and r.oid = coalesce((select relowner from pg_class
         where oid = to_regclass('${firstCell}.inventory_movements')), current_user::regrole)`,
    [role],
  );
  return rows.map(({ owner, role, is_superuser }) =>
    is_superuser
      ? `the service's role is a superuser: run alter role ${role} nosuperuser`
      : `the service's role may act as the owner: run revoke ${owner} from ${role}`,
  );
}

async function schemaFaults(client: pg.Client, schemaVersion: number): Promise<string[]> {
  const { rows } = await client.query<{ version: number; behind: string[] }>(
    `select max(number) as version, ${cellsBehind('public.cells')} as behind
     from public.schema_migrations`,
    [schemaVersion],
  );
  const { version, behind = [] } = rows[0] ?? {};
  if (version !== schemaVersion) {
    return [`the schema is at version ${version}, not ${schemaVersion}: run "tallybook migrate"`];
  }
  return behind.map((cell) => `${cell} is not of version ${schemaVersion}: restore a backup`);
}

async function clusterFaults(client: pg.Client, { settings }: Found): Promise<string[]> {
  const [prepared = 0, recovery = 0] = settingsOfCluster.map((name) =>
    Number(settings.get(name)?.value),
  );
  const isRecovering = recovery > 0 && recovery <= recoveryIntervalMax;
  // Without it no guard of the ledger is made on this server. Citus leaves it out of pg_settings.
  const { rows } = await client.query<{ value: string }>(
    "select current_setting('citus.enable_unsafe_triggers', true) as value",
  );
  const isGuarding = rows[0]?.value === 'on';
  return [
    ...(isGuarding
      ? []
      : ["citus.enable_unsafe_triggers is off, it must be on: set it in the server's settings"]),
    ...(prepared > 0
      ? []
      : ['max_prepared_transactions is 0, it must be more: as many as max_connections']),
    ...(isRecovering
      ? []
      : [
          `citus.recover_2pc_interval is ${recovery} ms, it must be ${recoveryIntervalMax} ms or ` +
            "less: set it to 2s in the server's settings and reload them",
        ]),
  ];
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

/** The names of cells that are of an earlier version than `$1`: the history says it of all. */
const cellsBehind = (cells: string) =>
  `array(select name from ${cells} where version < $1 order by name)`;

interface Readiness {
  readonly version: number | null;
  readonly behind: readonly string[];
  readonly off: readonly string[];
}

/** Why a service is not ready; undefined when it is. */
export async function whyNotReady(
  { reserve }: Database,
  known: number,
): Promise<string | undefined> {
  try {
    const rows = await reserve.query<Readiness>({
      name: 'readiness',
      text: `select max(number) as version, ${cellsBehind('cells')} as behind,
          array(select name from unnest($2::text[]) as name where current_setting(name) <> 'on')
            as off
        from schema_migrations`,
      values: [known, durable],
    });
    const [{ version, behind, off } = { version: null, behind: [], off: [] }] = rows;
    if (off.length > 0) return `${off.join(' and ')} is off`;
    if ((version ?? 0) < known) return `the schema is at version ${version}, not ${known}`;
    return behind.length > 0 ? `${behind.join(' and ')} is not at version ${known}` : undefined;
  } catch {
    return 'the database does not answer';
  }
}
