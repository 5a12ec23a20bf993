// Databases of earlier versions: the schema as only the first migrations leave it, and rows as the
// program of that time wrote them.

import type pg from 'pg';
import { readMigrations } from '../../src/database/migrations.ts';

/** Brings an empty database to an earlier version. */
export async function applyUpTo(client: pg.Client, version: number): Promise<void> {
  // Functions keep the path that they are made with.
  await client.query(`set search_path = public, pg_temp;
    create table if not exists schema_migrations (number integer primary key, name text not null,
      checksum text not null, steps integer not null,
      applied_at timestamptz not null default now());
    insert into schema_migrations (number, name, checksum, steps) values (0, '', '', 0)
      on conflict do nothing;
    create table if not exists cells (name text collate "C" primary key, version integer not null,
      created_at timestamptz not null default now());
    insert into cells (name, version) values ('cell_1', 0) on conflict do nothing;
    create schema if not exists cell_1`);
  for (const migration of (await readMigrations()).slice(0, version)) {
    const { number, name, checksum, steps, cellSteps } = migration;
    for (const step of steps) await client.query(step);
    await client.query('set search_path = cell_1, public, pg_temp');
    for (const step of cellSteps) await client.query(step);
    await client.query('set search_path = public, pg_temp');
    await client.query('update cells set version = $1', [number]);
    await client.query(
      'insert into schema_migrations (number, name, checksum, steps) values ($1, $2, $3, $4)',
      [number, name, checksum, steps.length + cellSteps.length],
    );
  }
  await client.query('set search_path = cell_1, public, pg_temp');
}

/** The merchant whose ledger `fill` makes: `mer_` and so on, then 26 digits. */
export const bulk = {
  merchant: idOf('mer'),
  credential: idOf('cred'),
  location: idOf('loc'),
} as const;

export function idOf(prefix: string, number = 0): string {
  return `${prefix}_${String(number).padStart(26, '0')}`;
}

export interface Size {
  readonly levels: number;
  /** Movements of each level. */
  readonly depth: number;
}

/**
 * Levels with their movements and operations, and as many refused operations as levels. Every
 * constraint and trigger of the version looks at the rows. Level n was set to 1, 2 and so on up to
 * the depth, and refused once.
 */
export async function fill(client: pg.Client, { levels, depth }: Size): Promise<void> {
  const { merchant, credential, location } = bulk;
  const id = (prefix: string, number: string) => `'${prefix}_' || lpad((${number})::text, 26, '0')`;
  // In the order of time: all levels once, then all again.
  const number = `(s - 1) * ${levels} + n`;
  const series = `generate_series(1, ${depth}) s, generate_series(1, ${levels}) n`;
  const total = levels * depth;
  await client.query(`begin;
    insert into merchants (id, name, created_at) values ('${merchant}', 'Long in business', now());
    insert into journals (merchant_id, id) values ('${merchant}', 'jrn_bulk');
    insert into credentials (merchant_id, id, kind, name, scopes, all_locations, location_ids,
      created_at) values ('${merchant}', '${credential}', 'personal_access_token', 'till',
      '{inventory.write}', true, '{}', now());
    insert into locations (merchant_id, id, name, created_at, updated_at)
      values ('${merchant}', '${location}', 'Main Street', now(), now());
    insert into products (merchant_id, id, name, unit_code, unit_precision, created_at, updated_at)
      select '${merchant}', ${id('prod', 'n')}, 'Flour ' || n, 'each', 0, now(), now()
      from generate_series(1, ${levels}) n;
    insert into operations (merchant_id, id, credential_id, type, key_hash, fingerprint,
        fingerprint_version, status, resource_id, movements, position, error_code, error_details,
        location_id, request_id, created_at)
      select '${merchant}', ${id('op', 'o')}, '${credential}', 'inventory.adjust',
        sha256(('key ' || o)::bytea), sha256(('print ' || o)::bytea), 1,
        case when moves then 'succeeded' else 'rejected' end,
        case when moves then ${id('imv', 'o')} end, moves::int,
        case when moves then o end,
        case when not moves then 'no_change' end, case when not moves then '[]'::json end,
        '${location}', 'req_bulk', now()
      from generate_series(1, ${total + levels}) o, lateral (select o <= ${total} as moves) m;
    insert into inventory_levels (merchant_id, product_id, location_id)
      select '${merchant}', ${id('prod', 'n')}, '${location}' from generate_series(1, ${levels}) n;
    update inventory_levels set quantity = ${depth}, sequence = ${depth}, updated_at = now(),
        first_position = right(product_id, 26)::bigint,
        last_movement_id = ${id('imv', `${depth - 1} * ${levels} + right(product_id, 26)::bigint`)}
      where merchant_id = '${merchant}';
    insert into inventory_movements (merchant_id, id, product_id, location_id, sequence, type,
        reason, quantity_before, quantity_delta, quantity_after, operation_id, position, line,
        credential_id, actor_kind, recorded_at)
      select '${merchant}', ${id('imv', number)}, ${id('prod', 'n')}, '${location}', s,
        'adjustment', 'stock_count', s - 1, 1, s, ${id('op', number)}, ${number}, 1,
        '${credential}',
        'personal_access_token', now()
      from ${series} order by s, n;
    commit`);
}
