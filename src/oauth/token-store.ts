// The statements of OAuth's access tokens and of what they rest on: clients, secrets, approvals.

import type { KeySet } from '../access/operator/application-store.ts';
import type { KeptToken } from '../access/token.ts';
import { lookupId } from '../core/id.ts';
import type { Statement } from '../core/statement.ts';

export interface ClientRow {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly redirect_uris: readonly string[];
  readonly jwks: KeySet | null;
}

/** A live application. */
export function findClient(id: string): Statement<ClientRow> {
  return {
    name: 'find_client',
    text: `
      select id, name, scopes, redirect_uris, jwks from applications
      where id = $1 and disabled_at is null`,
    values: [lookupId(id)],
  };
}

/** Whether a secret is one of the application's, now, by the database's clock. */
export function findSecret(application: string, secretHash: Buffer): Statement<{ id: string }> {
  return {
    name: 'find_secret',
    text: `
      select application_id as id from application_secrets
      where secret_hash = $2 and application_id = $1 and expires_at > now()`,
    values: [lookupId(application), secretHash],
  };
}

export interface LiveApproval {
  readonly credential_id: string;
  readonly merchant_id: string;
  readonly scopes: readonly string[];
}

/** Where an application may act, of the merchants named; null names all. */
export function findLiveApprovals(
  application: string,
  merchant: string | null,
): Statement<LiveApproval> {
  return {
    name: 'find_live_approvals',
    text: `
      select c.id as credential_id, c.merchant_id, c.scopes
      from credentials c join merchants m on m.id = c.merchant_id and m.disabled_at is null
      where c.application_id = $1 and c.approval_id is null and c.revoked_at is null
        and ($2::text is null or c.merchant_id = $2)
      order by c.id`,
    values: [lookupId(application), merchant === null ? null : lookupId(merchant)],
  };
}

/**
 * A token of an approval or a consent that is not revoked. The credential is locked as shared: a
 * revocation at the same moment waits and then sees the token, or this sees the revocation.
 */
export function insertAccessToken(
  application: string,
  credential: string,
  token: KeptToken & { readonly scopes: readonly string[] },
  lifeSeconds: number,
): Statement<{ merchant_id: string }> {
  return {
    name: 'insert_access_token',
    text: `
      insert into credential_tokens as added (token_hash, merchant_id, credential_id, last_four,
        scopes, created_at, expires_at)
      select $3, c.merchant_id, c.id, $4, $5, statement_timestamp(),
        statement_timestamp() + make_interval(secs => $6)
      from credentials c
      where c.application_id = $1 and c.id = $2 and c.revoked_at is null
      for share
      returning added.merchant_id`,
    values: [
      lookupId(application),
      lookupId(credential),
      token.tokenHash,
      token.lastFour,
      token.scopes,
      lifeSeconds,
    ],
  };
}

/** How long a token is still good for, by the database's clock, and how long it was made for. */
export function findTokenLife(tokenHash: Buffer): Statement<{ left: number; life: number }> {
  return {
    name: 'find_token_life',
    text: `
      select extract(epoch from expires_at - now())::float8 as left,
        extract(epoch from expires_at - created_at)::float8 as life
      from credential_tokens where token_hash = $1`,
    values: [tokenHash],
  };
}

/** Forgets some of a credential's access tokens that ended an hour ago and more. */
export function forgetEndedTokens(application: string, credential: string): Statement {
  return {
    name: 'forget_ended_tokens',
    text: `
      delete from credential_tokens where token_hash in (
        select t.token_hash from credential_tokens t
        join credentials c on c.merchant_id = t.merchant_id and c.id = t.credential_id
        where c.application_id = $1 and c.id = $2 and t.expires_at < now() - interval '1 hour'
        limit 20 for update of t skip locked)`,
    values: [lookupId(application), lookupId(credential)],
  };
}

/** Ends one access token of an application. */
export function endAccessToken(tokenHash: Buffer): Statement {
  return {
    name: 'end_access_token',
    text: `
      update credential_tokens t set expires_at = least(t.expires_at, statement_timestamp())
      from credentials c
      where t.token_hash = $1 and c.merchant_id = t.merchant_id and c.id = t.credential_id
        and c.application_id is not null`,
    values: [tokenHash],
  };
}

/** Ends all access tokens of a consent. */
export function endTokensOfConsent(consent: string): Statement {
  return {
    name: 'end_tokens_of_consent',
    text: `
      update credential_tokens t set expires_at = least(t.expires_at, statement_timestamp())
      from credentials c
      where c.id = $1 and c.approval_id is not null and t.merchant_id = c.merchant_id
        and t.credential_id = c.id`,
    values: [lookupId(consent)],
  };
}
