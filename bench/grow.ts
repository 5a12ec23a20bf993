// Makes a database larger, in minutes: both groups at once, without indexes, triggers and foreign
// keys, which the rows would pass. Of the first movements of levels each has its operation; those
// added later share it, so `tallybook verify` has nothing to say about a ledger that was deepened.

import pg from 'pg';
import { mintId } from '../src/core/id.ts';
import {
  addProducts,
  type MerchantGroup,
  movementDigits,
  oldest,
  productDigits,
  settle,
  single,
} from '../test/kit/many-rows.ts';
import { withoutIndexes } from '../test/kit/without-indexes.ts';
import type { Pair } from './cases.ts';
import type { Load } from './load.ts';
import { median, progress } from './measure.ts';
import type { BenchDatabase } from './servers.ts';

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
  // Autovacuum would read tables that have just been written to be indexed.
  await owner.query('alter system set autovacuum = off');
  await owner.query('select pg_reload_conf()');
  // The first ten of 26 characters of an ID hold the time; the raw functions write a UUID in
  // hexadecimal digits, of which twelve do.
  const { rows } = await owner.query<{ time: string }>(
    `select substr(replace(uuidv7()::text, '-', ''), 1, 12) as time`,
  );
  await withoutIndexes(owner, tables, async () => {
    const [served, raw] = await Promise.all([
      growGroup(database, pair.served, from, to, mintId('imv_').slice(4, 14)),
      growGroup(database, pair.raw, from, to, rows[0]?.time ?? ''),
    ]);
    grown = { served, raw };
  });
  await owner.query('alter system reset autovacuum');
  await owner.query('select pg_reload_conf()');
  await settle(owner);
  return grown;
}

/** @param time how IDs of the group begin that are minted now. */
async function growGroup(
  { ownerUrl }: BenchDatabase,
  group: MerchantGroup,
  from: Extent,
  to: Extent,
  time: string,
): Promise<MerchantGroup> {
  const client = new pg.Client({ connectionString: ownerUrl });
  client.on('error', () => undefined);
  await client.connect();
  try {
    // No trigger fires in such a session.
    await client.query("set session_replication_role = 'replica'; set synchronous_commit = off");
    const wide =
      to.products > from.products ? await addProducts(client, group, to.products) : group;
    return to.depth === from.depth ? wide : await deepen(client, wide, to.depth - from.depth, time);
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
         reason, quantity_before, quantity_delta, quantity_after, operation_id, position,
         line, credential_id, actor_kind, recorded_at)
       select l.merchant_id, ${movementId}, l.product_id, l.location_id, l.sequence + $3,
         'adjustment', 'stock_count', l.quantity + $3 - 1, 1, l.quantity + $3,
         'op_${oldest}' || ${number}, (${number})::bigint + 1, l.sequence + $3, $4,
         'personal_access_token', $5
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

export interface LatePage {
  readonly list: string;
  readonly page: number;
  readonly firstMs: number;
  readonly pageMs: number;
}

const lists: Readonly<Record<string, string>> = {
  products: '/products?',
  customers: '/customers?',
  levels: '/inventory/levels?location_id={location}&',
  movements: '/inventory/movements?',
  operations: '/operations?',
};
const pageSize = 50;
/** The most that a request may ask for: the same rows in a quarter of the requests. */
const strideSize = 200;
const pageRounds = 100;

/** The first page of each list against one far behind it, reached as a client would: by cursors. */
export async function latePages(
  origin: string,
  group: MerchantGroup,
  page: number,
): Promise<LatePage[]> {
  const { token, location } = single(group);
  const headers = { Authorization: `Bearer ${token}` };
  const ask = async (path: string) => {
    const startedAt = performance.now();
    const answer = await fetch(`${origin}/api/v1${path}`, { headers });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`);
    return { text, ms: performance.now() - startedAt };
  };
  const found: LatePage[] = [];
  for (const [list, template] of Object.entries(lists)) {
    progress(`page ${page} of ${list}`);
    const path = template.replace('{location}', location);
    let cursor = '';
    for (let left = (page - 1) * pageSize; left > 0; left -= strideSize) {
      const { text } = await ask(`${path}limit=${Math.min(left, strideSize)}${cursor}`);
      const { meta } = JSON.parse(text) as { meta: { next_cursor: string } };
      cursor = `&cursor=${encodeURIComponent(meta.next_cursor)}`;
    }
    const times: { first: number; late: number }[] = [];
    for (let round = 0; round < pageRounds; round += 1) {
      const first = await ask(`${path}limit=${pageSize}`);
      const late = await ask(`${path}limit=${pageSize}${cursor}`);
      times.push({ first: first.ms, late: late.ms });
    }
    const firstMs = median(times.map(({ first }) => first));
    const pageMs = median(times.map(({ late }) => late));
    found.push({ list, page, firstMs, pageMs });
  }
  return found;
}

/** Sends what the replays repeat, until each key was used. */
export async function useKeys(load: Load, origin: string, plan: Parameters<Load['run']>[1]) {
  const connections = 32;
  // What is not answered at the end of a run may be missing: a second run fills the gaps.
  for (let sent = 0; sent < 2 * plan.numbers.usedKeys; ) {
    const { total, errors, firstError } = await load.run(origin, plan, connections, 2);
    if (errors > 0) throw new Error(firstError);
    sent += total;
  }
}
