// The writes as one statement each, for the raw figures: what a transaction of the service does
// when it carries a single command, with the same tables, indexes, constraints and triggers, and
// nothing of HTTP. They exist in the benchmark's database only.

import type pg from 'pg';
import type { MerchantId } from '../../src/core/principal.ts';
import { findAdjustments } from '../../src/inventory/read-store.ts';

/** 104 bits that grow with time, as wide as the service's own IDs: an index fills alike. */
const newId = (prefix: string) => `'${prefix}' || substr(replace(uuidv7()::text, '-', ''), 1, 26)`;

const random32 = 'uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())';

/** Binds the key, and gives `operation` its value. */
const bind = (type: string, location: string) => `
  insert into operations (merchant_id, id, credential_id, type, key_hash, fingerprint,
    fingerprint_version, status, resource_id, location_id, request_id, created_at)
  values (merchant, ${newId('op_')}, credential, '${type}', ${random32}, ${random32}, 1,
    'succeeded', resource, ${location}, ${newId('req_')}, clock_timestamp())
  returning id into strict operation;`;

const adjust = `
create function bench_adjust(merchant text, credential text, location text, product text)
returns void language plpgsql as $$
declare
  operation text;
  resource text;
  level record;
  found_product record;
  moment timestamptz;
begin
  select quantity, sequence into strict level from inventory_levels
  where merchant_id = merchant and product_id = product and location_id = location
  for no key update;
  select status, inventory_tracked, unit_precision into strict found_product from products
  where merchant_id = merchant and id = product;
  if found_product.status <> 'active' or not found_product.inventory_tracked then
    raise exception 'not to be adjusted';
  end if;
  -- After the lock: within a level, IDs and times follow the sequence.
  resource := ${newId('imv_')};
  moment := clock_timestamp();
  ${bind('inventory.adjust', 'location')}
  update inventory_levels
  set quantity = level.quantity + 1, sequence = level.sequence + 1, last_movement_id = resource,
    updated_at = moment
  where merchant_id = merchant and product_id = product and location_id = location;
  insert into inventory_movements (merchant_id, id, product_id, location_id, sequence, type,
    reason, quantity_before, quantity_delta, quantity_after, operation_id, credential_id,
    actor_kind, recorded_at)
  values (merchant, resource, product, location, level.sequence + 1, 'adjustment', 'stock_count',
    level.quantity, 1, level.quantity + 1, operation, credential, 'personal_access_token', moment);
end $$`;

const createCustomer = `
create function bench_create_customer(merchant text, credential text)
returns void language plpgsql as $$
declare
  operation text;
  resource text := ${newId('cus_')};
  number text := substr(resource, 5, 12);
  moment timestamptz := clock_timestamp();
begin
  ${bind('customers.create', 'null')}
  insert into customers (merchant_id, id, name, email, email_key, phone, status, version,
    created_at, updated_at, search)
  values (merchant, resource, 'Ada Bench ' || number, 'c' || number || '@example.com',
    'c' || number || '@example.com', '+493012345678', 'active', 1, moment, moment,
    ('ada bench ' || number || ' c' || number || ' example com')::tsvector);
end $$`;

const shown = findAdjustments('' as MerchantId, [])
  .text.replace('$1', 'merchant')
  .replace('any ($2)', 'any (array[resource])');

/** The key of a write that has happened, and what its answer shows: two reads, nothing written. */
const replay = `
create function bench_replay(merchant text, credential text, used text)
returns table (sequence bigint, level_quantity numeric) language plpgsql as $$
#variable_conflict use_column
declare
  resource text;
begin
  select resource_id into strict resource from operations
  where merchant_id = merchant and credential_id = credential and type = 'inventory.adjust'
    and key_hash = sha256(used::bytea);
  return query select shown.sequence, shown.level_quantity from (${shown}) shown;
end $$`;

export async function createFunctions(owner: pg.Client): Promise<void> {
  for (const definition of [adjust, createCustomer, replay]) await owner.query(definition);
}
