// What a run begins with: two merchants of the same size, one for the service and one for the raw
// figures. Each has a location, and products with one level and one movement each. They share all
// tables and indexes; they are two because their IDs are written differently, and within a level
// the order of IDs must stay the order of sequences.

import type pg from 'pg';
import { hashToken, mintToken } from '../../src/access/token.ts';
import { mintId } from '../../src/core/id.ts';
import { type MerchantId, scopes } from '../../src/core/principal.ts';
import { productDigits } from '../load/template.ts';

export interface BenchMerchant {
  readonly id: MerchantId;
  readonly location: string;
  readonly credential: string;
  readonly token: string;
  /** What comes before the digits in the ID of a product. */
  readonly productPrefix: string;
  /** The product whose level everybody wants: number 0. */
  readonly hotProduct: string;
}

/** Movements and operations of the data sort before every ID minted later, by anyone. */
const oldest = '0'.repeat(20);

export async function createMerchant(owner: pg.Client, products: number): Promise<BenchMerchant> {
  const productPrefix = mintId('product').slice(0, -productDigits);
  const merchant: BenchMerchant = {
    id: mintId('merchant') as MerchantId,
    location: mintId('location'),
    credential: mintId('credential'),
    token: mintToken('pat'),
    productPrefix,
    hotProduct: productPrefix + '0'.repeat(productDigits),
  };
  await owner.query('begin');
  await createAccess(owner, merchant);
  await createProducts(owner, merchant, products);
  await createLedger(owner, merchant, products);
  await owner.query('commit');
  return merchant;
}

/** Statistics, a visibility map, and the log written out: every run begins alike. */
export async function settle(owner: pg.Client): Promise<void> {
  await owner.query('vacuum (analyze)');
  await owner.query('checkpoint');
}

/** Beyond what one machine can do, and kept all the same: a limit is part of every request. */
const requestsPerMinute = 1_000_000;

async function createAccess(owner: pg.Client, merchant: BenchMerchant): Promise<void> {
  const { id, location, credential, token } = merchant;
  await owner.query(
    `insert into merchants (id, name, created_at, requests_per_minute)
     values ($1, 'Bench', date_trunc('milliseconds', now()), $2)`,
    [id, requestsPerMinute],
  );
  await owner.query(
    `insert into locations (merchant_id, id, name, created_at, updated_at)
     select $1, $2, 'Main Street', t, t from date_trunc('milliseconds', now()) t`,
    [id, location],
  );
  await owner.query(
    `insert into credentials (merchant_id, id, kind, name, scopes, all_locations, location_ids,
       created_at, requests_per_minute)
     values ($1, $2, 'personal_access_token', 'bench', $3, true, '{}', now(), $4)`,
    [id, credential, scopes, requestsPerMinute],
  );
  await owner.query(
    `insert into credential_tokens (token_hash, merchant_id, credential_id, last_four, created_at,
       expires_at) values ($1, $2, $3, $4, now(), now() + interval '1 day')`,
    [hashToken(token), id, credential, token.slice(-4)],
  );
}

async function createProducts(
  owner: pg.Client,
  { id, productPrefix }: BenchMerchant,
  products: number,
): Promise<void> {
  await owner.query(
    `insert into products (merchant_id, id, name, description, sku, barcode, unit_code,
       unit_precision, price_amount, price_currency, metadata, created_at, updated_at, search)
     select $1, $2::text || lpad(n::text, ${productDigits}, '0'), 'Olive oil, bottle ' || n,
       'Cold pressed, in a dark bottle. Keep it away from light.', 'OIL-' || n,
       lpad(n::text, 13, '4'), 'each', 0, 4.50 + n % 1000, 'EUR',
       '{"season": "spring", "supplier": "north"}', t, t,
       ('olive oil bottle ' || n)::tsvector
     from generate_series(0, $3::int) n, date_trunc('milliseconds', now()) t`,
    [id, productPrefix, products],
  );
}

/** Levels go before movements: the database refuses a movement beyond its level. */
async function createLedger(
  owner: pg.Client,
  merchant: BenchMerchant,
  products: number,
): Promise<void> {
  const numbered = `from generate_series(0, $2::int) n, date_trunc('milliseconds', now()) t,
    lateral (select lpad(n::text, ${productDigits}, '0') as digits) d`;
  const { id, location, credential, productPrefix } = merchant;
  await owner.query(
    `insert into operations (merchant_id, id, credential_id, type, key_hash, fingerprint,
       fingerprint_version, status, resource_id, location_id, request_id, created_at)
     select $1, 'op_${oldest}' || digits, $3, 'inventory.adjust', sha256(digits::bytea),
       sha256(digits::bytea), 1, 'succeeded', 'imv_${oldest}' || digits, $4, 'req_bench', t
     ${numbered}`,
    [id, products, credential, location],
  );
  await owner.query(
    `insert into inventory_levels (merchant_id, product_id, location_id, quantity, sequence,
       last_movement_id, updated_at)
     select $1, $3::text || digits, $4, 100 + n, 1, 'imv_${oldest}' || digits, t ${numbered}`,
    [id, products, productPrefix, location],
  );
  await owner.query(
    `insert into inventory_movements (merchant_id, id, product_id, location_id, sequence, type,
       reason, quantity_before, quantity_delta, quantity_after, operation_id, credential_id,
       actor_kind, recorded_at)
     select $1, 'imv_${oldest}' || digits, $3::text || digits, $4, 1, 'adjustment', 'stock_count',
       0, 100 + n, 100 + n, 'op_${oldest}' || digits, $5, 'personal_access_token', t ${numbered}`,
    [id, products, productPrefix, location, credential],
  );
}
