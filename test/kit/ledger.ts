// A long ledger straight into the database, sound in every respect: levels with as many movements
// each, and the operations that recorded them. Its IDs sort before all that are minted. The server
// of tests has its statistics from here, not from autovacuum, because that comes once a minute.

import { connectDatabase } from '../../src/database/connect.ts';
import { verifyLedger } from '../../src/inventory/verify.ts';
import type { TestDatabase } from './database.ts';
import type { GivenCredential } from './given.ts';

interface Size {
  readonly levels: number;
  /** Of each level. */
  readonly movements: number;
}

export async function addLedger(
  db: TestDatabase,
  { merchant, id: credential }: GivenCredential,
  location: string,
  { levels, movements }: Size,
): Promise<void> {
  const session = await db.session();
  // No trigger judges the rows; `verify` does so afterwards.
  await session.query("begin; set local session_replication_role = 'replica'");
  for (const { columns, values, where = 'true' } of parts) {
    await session.query(
      `insert into ${columns} select ${values}
       from (select $1::text as merchant, $2::text as credential, $3::text as location,
           $4::int as levels, $5::int as movements) given,
         generate_series(1, levels) p, generate_series(1, movements) s,
         lateral (select lpad((s * levels + p)::text, 26, '0') as digits,
           'prod_' || lpad(p::text, 26, '0') as product,
           date_trunc('milliseconds', now()) - (movements - s) * interval '1 second' as at) row
       where ${where}`,
      [merchant, credential, location, levels, movements],
    );
  }
  await session.query('commit; analyze');
  await session.end();
}

/** `p` is the number of a level, `s` that of a movement in it, which adds one. */
const parts: readonly {
  readonly columns: string;
  readonly values: string;
  readonly where?: string;
}[] = [
  {
    columns: 'products (merchant_id, id, name, unit_code, unit_precision, created_at, updated_at)',
    values: `merchant, product, 'Olive oil ' || p, 'each', 0, at, at`,
    where: 's = 1',
  },
  {
    columns: `operations (merchant_id, id, credential_id, type, key_hash, fingerprint,
      fingerprint_version, status, resource_id, movements, position, location_id, request_id,
      created_at)`,
    values: `merchant, 'op_' || digits, credential, 'inventory.adjust', sha256(digits::bytea),
      sha256(digits::bytea), 1, 'succeeded', 'imv_' || digits, 1, (s - 1) * levels + p,
      location, 'req_' || digits,
      at`,
  },
  {
    columns: `inventory_levels (merchant_id, product_id, location_id, quantity, sequence,
      last_movement_id, first_position, updated_at)`,
    values: `merchant, product, location, s, s, 'imv_' || digits, p, at`,
    where: 's = movements',
  },
  {
    columns: `inventory_movements (merchant_id, id, product_id, location_id, sequence, type,
      reason, quantity_before, quantity_delta, quantity_after, operation_id, position,
      line, credential_id, actor_kind, recorded_at)`,
    values: `merchant, 'imv_' || digits, product, location, s, 'adjustment', 'stock_count', s - 1,
      1, s, 'op_' || digits, (s - 1) * levels + p, 1, credential, 'personal_access_token', at`,
  },
];

/**
 * Moves the times of all that has happened at merchants back. As the owner, and without triggers:
 * for all others it never changes.
 */
export async function ageLedger(
  db: TestDatabase,
  merchants: readonly string[],
  milliseconds: number,
): Promise<void> {
  const session = await db.session();
  await session.query("begin; set local session_replication_role = 'replica'");
  for (const [table, time] of [
    ['operations', 'created_at'],
    ['inventory_movements', 'recorded_at'],
    ['inventory_levels', 'updated_at'],
  ]) {
    await session.query(
      `update ${table} set ${time} = ${time} - $2 * interval '1 millisecond'
       where merchant_id = any ($1)`,
      [merchants, milliseconds],
    );
  }
  await session.query('commit');
  await session.end();
}

/** Moves the time at which a reservation ends, as if it had been asked for so. */
export async function endReservation(
  db: TestDatabase,
  merchant: string,
  id: string,
  at: string,
): Promise<void> {
  const session = await db.session();
  await session.query("begin; set local session_replication_role = 'replica'");
  for (const [table, name] of [
    ['inventory_reservations', 'id'],
    ['inventory_reservation_lines', 'reservation_id'],
  ]) {
    await session.query(
      `update ${table} set expires_at = $3 where merchant_id = $1 and ${name} = $2`,
      [merchant, id, at],
    );
  }
  await session.query('commit');
  await session.end();
}

/** What `tallybook verify` finds. */
export async function ledgerDifferences({ serviceUrl }: Pick<TestDatabase, 'serviceUrl'>) {
  const database = connectDatabase({ url: serviceUrl, writers: 1 });
  try {
    return (await verifyLedger(database)).differences;
  } finally {
    await database.close();
  }
}
