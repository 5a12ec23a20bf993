// Rows by the hundred thousand, made in the database by one statement per table: merchants in
// groups of equals, each with a location and a credential; products, each with one level, its first
// movement and the operation that recorded it; customers. The last digits of an ID are a number, so
// that a statement names any of a group without a table of them.

import type pg from 'pg';
import { hashToken, mintToken } from '../../src/access/token.ts';
import { type IdPrefix, mintId } from '../../src/core/id.ts';
import { scopes } from '../../src/resources.ts';

export interface ManyRowsMerchant {
  readonly id: string;
  readonly credential: string;
  readonly token: string;
  readonly location: string;
  /** What comes before the digits in the ID of a product. */
  readonly productPrefix: string;
}

export interface MerchantGroup {
  readonly merchants: readonly ManyRowsMerchant[];
  /** What comes before the merchant's number in IDs. */
  readonly prefixes: {
    readonly merchant: string;
    readonly location: string;
    readonly credential: string;
  };
  /** What comes before the digits in the IDs of products, the same for all of the group. */
  readonly productPrefix: string;
  /** Products of each merchant, numbered from 1. Number 0 is one more, whose level all want. */
  readonly products: number;
  /** The movements that can be named at random. */
  readonly movementPrefix: string;
  readonly movements: number;
}

export const merchantDigits = 4;
export const productDigits = 6;
export const movementDigits = 7;

/** Movements, operations and customers made here sort before every ID minted later, by anyone. */
export const oldest = '0'.repeat(20);

/** Beyond what one machine can do, and kept all the same: a limit is part of every request. */
const requestsPerMinute = 1_000_000;

/** Merchants with a location and a credential each, and nothing else. */
export async function createMerchants(owner: pg.Client, count: number): Promise<MerchantGroup> {
  const group = newMerchants(count);
  await addMerchants(owner, group);
  return group;
}

/** Merchants to be, whom several databases may have. */
export function newMerchants(count: number): MerchantGroup {
  const prefix = (kind: IdPrefix, places: number) => mintId(kind).slice(0, -places);
  const prefixes = {
    merchant: prefix('mer_', merchantDigits),
    location: prefix('loc_', merchantDigits),
    credential: prefix('cred_', merchantDigits),
  };
  const productPrefix = prefix('prod_', productDigits);
  const merchants = Array.from({ length: count }, (_, index): ManyRowsMerchant => {
    const digits = String(index + 1).padStart(merchantDigits, '0');
    return {
      id: prefixes.merchant + digits,
      location: prefixes.location + digits,
      credential: prefixes.credential + digits,
      token: mintToken('pat'),
      productPrefix,
    };
  });
  const movementPrefix = `imv_${'0'.repeat(26 - movementDigits)}`;
  return { merchants, prefixes, productPrefix, products: 0, movementPrefix, movements: 0 };
}

export async function addMerchants(owner: pg.Client, { merchants }: MerchantGroup): Promise<void> {
  await owner.query('begin');
  await createAccess(owner, merchants);
  await owner.query('commit');
}

/** The only one of a group. */
export function single({ merchants }: MerchantGroup): ManyRowsMerchant {
  const [merchant] = merchants;
  if (merchant === undefined || merchants.length > 1) throw new Error('not a single merchant');
  return merchant;
}

/** The product whose level everybody wants. */
export function hotProduct({ productPrefix }: { readonly productPrefix: string }): string {
  return productPrefix + '0'.repeat(productDigits);
}

async function createAccess(
  owner: pg.Client,
  merchants: readonly ManyRowsMerchant[],
): Promise<void> {
  const ids = merchants.map(({ id }) => id);
  const credentials = merchants.map(({ credential }) => credential);
  const tokens = merchants.map(({ token }) => token);
  await owner.query(
    `insert into merchants (id, name, created_at, requests_per_minute)
     select id, 'Bench', date_trunc('milliseconds', now()), $2 from unnest($1::text[]) id`,
    [ids, requestsPerMinute],
  );
  if (await hasTable(owner, 'journals')) {
    await owner.query(
      `insert into journals select m, 'jrn_' || substr(m, 5) from unnest($1::text[]) m`,
      [ids],
    );
  }
  await owner.query(
    `insert into locations (merchant_id, id, name, created_at, updated_at)
     select m, l, 'Main Street', t, t
     from unnest($1::text[], $2::text[]) as a (m, l), date_trunc('milliseconds', now()) t`,
    [ids, merchants.map(({ location }) => location)],
  );
  await owner.query(
    `insert into credentials (merchant_id, id, kind, name, scopes, all_locations, location_ids,
       created_at, requests_per_minute)
     select m, c, 'personal_access_token', 'bench', $3, true, '{}', now(), $4
     from unnest($1::text[], $2::text[]) as a (m, c)`,
    [ids, credentials, scopes, requestsPerMinute],
  );
  await owner.query(
    `insert into credential_tokens (token_hash, merchant_id, credential_id, last_four, created_at,
       expires_at)
     select h, m, c, f, now(), now() + interval '1 day'
     from unnest($1::bytea[], $2::text[], $3::text[], $4::text[]) as a (h, m, c, f)`,
    [tokens.map(hashToken), ids, credentials, tokens.map((token) => token.slice(-4))],
  );
}

/** Adds products until each merchant of the group has so many, with all that belongs to them. */
export async function addProducts(
  owner: pg.Client,
  group: MerchantGroup,
  products: number,
): Promise<MerchantGroup> {
  const from = group.products === 0 ? 0 : group.products + 1;
  const { merchant, location, credential } = group.prefixes;
  const prefixes = [merchant, location, credential, group.productPrefix];
  await owner.query('begin');
  for (const [table, columns] of Object.entries(tables)) {
    const known = await columnsOf(owner, table);
    const filled = Object.entries(columns).filter(([name]) => known.has(name));
    await owner.query(
      `insert into ${table} (${filled.map(([name]) => name).join(', ')})
       select ${filled.map(([, value]) => value).join(', ')}
       from generate_series(1, $5::int) m, generate_series($6::int, $7::int) n,
         lateral (select lpad(m::text, ${merchantDigits}, '0') as number,
           lpad(n::text, ${productDigits}, '0') as digits) d,
         lateral (select $1::text || number as merchant, $2::text || number as location,
           $3::text || number as credential, $4::text || digits as product,
           -- A thousand rows to a time: indexes by time hold as many entries as in life.
           date_trunc('milliseconds', now()) - ($7::int - n) * interval '1 microsecond' as at) i,
         lateral (select date_trunc('milliseconds', at) as t) w`,
      [...prefixes, group.merchants.length, from, products],
    );
  }
  await owner.query('commit');
  return { ...group, products, movements: products };
}

/** Statistics, a visibility map, and the log written out: every measurement begins alike. */
export async function settle(owner: pg.Client): Promise<void> {
  await owner.query('vacuum (analyze)');
  await owner.query('checkpoint');
}

/** An earlier version has fewer of them. */
async function hasTable(owner: pg.Client, name: string): Promise<boolean> {
  const { rows } = await owner.query<{ id: string | null }>('select to_regclass($1) as id', [name]);
  return typeof rows[0]?.id === 'string';
}

async function columnsOf(owner: pg.Client, table: string): Promise<Set<string>> {
  const { rows } = await owner.query<{ name: string }>(
    `select attname as name from pg_attribute
     where attrelid = $1::regclass and attnum > 0 and not attisdropped`,
    [table],
  );
  return new Set(rows.map(({ name }) => name));
}

const movement = `'imv_${oldest}' || digits`;

/**
 * Levels go before movements: the database refuses a movement beyond its level. A column that a
 * schema does not have is left out, so that an earlier version can be filled as well.
 */
const tables: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  products: {
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
    name_key: `'olive oil, bottle ' || n`,
  },
  customers: {
    merchant_id: 'merchant',
    id: `'cus_${oldest}' || digits`,
    name: `'Ada Bench ' || n`,
    email: `'a' || n || '@example.com'`,
    email_key: `'a' || n || '@example.com'`,
    phone: `'+493012345678'`,
    created_at: 't',
    updated_at: 't',
    search: `('ada bench ' || n || ' a' || n || ' example com')::tsvector`,
  },
  operations: {
    merchant_id: 'merchant',
    id: `'op_${oldest}' || digits`,
    credential_id: 'credential',
    type: `'inventory.adjust'`,
    key_hash: 'sha256(digits::bytea)',
    fingerprint: 'sha256(digits::bytea)',
    fingerprint_version: '1',
    status: `'succeeded'`,
    resource_id: movement,
    movements: '1',
    position: 'n + 1',
    location_id: 'location',
    request_id: `'req_bench'`,
    created_at: 't',
  },
  inventory_levels: {
    merchant_id: 'merchant',
    product_id: 'product',
    location_id: 'location',
    quantity: '100 + n',
    sequence: '1',
    last_movement_id: movement,
    first_position: 'n + 1',
    updated_at: 't',
  },
  inventory_movements: {
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
    position: 'n + 1',
    line: '1',
    credential_id: 'credential',
    actor_kind: `'personal_access_token'`,
    recorded_at: 't',
  },
};
