// Databases of earlier versions: the schema as only the first migrations leave it, and rows as the
// program of that time wrote them. Until version 2 a key was bound in two steps, and the ledger's
// chain was a foreign key.

import type pg from 'pg';
import { readMigrations } from '../../src/database/migrate.ts';

/** Brings an empty database to an earlier version, with the history that its program kept. */
export async function applyUpTo(client: pg.Client, version: number): Promise<void> {
  await client.query(`
    create table if not exists schema_migrations (number integer primary key, name text not null,
      checksum text not null, applied_at timestamptz not null default now());
    insert into schema_migrations (number, name, checksum) values (0, 'lock', '')
      on conflict do nothing`);
  for (const { number, name, checksum, sql } of await readMigrations()) {
    const { rowCount } = await client.query('select from schema_migrations where number = $1', [
      number,
    ]);
    if (number > version || rowCount !== 0) continue;
    await client.query('begin');
    await client.query(sql);
    await client.query(
      'insert into schema_migrations (number, name, checksum) values ($1, $2, $3)',
      [number, name, checksum],
    );
    await client.query('commit');
  }
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
    insert into credentials (merchant_id, id, kind, name, scopes, all_locations, location_ids,
      created_at) values ('${merchant}', '${credential}', 'personal_access_token', 'till',
      '{inventory.write}', true, '{}', now());
    insert into locations (merchant_id, id, name, created_at, updated_at)
      values ('${merchant}', '${location}', 'Main Street', now(), now());
    insert into products (merchant_id, id, name, unit_code, unit_precision, created_at, updated_at)
      select '${merchant}', ${id('prod', 'n')}, 'Flour ' || n, 'each', 0, now(), now()
      from generate_series(1, ${levels}) n;
    insert into operations (merchant_id, id, credential_id, type, key_hash, fingerprint,
        fingerprint_version, status, location_id, request_id, created_at)
      select '${merchant}', ${id('op', 'o')}, '${credential}', 'inventory.adjust',
        sha256(('key ' || o)::bytea), sha256(('print ' || o)::bytea), 1, 'claimed', '${location}',
        'req_bulk', now()
      from generate_series(1, ${total + levels}) o;
    insert into inventory_levels (merchant_id, product_id, location_id)
      select '${merchant}', ${id('prod', 'n')}, '${location}' from generate_series(1, ${levels}) n;
    update operations o set status = 'succeeded',
        resource_id = 'imv_' || right(o.id, 26)
      where merchant_id = '${merchant}' and id <= ${id('op', `${total}`)};
    update operations o set status = 'rejected', error_code = 'no_change', error_details = '[]'
      where merchant_id = '${merchant}' and id > ${id('op', `${total}`)};
    update inventory_levels set quantity = ${depth}, sequence = ${depth}, updated_at = now(),
        last_movement_id = ${id('imv', `${depth - 1} * ${levels} + right(product_id, 26)::bigint`)}
      where merchant_id = '${merchant}';
    insert into inventory_movements (merchant_id, id, product_id, location_id, sequence, type,
        reason, quantity_before, quantity_delta, quantity_after, operation_id, credential_id,
        actor_kind, recorded_at)
      select '${merchant}', ${id('imv', number)}, ${id('prod', 'n')}, '${location}', s,
        'adjustment', 'stock_count', s - 1, 1, s, ${id('op', number)}, '${credential}',
        'personal_access_token', now()
      from ${series} order by s, n;
    commit`);
}
