// Arranges what a test starts from, straight in the database.

import { insertJournal, insertOperator } from '../../src/access/operator/merchant-store.ts';
import { hashToken, mintToken } from '../../src/access/token.ts';
import { mintId } from '../../src/core/id.ts';
import { scopes } from '../../src/resources.ts';
import type { TestDatabase } from './database.ts';

export interface GivenCredential {
  readonly merchant: string;
  readonly id: string;
  readonly token: string;
}

export class Given {
  readonly #db: Pick<TestDatabase, 'sql'>;

  constructor(db: Pick<TestDatabase, 'sql'>) {
    this.#db = db;
  }

  /** @param cell the one that its rows are made in; otherwise that of all merchants of tests. */
  async merchant(name = 'Corner Shop', cell?: string): Promise<string> {
    const id = mintId('mer_');
    await this.#db.sql(
      `insert into merchants (id, name, created_at, cell)
       values ($1, $2, now(), ${cell === undefined ? 'default' : '$3'})`,
      [id, name, ...(cell === undefined ? [] : [cell])],
    );
    const statements = [
      insertJournal(id, mintId('jrn_')),
      insertOperator(id, mintId('cred_'), scopes),
    ];
    for (const { text, values } of statements) await this.#db.sql(text, [...values]);
    return id;
  }

  /** A personal access token; all scopes and all locations unless told otherwise. */
  async credential(
    merchant: string,
    may: { scopes?: readonly string[]; locations?: 'all' | readonly string[] } = {},
  ): Promise<GivenCredential> {
    const id = mintId('cred_');
    const token = mintToken('pat');
    const locations = may.locations ?? 'all';
    await this.#db.sql(
      `insert into credentials (merchant_id, id, kind, name, scopes, all_locations, location_ids,
         created_at) values ($1, $2, 'personal_access_token', 'test', $3, $4, $5, now())`,
      [
        merchant,
        id,
        may.scopes ?? scopes,
        locations === 'all',
        locations === 'all' ? [] : locations,
      ],
    );
    await this.#db.sql(
      `insert into credential_tokens (token_hash, merchant_id, credential_id, last_four,
         created_at, expires_at) values ($1, $2, $3, $4, now(), now() + interval '1 day')`,
      [hashToken(token), merchant, id, token.slice(-4)],
    );
    return { merchant, id, token };
  }

  async location(merchant: string, members: { name?: string; status?: string } = {}) {
    const id = mintId('loc_');
    await this.#db.sql(
      `insert into locations (merchant_id, id, name, status, created_at, updated_at)
       values ($1, $2, $3, $4, now(), now())`,
      [merchant, id, members.name ?? 'Main Street', members.status ?? 'active'],
    );
    return id;
  }

  async product(
    merchant: string,
    members: { precision?: number; status?: string; tracked?: boolean; externalId?: string } = {},
  ): Promise<string> {
    const id = mintId('prod_');
    await this.#db.sql(
      `insert into products (merchant_id, id, name, status, inventory_tracked, unit_code,
         unit_precision, external_id, search, created_at, updated_at)
       values ($1, $2, 'Flour', $3, $4, 'each', $5, $6, 'flour', now(), now())`,
      [
        ...[merchant, id, members.status ?? 'active', members.tracked ?? true],
        ...[members.precision ?? 0, members.externalId ?? null],
      ],
    );
    return id;
  }

  async customer(merchant: string): Promise<string> {
    const id = mintId('cus_');
    await this.#db.sql(
      `insert into customers (merchant_id, id, name, email, email_key, created_at, updated_at)
       values ($1, $2, 'Ada', 'ada@example.com', 'ada@example.com', now(), now())`,
      [merchant, id],
    );
    return id;
  }
}
