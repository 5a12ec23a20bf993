// Merchants of a run, in groups of equals, made by statements over whole groups. The last digits of
// an ID are a number, so that a raw statement finds any of a group without a table of them.

import type pg from 'pg';
import { hashToken, mintToken } from '../../src/access/token.ts';
import { type IdKind, mintId } from '../../src/core/id.ts';
import { type MerchantId, scopes } from '../../src/core/principal.ts';
import { type Caller, movementDigits, productDigits } from '../load/template.ts';

export interface BenchMerchant extends Caller {
  readonly id: MerchantId;
  readonly credential: string;
}

export interface MerchantGroup {
  readonly merchants: readonly BenchMerchant[];
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

/** Movements, operations and customers of the data sort before every ID minted later, by anyone. */
export const oldest = '0'.repeat(20);

const firstMovements = `imv_${'0'.repeat(26 - movementDigits)}`;

/** Merchants with a location and a credential each, and nothing else. */
export async function createMerchants(owner: pg.Client, count: number): Promise<MerchantGroup> {
  const prefix = (kind: IdKind, places: number) => mintId(kind).slice(0, -places);
  const prefixes = {
    merchant: prefix('merchant', merchantDigits),
    location: prefix('location', merchantDigits),
    credential: prefix('credential', merchantDigits),
  };
  const productPrefix = prefix('product', productDigits);
  const merchants = Array.from({ length: count }, (_, index): BenchMerchant => {
    const digits = String(index + 1).padStart(merchantDigits, '0');
    return {
      id: (prefixes.merchant + digits) as MerchantId,
      location: prefixes.location + digits,
      credential: prefixes.credential + digits,
      token: mintToken('pat'),
      productPrefix,
    };
  });
  await owner.query('begin');
  await createAccess(owner, merchants);
  await owner.query('commit');
  const movementPrefix = firstMovements;
  return { merchants, prefixes, productPrefix, products: 0, movementPrefix, movements: 0 };
}

/** The only one of a group. */
export function single({ merchants }: MerchantGroup): BenchMerchant {
  const [merchant] = merchants;
  if (merchant === undefined || merchants.length > 1) throw new Error('not a single merchant');
  return merchant;
}

/** The product whose level everybody wants. */
export function hotProduct({ productPrefix }: { readonly productPrefix: string }): string {
  return productPrefix + '0'.repeat(productDigits);
}

/** Beyond what one machine can do, and kept all the same: a limit is part of every request. */
const requestsPerMinute = 1_000_000;

async function createAccess(owner: pg.Client, merchants: readonly BenchMerchant[]): Promise<void> {
  const ids = merchants.map(({ id }) => id);
  const credentials = merchants.map(({ credential }) => credential);
  await owner.query(
    `insert into merchants (id, name, created_at, requests_per_minute)
     select id, 'Bench', date_trunc('milliseconds', now()), $2 from unnest($1::text[]) id`,
    [ids, requestsPerMinute],
  );
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
    [
      merchants.map(({ token }) => hashToken(token)),
      ids,
      credentials,
      merchants.map(({ token }) => token.slice(-4)),
    ],
  );
}
