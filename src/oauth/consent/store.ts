// The statements of consents: what somebody of a merchant lets an application do there. A consent
// is a credential of its own. It rests on the approval of the application and on the token that
// gave it, and ends with either. A person has no token that lasts: one is made with each consent,
// which nobody knows, and which is void when what the person signed in with is.

import type { LocationGrant } from '../../access/operator/credential-store.ts';
import type { Permissions } from '../../access/store.ts';
import { lookupId } from '../../core/id.ts';
import { limits } from '../../core/limits.ts';
import type { MerchantId } from '../../core/principal.ts';
import type { Statement } from '../../core/statement.ts';

export interface ConsentRow {
  readonly application_id: string;
  readonly scopes: readonly string[];
  readonly approval_scopes: readonly string[];
  readonly giver_scopes: readonly string[];
  /** How many seconds the token that gave it still has. */
  readonly left: number;
}

/** A live consent, by the database's clock. */
export function findConsent(id: string): Statement<ConsentRow> {
  return {
    name: 'find_consent',
    text: `
      select c.application_id, c.scopes, a.scopes as approval_scopes, g.scopes as giver_scopes,
        extract(epoch from gt.expires_at - now())::float8 as left
      from credentials c
      join merchants m on m.id = c.merchant_id and m.disabled_at is null
      join applications app on app.id = c.application_id and app.disabled_at is null
      join credentials a on a.merchant_id = c.merchant_id and a.id = c.approval_id
        and a.revoked_at is null
      join credential_tokens gt on gt.token_hash = c.given_by and gt.expires_at > now()
      join credentials g on g.merchant_id = gt.merchant_id and g.id = gt.credential_id
        and g.revoked_at is null and (g.invited_at is null or gt.created_at >= g.invited_at)
      where c.id = $1 and c.revoked_at is null`,
    values: [lookupId(id)],
  };
}

/** Ends a consent. A second call changes nothing. */
export function revokeConsent(id: string): Statement {
  return {
    name: 'revoke_consent',
    text: `
      update credentials set revoked_at = least(revoked_at, now())
      where id = $1 and approval_id is not null`,
    values: [lookupId(id)],
  };
}

export interface Giver extends Permissions {
  readonly merchant_id: MerchantId;
  readonly merchant_name: string;
  /** In which the merchant's data is. */
  readonly cell: string;
  readonly credential_id: string;
  readonly name: string;
  /** Null: the token is a program's. */
  readonly role: string | null;
}

/** The holder of a live personal access token, or who is signed in with a session. */
export function findGiver(tokenHash: Buffer): Statement<Giver> {
  return {
    name: 'find_giver',
    text: `
      select c.merchant_id, m.name as merchant_name, m.cell, c.id as credential_id, c.name, c.role,
        c.scopes, c.all_locations, c.location_ids
      from credential_tokens t
      join credentials c on c.merchant_id = t.merchant_id and c.id = t.credential_id
        and c.revoked_at is null and c.kind = 'personal_access_token'
      join merchants m on m.id = c.merchant_id and m.disabled_at is null
      where t.token_hash = $1 and t.expires_at > now()
        and (c.invited_at is null or t.created_at >= c.invited_at)`,
    values: [tokenHash],
  };
}

export interface ApprovalPermissions extends Permissions {
  readonly id: string;
}

/** What an application is approved for at a merchant. */
export function findApprovalAt(
  application: string,
  merchant: string,
): Statement<ApprovalPermissions> {
  return {
    name: 'find_approval_at',
    text: `
      select c.id, c.scopes, c.all_locations, c.location_ids
      from credentials c join applications a on a.id = c.application_id and a.disabled_at is null
      where c.merchant_id = $1 and c.application_id = $2 and c.approval_id is null
        and c.revoked_at is null`,
    values: [merchant, lookupId(application)],
  };
}

/** Locations to choose from: some by ID, or (null) the merchant's first ones. */
export function findNamedLocations(
  merchant: string,
  ids: readonly string[] | null,
  limit: number,
): Statement<{ id: string; name: string; code: string | null }> {
  return {
    name: 'find_named_locations',
    text: `
      select id, name, code from locations
      where merchant_id = $1 and ($2::text[] is null or id = any ($2))
      order by id limit $3`,
    values: [merchant, ids === null ? null : ids.map(lookupId), limit],
  };
}

export interface NewConsent {
  readonly merchant: string;
  readonly id: string;
  readonly application: string;
  readonly tokenHash: Buffer;
  readonly scopes: readonly string[];
  readonly grant: LocationGrant;
}

/**
 * What a consent of a person rests on, as old as the session that gave it. So it is void when that
 * is, and a revocation at this moment is not missed.
 */
export function insertProof(session: Buffer, proof: Buffer): Statement {
  return {
    name: 'insert_consent_proof',
    text: `
      insert into credential_tokens (token_hash, merchant_id, credential_id, last_four, created_at,
        expires_at)
      select $2, t.merchant_id, t.credential_id, t.last_four, t.created_at,
        clock_timestamp() + interval '${limits.tokenDaysMax} days'
      from credential_tokens t
      join credentials c on c.merchant_id = t.merchant_id and c.id = t.credential_id
        and c.role is not null
      where t.token_hash = $1 and t.expires_at > clock_timestamp()`,
    values: [session, proof],
  };
}

/** Aborts its transaction when the approval or the token that gives it has ended meanwhile. */
export function insertConsent(consent: NewConsent): Statement {
  const { merchant, id, application, tokenHash, scopes, grant } = consent;
  return {
    name: 'insert_consent',
    text: `
      with given as (
        insert into credentials (merchant_id, id, kind, name, application_id, approval_id,
          given_by, scopes, all_locations, location_ids, created_at)
        select $1, $2, 'oauth_access_token', a.name, a.application_id, a.id, t.token_hash, $5, $6,
          $7, now()
        from credentials a
        join credential_tokens t on t.token_hash = $4 and t.merchant_id = $1
          and t.expires_at > now()
        where a.merchant_id = $1 and a.application_id = $3 and a.approval_id is null
          and a.revoked_at is null
        for share of a
        returning 1)
      select expect_rows(count(*), 1) from given`,
    values: [merchant, id, lookupId(application), tokenHash, scopes, grant.all, grant.ids],
  };
}
