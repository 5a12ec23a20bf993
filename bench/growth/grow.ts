// Makes a database larger, in minutes: both groups at once, without indexes, triggers and foreign
// keys, which the rows would pass. Of the first movements of levels each has its operation; those
// added later share it, so `tallybook verify` has nothing to say about a ledger that was deepened.

import pg from 'pg';
import { mintId } from '../../src/core/id.ts';
import type { Pair } from '../cases/case.ts';
import { movementDigits, productDigits } from '../load/template.ts';
import { addProducts } from '../setup/data.ts';
import type { BenchDatabase } from '../setup/database.ts';
import { type MerchantGroup, oldest, single } from '../setup/merchants.ts';
import { withoutIndexes } from './indexes.ts';

export interface Extent {
  /** Products, levels, customers and operations of each of both groups. */
  readonly products: number;
  /** Movements of each level. */
  readonly depth: number;
}

export function extentOf(movements: number, othersMax: number): Extent {
  const products = Math.floor(Math.min(movements, othersMax) / 2);
  return { products, depth: Math.max(1, Math.round(movements / 2 / products)) };
}

const tables = ['products', 'customers', 'operations', 'inventory_levels', 'inventory_movements'];

export async function grow(
  database: BenchDatabase,
  pair: Pair,
  from: Extent,
  to: Extent,
): Promise<Pair> {
  const { owner } = database;
  let grown = pair;
  await autovacuum(owner, 'off');
  await withoutIndexes(owner, tables, async () => {
    const [served, raw] = await Promise.all([
      growGroup(database, pair.served, from, to, timeOfService),
      growGroup(database, pair.raw, from, to, timeOfDatabase),
    ]);
    grown = { served, raw };
  });
  await autovacuum(owner, 'on');
  return grown;
}

/** It would read tables that have just been written to be indexed. */
async function autovacuum(owner: pg.Client, state: 'on' | 'off'): Promise<void> {
  await owner.query(`alter system set autovacuum = ${state}`);
  await owner.query('select pg_reload_conf()');
}

/** How IDs of the group begin that are minted now. */
type TimeOfIds = (client: pg.Client) => Promise<string>;

/** The first ten of 26 characters hold the time. */
const timeOfService: TimeOfIds = async () => mintId('movement').slice(4, 14);

/** The raw functions write a UUID in hexadecimal digits, of which twelve hold the time. */
const timeOfDatabase: TimeOfIds = async (client) => {
  const { rows } = await client.query<{ time: string }>(
    `select substr(replace(uuidv7()::text, '-', ''), 1, 12) as time`,
  );
  return rows[0]?.time ?? '';
};

async function growGroup(
  database: BenchDatabase,
  group: MerchantGroup,
  from: Extent,
  to: Extent,
  timeOfIds: TimeOfIds,
): Promise<MerchantGroup> {
  const client = new pg.Client({ connectionString: database.ownerUrl });
  client.on('error', () => undefined);
  await client.connect();
  try {
    // No trigger fires in such a session.
    await client.query("set session_replication_role = 'replica'; set synchronous_commit = off");
    const wide =
      to.products > from.products ? await addProducts(client, group, to.products) : group;
    if (to.depth === from.depth) return wide;
    return await deepen(client, wide, to.depth - from.depth, await timeOfIds(client));
  } finally {
    await client.end();
  }
}

/** Adds so many movements to every level, round by round, as time would. */
async function deepen(
  client: pg.Client,
  group: MerchantGroup,
  rounds: number,
  time: string,
): Promise<MerchantGroup> {
  const { id, credential } = single(group);
  const levels = group.products + 1;
  const movementPrefix = `imv_${time.padEnd(26 - movementDigits, '0')}`;
  const number = `right(l.product_id, ${productDigits})`;
  const movementId = `$2::text || lpad((($3::int - 1) * ${levels} + ${number}::int + 1)::text,
    ${movementDigits}, '0')`;
  let at = new Date();
  for (let round = 1; round <= rounds; round += 1) {
    at = new Date();
    await client.query(
      `insert into inventory_movements (merchant_id, id, product_id, location_id, sequence, type,
         reason, quantity_before, quantity_delta, quantity_after, operation_id, credential_id,
         actor_kind, recorded_at)
       select l.merchant_id, ${movementId}, l.product_id, l.location_id, l.sequence + $3,
         'adjustment', 'stock_count', l.quantity + $3 - 1, 1, l.quantity + $3,
         'op_${oldest}' || ${number}, $4, 'personal_access_token', $5
       from inventory_levels l where l.merchant_id = $1`,
      [id, movementPrefix, round, credential, at],
    );
  }
  await client.query(
    `update inventory_levels l set quantity = l.quantity + $3, sequence = l.sequence + $3,
       last_movement_id = ${movementId}, updated_at = $4
     where l.merchant_id = $1`,
    [id, movementPrefix, rounds, at],
  );
  return { ...group, movementPrefix, movements: rounds * levels };
}
