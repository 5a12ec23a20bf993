// OAuth applications with what rests on them, straight in the database: approvals, consents and
// access tokens in every state, those included that no request could bring about.

import { hashToken, mintToken } from '../../src/access/token.ts';
import { mintId } from '../../src/core/id.ts';
import { scopes } from '../../src/resources.ts';
import type { TestDatabase } from './database.ts';

export interface May {
  readonly scopes?: readonly string[];
  readonly locations?: 'all' | readonly string[];
}

export class Applications {
  readonly #db: TestDatabase;

  constructor(db: TestDatabase) {
    this.#db = db;
  }

  async application(name = 'Shop Sync'): Promise<string> {
    const id = mintId('app_');
    await this.#db.sql(
      `insert into applications (id, name, scopes, redirect_uris, created_at)
       values ($1, $2, $3, '{}', now())`,
      [id, name, scopes],
    );
    return id;
  }

  /** What an application may do at a merchant: all, unless told otherwise. */
  approval(merchant: string, application: string, may: May = {}): Promise<string> {
    return this.#credential(merchant, application, may, null, null);
  }

  /** What the holder of a token lets an application do under its approval. */
  consent(
    merchant: string,
    application: string,
    given: { readonly approval: string; readonly by: string; readonly may?: May },
  ): Promise<string> {
    const { approval, by, may = {} } = given;
    return this.#credential(merchant, application, may, approval, hashToken(by));
  }

  async #credential(
    merchant: string,
    application: string,
    may: May,
    approval: string | null,
    givenBy: Buffer | null,
  ): Promise<string> {
    const id = mintId('cred_');
    const locations = may.locations ?? 'all';
    const isAll = locations === 'all';
    await this.#db.sql(
      `insert into credentials (merchant_id, id, kind, name, application_id, approval_id, given_by,
         scopes, all_locations, location_ids, created_at)
       values ($1, $2, 'oauth_access_token', 'Shop Sync', $3, $4, $5, $6, $7, $8, now())`,
      [
        ...[merchant, id, application, approval, givenBy],
        ...[may.scopes ?? scopes, isAll, isAll ? [] : locations],
      ],
    );
    return id;
  }

  /** An access token of an approval or a consent, for an hour. */
  async token(merchant: string, credential: string, limitedTo?: readonly string[]) {
    const token = mintToken('oat');
    await this.#db.sql(
      `insert into credential_tokens (token_hash, merchant_id, credential_id, last_four, scopes,
         created_at, expires_at)
       values ($1, $2, $3, $4, $5, now(), now() + interval '1 hour')`,
      [hashToken(token), merchant, credential, token.slice(-4), limitedTo ?? null],
    );
    return token;
  }
}
