// The rows that a run begins with, made in the database by one statement per table: products, each
// with one level, its first movement and the operation that recorded it, and customers. What the
// service works on and what the raw statements work on are groups of the same size in the same
// tables: their IDs are written differently, and within a level the order of IDs is the order of
// sequences.

import type pg from 'pg';
import { productDigits } from '../load/template.ts';
import { type MerchantGroup, merchantDigits, oldest } from './merchants.ts';

/** Adds products until each merchant of the group has so many, with all that belongs to them. */
export async function addProducts(
  owner: pg.Client,
  group: MerchantGroup,
  products: number,
): Promise<MerchantGroup> {
  const isFirst = group.products === 0;
  const rows = new Rows(owner, group, isFirst ? 0 : group.products + 1, products);
  await owner.query('begin');
  await addCatalogue(rows);
  await addCustomers(rows);
  await addLedger(rows);
  await owner.query('commit');
  return { ...group, products, movements: products };
}

/** Statistics, a visibility map, and the log written out: every part of a run begins alike. */
export async function settle(owner: pg.Client): Promise<void> {
  await owner.query('vacuum (analyze)');
  await owner.query('checkpoint');
}

/**
 * Statements over every merchant of a group and every number of the range. The columns they may
 * name: the IDs `merchant`, `location`, `credential`, `product`; the number `n`, its `digits`, and
 * `t`, a time that grows with it.
 */
class Rows {
  readonly #owner: pg.Client;
  readonly #values: readonly unknown[];

  constructor(owner: pg.Client, group: MerchantGroup, from: number, to: number) {
    const { merchant, location, credential } = group.prefixes;
    const { merchants, productPrefix } = group;
    this.#owner = owner;
    this.#values = [merchant, location, credential, productPrefix, merchants.length, from, to];
  }

  async insert(table: string, columns: Readonly<Record<string, string>>): Promise<void> {
    await this.#owner.query(
      `insert into ${table} (${Object.keys(columns).join(', ')})
       select ${Object.values(columns).join(', ')}
       from generate_series(1, $5::int) m, generate_series($6::int, $7::int) n,
         lateral (select lpad(m::text, ${merchantDigits}, '0') as number,
           lpad(n::text, ${productDigits}, '0') as digits) d,
         lateral (select $1::text || number as merchant, $2::text || number as location,
           $3::text || number as credential, $4::text || digits as product,
           -- A thousand rows to a time: indexes by time hold as many entries as in life.
           date_trunc('milliseconds', now()) - ($7::int - n) * interval '1 microsecond' as at) i,
         lateral (select date_trunc('milliseconds', at) as t) w`,
      [...this.#values],
    );
  }
}

async function addCatalogue(rows: Rows): Promise<void> {
  await rows.insert('products', {
    merchant_id: 'merchant',
    id: 'product',
    name: `'Olive oil, bottle ' || n`,
    description: `'Cold pressed, in a dark bottle. Keep it away from light.'`,
    sku: `'OIL-' || n`,
    barcode: `lpad(n::text, 13, '4')`,
    unit_code: `'each'`,
    unit_precision: '0',
    price_amount: '4.50 + n % 1000',
    price_currency: `'EUR'`,
    metadata: `'{"season": "spring", "supplier": "north"}'`,
    created_at: 't',
    updated_at: 't',
    search: `('olive oil bottle ' || n)::tsvector`,
  });
}

async function addCustomers(rows: Rows): Promise<void> {
  await rows.insert('customers', {
    merchant_id: 'merchant',
    id: `'cus_${oldest}' || digits`,
    name: `'Ada Bench ' || n`,
    email: `'a' || n || '@example.com'`,
    email_key: `'a' || n || '@example.com'`,
    phone: `'+493012345678'`,
    created_at: 't',
    updated_at: 't',
    search: `('ada bench ' || n || ' a' || n || ' example com')::tsvector`,
  });
}

/** Levels go before movements: the database refuses a movement beyond its level. */
async function addLedger(rows: Rows): Promise<void> {
  const movement = `'imv_${oldest}' || digits`;
  await rows.insert('operations', {
    merchant_id: 'merchant',
    id: `'op_${oldest}' || digits`,
    credential_id: 'credential',
    type: `'inventory.adjust'`,
    key_hash: 'sha256(digits::bytea)',
    fingerprint: 'sha256(digits::bytea)',
    fingerprint_version: '1',
    status: `'succeeded'`,
    resource_id: movement,
    location_id: 'location',
    request_id: `'req_bench'`,
    created_at: 't',
  });
  await rows.insert('inventory_levels', {
    merchant_id: 'merchant',
    product_id: 'product',
    location_id: 'location',
    quantity: '100 + n',
    sequence: '1',
    last_movement_id: movement,
    updated_at: 't',
  });
  await rows.insert('inventory_movements', {
    merchant_id: 'merchant',
    id: movement,
    product_id: 'product',
    location_id: 'location',
    sequence: '1',
    type: `'adjustment'`,
    reason: `'stock_count'`,
    quantity_before: '0',
    quantity_delta: '100 + n',
    quantity_after: '100 + n',
    operation_id: `'op_${oldest}' || digits`,
    credential_id: 'credential',
    actor_kind: `'personal_access_token'`,
    recorded_at: 't',
  });
}
