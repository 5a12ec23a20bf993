// The statements of the operator: merchants, and the credentials and tokens in them. Times are the
// database's own, taken per statement, so that a change that waited for a lock is dated after it.
// A token is stored as its SHA-256 and shown by its last four characters.

import { lookupId } from '../../core/id.ts';
import type { CredentialKind, MerchantId } from '../../core/principal.ts';
import type { Statement } from '../../core/statement.ts';
import type { KeptToken } from '../token.ts';

export function findLocationIds(
  merchant: MerchantId,
  ids: readonly string[],
): Statement<{ id: string }> {
  return {
    name: 'find_location_ids',
    text: 'select id from locations where merchant_id = $1 and id = any ($2)',
    values: [merchant, ids.map(lookupId)],
  };
}

/** Locations as a credential holds them: all, or these. */
export interface LocationGrant {
  readonly all: boolean;
  readonly ids: readonly string[];
}

export interface NewCredential {
  readonly merchant: MerchantId;
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly grant: LocationGrant;
}

export function insertCredential(credential: NewCredential): Statement<{ id: string }> {
  const { merchant, id, name, scopes, grant } = credential;
  return {
    name: 'insert_credential',
    text: `
      insert into credentials (merchant_id, id, kind, name, scopes, all_locations, location_ids,
        created_at)
      values ($1, $2, 'personal_access_token', $3, $4, $5, $6, now())
      returning id`,
    values: [merchant, id, name, scopes, grant.all, grant.ids],
  };
}

export function insertToken(
  merchant: MerchantId,
  credential: string,
  token: KeptToken,
  lifeSeconds: number,
): Statement<{ token_hash: Buffer }> {
  return {
    name: 'insert_token',
    text: `
      insert into credential_tokens (token_hash, merchant_id, credential_id, last_four, created_at,
        expires_at)
      values ($3, $1, $2, $4, statement_timestamp(),
        statement_timestamp() + make_interval(secs => $5))
      returning token_hash`,
    values: [merchant, credential, token.tokenHash, token.lastFour, lifeSeconds],
  };
}

/** Locks a credential, so that its rotations run one after the other. No row: it is revoked. */
export function lockLiveCredential(merchant: MerchantId, id: string): Statement<{ id: string }> {
  return {
    name: 'lock_live_credential',
    text: `
      select id from credentials
      where merchant_id = $1 and id = $2 and revoked_at is null and not is_operator
      for no key update`,
    values: [merchant, lookupId(id)],
  };
}

/** The next token of a live credential. It is valid as long as the token before it was. */
export function insertNextToken(
  merchant: MerchantId,
  credential: string,
  token: KeptToken,
): Statement<{ token_hash: Buffer }> {
  return {
    name: 'insert_next_token',
    text: `
      insert into credential_tokens as added (token_hash, merchant_id, credential_id, last_four,
        created_at, expires_at)
      select $3, $1, $2, $4, statement_timestamp(), statement_timestamp() + newest.life
      from credentials c
      cross join lateral (select t.expires_at - t.created_at as life from credential_tokens t
        where t.merchant_id = $1 and t.credential_id = $2
        order by t.created_at desc limit 1) newest
      where c.merchant_id = $1 and c.id = $2 and c.revoked_at is null and not c.is_operator
      returning added.token_hash`,
    values: [merchant, credential, token.tokenHash, token.lastFour],
  };
}

/**
 * Ends the tokens that the new one replaces, at the latest when the overlap is over. When there is
 * no new one, because the credential is revoked, it ends none.
 */
export function endOtherTokens(
  merchant: MerchantId,
  credential: string,
  token: KeptToken,
  overlapSeconds: number,
): Statement<{ ends_at: string }> {
  return {
    name: 'end_other_tokens',
    text: `
      update credential_tokens t
      set expires_at = least(t.expires_at, statement_timestamp() + make_interval(secs => $4))
      from credential_tokens n
      where t.merchant_id = $1 and t.credential_id = $2 and t.token_hash <> $3
        and t.expires_at > statement_timestamp() and n.token_hash = $3
      returning t.expires_at as ends_at`,
    values: [merchant, credential, token.tokenHash, overlapSeconds],
  };
}

/**
 * Effective for every request that starts after this is committed. A second call changes nothing.
 */
export function revokeCredential(merchant: MerchantId, id: string): Statement<{ id: string }> {
  return {
    name: 'revoke_credential',
    text: `
      update credentials set revoked_at = least(revoked_at, now()), version = version + 1
      where merchant_id = $1 and id = $2 and not is_operator
      returning id`,
    values: [merchant, lookupId(id)],
  };
}

export function setGrant(
  merchant: MerchantId,
  id: string,
  grant: LocationGrant,
): Statement<{ id: string }> {
  return {
    name: 'set_grant',
    text: `
      update credentials set all_locations = $3, location_ids = $4, version = version + 1
      where merchant_id = $1 and id = $2 and revoked_at is null and not is_operator
      returning id`,
    values: [merchant, lookupId(id), grant.all, grant.ids],
  };
}

export function setScopes(
  merchant: MerchantId,
  id: string,
  scopes: readonly string[],
): Statement<{ id: string }> {
  return {
    name: 'set_scopes',
    text: `
      update credentials set scopes = $3, version = version + 1
      where merchant_id = $1 and id = $2 and revoked_at is null and not is_operator
      returning id`,
    values: [merchant, lookupId(id), scopes],
  };
}

/** A credential as its operator sees it, with the tokens that have not ended yet. */
export interface CredentialRecord {
  readonly id: string;
  readonly merchant_id: MerchantId;
  readonly name: string;
  readonly kind: CredentialKind;
  /** The application whose tokens lead to it; null for a personal access token. */
  readonly application: { readonly id: string; readonly name: string } | null;
  /** Of a consent: the approval that it was given under. */
  readonly approval_id: string | null;
  readonly is_operator: boolean;
  readonly role: string | null;
  readonly scopes: readonly string[];
  readonly all_locations: boolean;
  readonly location_ids: readonly string[];
  readonly created_at: string;
  readonly revoked_at: string | null;
  readonly last_used_at: string | null;
  readonly expires_at: string | null;
  readonly last_four: string | null;
  readonly tokens: readonly TokenRecord[];
}

export interface TokenRecord {
  readonly last_four: string;
  readonly created_at: string;
  readonly expires_at: string;
}

/** An application may fetch a token for every request: its newest ones are shown. */
const shownTokensMax = 5;

/** A time inside of JSON, as everywhere else. */
export const rfc3339 = (column: string) =>
  `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

const credentialRecord = `
  select c.id, c.merchant_id, c.name, c.kind, c.approval_id, c.is_operator, c.role, c.scopes,
    c.all_locations, c.location_ids, c.created_at, c.revoked_at, c.last_used_at,
    newest.expires_at, newest.last_four, live.tokens,
    case when a.id is not null then json_build_object('id', a.id, 'name', a.name) end
      as application
  from credentials c
  left join applications a on a.id = c.application_id
  left join lateral (select t.expires_at, t.last_four from credential_tokens t
    where t.merchant_id = c.merchant_id and t.credential_id = c.id
    order by t.created_at desc limit 1) newest on true
  cross join lateral (select coalesce(json_agg(json_build_object('last_four', t.last_four,
      'created_at', ${rfc3339('t.created_at')}, 'expires_at', ${rfc3339('t.expires_at')})
      order by t.created_at desc), '[]') as tokens
    from (select t.last_four, t.created_at, t.expires_at from credential_tokens t
      where t.merchant_id = c.merchant_id and t.credential_id = c.id
        and t.expires_at > now() and c.revoked_at is null
      order by t.created_at desc limit ${shownTokensMax}) t) live`;

export function findCredential(id: string): Statement<CredentialRecord> {
  return {
    name: 'find_credential',
    text: `${credentialRecord} where c.id = $1`,
    values: [lookupId(id)],
  };
}

/** Without those that have no token: that of the operator, and people. */
export function listCredentials(
  merchant: MerchantId,
  after: string,
  limit: number,
): Statement<CredentialRecord> {
  return {
    name: 'list_credentials',
    text: `${credentialRecord}
      where c.merchant_id = $1 and c.id > $2 and not c.is_operator and c.role is null
      order by c.id limit $3`,
    values: [merchant, after, limit],
  };
}

/** Personal access tokens that end soon or have ended lately, the first to end first. */
export function listEndingCredentials(
  merchant: MerchantId,
  withinSeconds: number,
): Statement<CredentialRecord> {
  return {
    name: 'list_ending_credentials',
    text: `${credentialRecord}
      where c.merchant_id = $1 and c.kind = 'personal_access_token' and not c.is_operator
        and c.role is null and c.revoked_at is null
        and newest.expires_at > now() - make_interval(secs => $2)
        and newest.expires_at <= now() + make_interval(secs => $2)
      order by newest.expires_at, c.id`,
    values: [merchant, withinSeconds],
  };
}

/** The built-in credential of a merchant that commands act as. */
export function findOperator(merchantId: string): Statement<OperatorRow> {
  return {
    name: 'find_operator',
    text: `
      select c.merchant_id, m.name as merchant_name, m.cell, c.id, c.name
      from credentials c join merchants m on m.id = c.merchant_id
      where c.merchant_id = $1 and c.is_operator`,
    values: [lookupId(merchantId)],
  };
}

export interface OperatorRow {
  readonly merchant_id: MerchantId;
  readonly merchant_name: string;
  readonly cell: string;
  readonly id: string;
  readonly name: string;
}
