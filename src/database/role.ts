// The two roles: migrations run as the schema's owner, the service as a role that can append to
// the ledger but never change or remove what it holds. Its time-outs are set on the role, so that
// no connection can be without them.

import type pg from 'pg';
import { firstCell } from '../core/cells.ts';
import { limits } from '../core/limits.ts';
import { resources } from '../resources.ts';
import { findCells, pathOf } from './cells.ts';
import { Client } from './client.ts';

/** What each session and, behind a pooler, each transaction of the service begins with. */
export const settings: Readonly<Record<string, string>> = {
  timezone: 'UTC',
  default_transaction_isolation: 'read committed',
  // Every statement of a pipeline stands for itself: should BEGIN fail, those behind it must not
  // commit one by one. Outside of a transaction that says `read write` nothing can be written.
  default_transaction_read_only: 'on',
  idle_in_transaction_session_timeout: `${limits.idleInTransactionTimeout}ms`,
  lock_timeout: `${limits.lockTimeout}ms`,
  statement_timeout: `${limits.statementTimeout}ms`,
  client_connection_check_interval: '2s',
  tcp_keepalives_idle: '10s',
  // What answers are read from must have one form, whatever the database or the server has.
  datestyle: 'ISO, YMD',
  extra_float_digits: '1',
  // Every list was planned anew at each request otherwise, for a third of its time in the database.
  plan_cache_mode: 'force_generic_plan',
  // Migrations put everything there: a schema in front of it would be another database.
  search_path: pathOf(firstCell),
};

/** What the service does with the tables that belong to no resource. */
const accessRights = `
  grant usage on schema public to %ROLE%;
  grant select on schema_migrations, cells, merchants, credentials, credential_tokens, applications,
    application_secrets, oauth_records, rate_buckets, person_passwords, person_passkeys,
    sign_in_tries, sign_in_challenges, audit_records, audit_head to %ROLE%;
  grant execute on all functions in schema public to %ROLE%;
  grant insert on merchants, credentials, credential_tokens, applications, application_secrets,
    oauth_records, rate_buckets, person_passwords, person_passkeys, sign_in_tries,
    sign_in_challenges to %ROLE%;
  grant update (hash, set_at) on person_passwords to %ROLE%;
  grant update (counter) on person_passkeys to %ROLE%;
  grant update (expires_at) on sign_in_challenges to %ROLE%;
  grant update (full_at) on sign_in_tries to %ROLE%;
  grant update (name, disabled_at, requests_per_minute, request_burst) on merchants to %ROLE%;
  grant update (name, name_key, role, scopes, all_locations, location_ids, version, last_used_at,
    revoked_at, invited_at, invitation_hash, invitation_expires_at, requests_per_minute,
    request_burst) on credentials to %ROLE%;
  grant update (expires_at) on credential_tokens to %ROLE%;
  grant update (disabled_at) on applications to %ROLE%;
  grant update (expires_at) on application_secrets to %ROLE%;
  grant update (payload, expires_at, consumed_at) on oauth_records to %ROLE%;
  grant update (full_at, next_ask_at) on rate_buckets to %ROLE%;
  grant delete on oauth_records, rate_buckets, credential_tokens, sign_in_tries,
    sign_in_challenges to %ROLE%;
`;

/** Rows of resources are read, added, and changed in the columns that they declare. */
const resourceRights = resources
  .flatMap(({ tables }) => tables)
  .flatMap(({ name, updates }) => [
    `grant select, insert on ${name} to %ROLE%;`,
    ...(updates.length === 0 ? [] : [`grant update (${updates.join(', ')}) on ${name} to %ROLE%;`]),
  ]);

const rightsIn = (cell: string): string =>
  [
    `set local search_path = ${pathOf(cell)}, pg_temp;`,
    `grant usage on schema ${cell} to %ROLE%;`,
    `grant execute on all functions in schema ${cell} to %ROLE%;`,
    ...resourceRights,
  ].join('\n');

/**
 * Makes the service's role if need be, and gives it the settings that it has not got. Returns
 * whether it is the owner. Before migrations: nothing is changed where the owner may not do it.
 * @param begin what begins a transaction of the owner's.
 * @param different settings that are not as usual.
 * @throws Error naming the statements that mend it.
 */
export async function ensureServiceRole(
  owner: pg.Client,
  serviceUrl: string,
  begin: string,
  different: Readonly<Record<string, string>> = {},
): Promise<boolean> {
  const service = new Client({ connectionString: serviceUrl });
  return alone(owner, begin, async () => {
    const found = await findRole(owner, service);
    if (!found.exists) await createRole(owner, service, found);
    const statements = [...missingSettings(owner, found, different), ...pathOfOwner(found)];
    try {
      for (const statement of statements) await owner.query(statement);
    } catch (error) {
      if (!isDenied(error)) throw error;
      throw new Error(
        `${found.current} (TALLYBOOK_MIGRATE_URL) may not change ${found.role}, the role of ` +
          `DATABASE_URL: run as a superuser ${statements.join('; ')}`,
        { cause: error },
      );
    }
    return found.isOwner;
  });
}

/** Exactly what the service needs of the tables that there are, and `more`. `begin` as above. */
export async function grantRights(
  owner: pg.Client,
  serviceUrl: string,
  begin: string,
  more = '',
): Promise<void> {
  const { user = '' } = new Client({ connectionString: serviceUrl });
  await alone(owner, begin, async () => {
    const rights = [accessRights, more, ...(await findCells(owner)).map(rightsIn)].join('\n');
    await owner.query(rights.replaceAll('%ROLE%', owner.escapeIdentifier(user)));
  });
}

/** Who may use the first cell may use this one. In a transaction of the owner's. */
export async function grantLikeFirst(owner: pg.Client, cell: string): Promise<void> {
  const { rows } = await owner.query<{ role: string }>(
    `select quote_ident(r.rolname) as role
     from pg_namespace n, aclexplode(n.nspacl) a
     join pg_roles r on r.oid = a.grantee and r.oid <> a.grantor
     where n.nspname = '${firstCell}' and a.privilege_type = 'USAGE'`,
  );
  for (const { role } of rows) await owner.query(rightsIn(cell).replaceAll('%ROLE%', role));
  await owner.query('set local search_path = public, pg_temp');
}

/**
 * Works under the lock of the migrations, all of it or nothing: two starting processes would
 * otherwise update the same catalogue rows at once and fail.
 * @param begin what begins a transaction of the owner's.
 */
export async function alone<Result>(
  owner: pg.Client,
  begin: string,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    await owner.query(`${begin}; select from schema_migrations where number = 0 for update`);
    const result = await work();
    await owner.query('commit');
    return result;
  } catch (error) {
    // The first failure is the reason, also when the connection is gone.
    await owner.query('rollback').catch(() => undefined);
    throw error;
  }
}

/** Names are quoted as SQL wants them. */
interface FoundRole {
  readonly role: string;
  readonly current: string;
  readonly database: string;
  readonly isOwner: boolean;
  readonly exists: boolean;
  readonly mayCreate: boolean;
  /** Whether the owner's sessions begin with a search path of their own. */
  readonly hasPath: boolean;
  /** As `name=value`. */
  readonly settings: readonly string[];
}

async function findRole(owner: pg.Client, service: pg.Client): Promise<FoundRole> {
  const { rows } = await owner.query<FoundRole>(
    `select quote_ident($1) as role, quote_ident(c.rolname) as current,
       quote_ident(d.datname) as database,
       c.rolname = $1 as "isOwner", s.oid is not null as exists,
       c.rolsuper or c.rolcreaterole as "mayCreate", coalesce(o.setconfig, '{}') as settings,
       exists (
         select from pg_db_role_setting p, unnest(p.setconfig) as own (setting)
         where p.setdatabase = d.oid and p.setrole = c.oid and own.setting like 'search_path=%'
       ) as "hasPath"
     from pg_roles c
     join pg_database d on d.datname = current_database()
     left join pg_roles s on s.rolname = $1
     left join pg_db_role_setting o on o.setdatabase = d.oid and o.setrole = s.oid
     where c.rolname = current_user`,
    [service.user],
  );
  const [found] = rows;
  if (found === undefined) throw new Error('the database does not know the role of its session');
  return found;
}

async function createRole(
  owner: pg.Client,
  service: pg.Client,
  { role, current, mayCreate }: FoundRole,
): Promise<void> {
  if (!mayCreate) {
    throw new Error(
      `${role}, the role of DATABASE_URL, is not there, and ${current} (TALLYBOOK_MIGRATE_URL) ` +
        `may not create it: run as a superuser alter role ${current} createrole, or make it by ` +
        `hand with create role ${role} login password '…'`,
    );
  }
  // The server's log must not quote the statement, should it fail.
  await owner.query(`select set_config('log_min_error_statement', 'panic', true)
    from pg_roles where rolname = current_user and rolsuper`);
  const password = owner.escapeLiteral(service.password ?? '');
  await owner.query(`create role ${role} login password ${password}`);
}

function missingSettings(
  owner: pg.Client,
  { role, database, settings: found }: FoundRole,
  different: Readonly<Record<string, string>>,
): string[] {
  const has = new Set(found.map((entry) => entry.replace(/^[^=]*/, (name) => name.toLowerCase())));
  return Object.entries({ ...settings, ...different })
    .filter(([name, value]) => !has.has(`${name}=${value}`))
    .map(
      ([name, value]) =>
        `alter role ${role} in database ${database} set ${name} = ` +
        (name === 'search_path' ? value : owner.escapeLiteral(value)),
    );
}

/** For whoever looks into the database as the owner. Nothing of ours depends on it. */
function pathOfOwner({ current, database, isOwner, hasPath }: FoundRole): string[] {
  if (isOwner || hasPath) return [];
  return [`alter role ${current} in database ${database} set search_path = ${pathOf(firstCell)}`];
}

function isDenied(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '42501';
}
