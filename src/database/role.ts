// The two roles: migrations run as the schema's owner, the service as a role that can append to
// the ledger but never change or remove what it holds. Its time-outs are set on the role, because
// a transaction-mode pooler forwards no session settings.

import pg from 'pg';
import { limits } from '../core/limits.ts';

const settings: Readonly<Record<string, string>> = {
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
};

const rights = `
  grant usage on schema public to %ROLE%;
  grant select on schema_migrations, merchants, credentials, credential_tokens, customers,
    products, locations, operations, inventory_levels, inventory_movements, applications,
    application_secrets, oauth_records, rate_buckets, audit_records, audit_head to %ROLE%;
  grant execute on all functions in schema public to %ROLE%;
  grant insert on merchants, credentials, credential_tokens, customers, products, locations,
    operations, inventory_levels, inventory_movements, applications, application_secrets,
    oauth_records, rate_buckets to %ROLE%;
  grant update (requests_per_minute, request_burst) on merchants to %ROLE%;
  grant update (scopes, all_locations, location_ids, last_used_at, revoked_at, requests_per_minute,
    request_burst) on credentials to %ROLE%;
  grant update (expires_at) on credential_tokens to %ROLE%;
  grant update (disabled_at) on applications to %ROLE%;
  grant update (expires_at) on application_secrets to %ROLE%;
  grant update (payload, expires_at, consumed_at) on oauth_records to %ROLE%;
  grant update (full_at) on rate_buckets to %ROLE%;
  grant delete on oauth_records, rate_buckets, credential_tokens to %ROLE%;
  grant update (name, email, email_key, phone, external_id, note, metadata, status, version,
    updated_at, erased_at, search) on customers to %ROLE%;
  grant update (name, description, sku, barcode, status, inventory_tracked, unit_code,
    unit_precision, price_amount, price_currency, external_id, metadata, version, updated_at,
    search) on products to %ROLE%;
  grant update (name, code, type, status, timezone, external_id, metadata, version, updated_at)
    on locations to %ROLE%;
  grant update (quantity, sequence, last_movement_id, updated_at) on inventory_levels to %ROLE%;
`;

/** Creates the service's role if need be, with its rights. Returns whether it is the owner. */
export async function ensureServiceRole(owner: pg.Client, serviceUrl: string): Promise<boolean> {
  const service = new pg.Client({ connectionString: serviceUrl });
  const name = service.user ?? '';
  await owner.query('begin');
  // Two starting processes would otherwise update the same catalogue rows at once and fail.
  await owner.query('select from schema_migrations where number = 0 for update');
  const { rows } = await owner.query<{ current: string; database: string; exists: boolean }>(
    `select current_user as current, current_database() as database,
       exists (select from pg_roles where rolname = $1) as exists`,
    [name],
  );
  const [found] = rows;
  const isOwner = found === undefined || found.current === name;
  const role = owner.escapeIdentifier(name);
  if (!isOwner) {
    const password = owner.escapeLiteral(service.password ?? '');
    // The server's log must not quote the statement, should it fail.
    await owner.query(`select set_config('log_min_error_statement', 'panic', true)
      from pg_roles where rolname = current_user and rolsuper`);
    if (!found.exists) await owner.query(`create role ${role} login password ${password}`);
    await owner.query(rights.replaceAll('%ROLE%', role));
  }
  const database = owner.escapeIdentifier(found?.database ?? '');
  for (const [setting, value] of Object.entries(settings)) {
    const literal = owner.escapeLiteral(value);
    await owner.query(`alter role ${role} in database ${database} set ${setting} = ${literal}`);
  }
  await owner.query('commit');
  return isOwner;
}
