// The operator's statements: OAuth applications, their secrets and their approvals.

import { lookupId } from '../../core/id.ts';
import type { MerchantId } from '../../core/principal.ts';
import type { Statement } from '../../core/statement.ts';
import type { KeptToken } from '../token.ts';
import { type LocationGrant, rfc3339 } from './credential-store.ts';

/** A JSON Web Key Set with public keys only. */
export interface KeySet {
  readonly keys: readonly object[];
}

export interface NewApplication {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly redirectUris: readonly string[];
  readonly jwks: KeySet | undefined;
}

export function insertApplication(application: NewApplication): Statement<{ id: string }> {
  const { id, name, scopes, redirectUris, jwks } = application;
  return {
    name: 'insert_application',
    text: `
      insert into applications (id, name, scopes, redirect_uris, jwks, created_at)
      values ($1, $2, $3, $4, $5, now())
      returning id`,
    values: [id, name, scopes, redirectUris, jwks === undefined ? null : JSON.stringify(jwks)],
  };
}

/** A secret of a live application that authenticates by secret. It is valid until rotated. */
export function insertSecret(application: string, secret: KeptToken): Statement<{ id: string }> {
  return {
    name: 'insert_secret',
    text: `
      insert into application_secrets as added (secret_hash, application_id, last_four, created_at,
        expires_at)
      select $2, a.id, $3, statement_timestamp(), 'infinity'
      from applications a where a.id = $1 and a.disabled_at is null and a.jwks is null
      for no key update
      returning added.application_id as id`,
    values: [lookupId(application), secret.tokenHash, secret.lastFour],
  };
}

/** Ends the secrets that a new one replaces, at the latest when the overlap is over. */
export function endOtherSecrets(
  application: string,
  secret: KeptToken,
  overlapSeconds: number,
): Statement {
  return {
    name: 'end_other_secrets',
    text: `
      update application_secrets s
      set expires_at = least(s.expires_at, statement_timestamp() + make_interval(secs => $3))
      from application_secrets n
      where s.application_id = $1 and s.secret_hash <> $2
        and s.expires_at > statement_timestamp() and n.secret_hash = $2`,
    values: [lookupId(application), secret.tokenHash, overlapSeconds],
  };
}

/**
 * Effective for every request that starts after this is committed. A second call changes nothing.
 */
export function disableApplication(id: string): Statement<{ id: string }> {
  return {
    name: 'disable_application',
    text: `
      update applications set disabled_at = least(disabled_at, now()) where id = $1
      returning id`,
    values: [lookupId(id)],
  };
}

/** An application as its operator sees it. */
export interface ApplicationRecord {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly redirect_uris: readonly string[];
  readonly uses_keys: boolean;
  readonly created_at: string;
  readonly disabled_at: string | null;
  readonly secrets: readonly {
    readonly last_four: string;
    readonly created_at: string;
    /** Null: until it is rotated. */
    readonly expires_at: string | null;
  }[];
}

const applicationRecord = `
  select a.id, a.name, a.scopes, a.redirect_uris, a.jwks is not null as uses_keys, a.created_at,
    a.disabled_at, live.secrets
  from applications a
  cross join lateral (select coalesce(json_agg(json_build_object('last_four', s.last_four,
      'created_at', ${rfc3339('s.created_at')}, 'expires_at', case
        when s.expires_at < 'infinity' then ${rfc3339('s.expires_at')} end)
      order by s.created_at desc), '[]') as secrets
    from application_secrets s where s.application_id = a.id and s.expires_at > now()
      and a.disabled_at is null) live`;

export function findApplication(id: string): Statement<ApplicationRecord> {
  return {
    name: 'find_application',
    text: `${applicationRecord} where a.id = $1`,
    values: [lookupId(id)],
  };
}

export function listApplications(after: string, limit: number): Statement<ApplicationRecord> {
  return {
    name: 'list_applications',
    text: `${applicationRecord} where a.id > $1 order by a.id limit $2`,
    values: [after, limit],
  };
}

/** What an application may do at a merchant. */
export interface ApprovalRecord {
  readonly credential_id: string;
  readonly application_id: string;
  readonly merchant_id: string;
  readonly merchant_name: string;
  readonly scopes: readonly string[];
  readonly all_locations: boolean;
  readonly location_ids: readonly string[];
  readonly revoked_at: string | null;
}

/** All approvals of an application, those revoked among them. Across merchants, by their number. */
export function listApprovals(application: string): Statement<ApprovalRecord> {
  return {
    name: 'list_approvals',
    text: `
      select c.id as credential_id, c.application_id, c.merchant_id, m.name as merchant_name,
        c.scopes, c.all_locations, c.location_ids, c.revoked_at
      from credentials c join merchants m on m.id = c.merchant_id
      where c.application_id = $1 and c.approval_id is null
      order by c.id`,
    values: [lookupId(application)],
  };
}

/**
 * Locks an approval, if there is one, before it is read. So the statements after this one see what
 * a transaction at the same moment has done to it.
 */
export function lockApproval(merchant: MerchantId, application: string): Statement<{ id: string }> {
  return {
    name: 'lock_approval',
    text: `
      select id from credentials
      where merchant_id = $1 and application_id = $2 and approval_id is null
      for no key update`,
    values: [merchant, lookupId(application)],
  };
}

/**
 * Ends the tokens and consents that a revoked approval has left, so that a new approval does not
 * make them valid again.
 */
export function endWhatRevokedLeft(
  merchant: MerchantId,
  application: string,
): readonly Statement[] {
  return [
    {
      name: 'end_tokens_of_revoked_approval',
      text: `
        update credential_tokens t set expires_at = least(t.expires_at, statement_timestamp())
        from credentials c
        where c.merchant_id = $1 and c.application_id = $2 and c.approval_id is null
          and c.revoked_at is not null and t.merchant_id = $1 and t.credential_id = c.id
          and t.expires_at > statement_timestamp()`,
      values: [merchant, lookupId(application)],
    },
    {
      name: 'end_consents_of_revoked_approval',
      text: `
        update credentials c set revoked_at = least(c.revoked_at, now())
        from credentials a
        where a.merchant_id = $1 and a.application_id = $2 and a.approval_id is null
          and a.revoked_at is not null and c.merchant_id = $1 and c.approval_id = a.id`,
      values: [merchant, lookupId(application)],
    },
  ];
}

/**
 * Approves a live application, or gives its approval these scopes and locations instead. Approved
 * again after a revocation it is the same credential: its keys stay bound.
 */
export function upsertApproval(
  merchant: MerchantId,
  id: string,
  application: string,
  wanted: { readonly scopes: readonly string[]; readonly grant: LocationGrant },
): Statement<{ id: string }> {
  return {
    name: 'upsert_approval',
    text: `
      insert into credentials as approved (merchant_id, id, kind, name, application_id, scopes,
        all_locations, location_ids, created_at)
      select $1, $2, 'oauth_access_token', a.name, a.id, $4, $5, $6, now()
      from applications a where a.id = $3 and a.disabled_at is null
      on conflict (merchant_id, application_id)
        where application_id is not null and approval_id is null
        do update set scopes = excluded.scopes, all_locations = excluded.all_locations,
          location_ids = excluded.location_ids, revoked_at = null,
          -- It begins anew: what was unused before is not held against it.
          last_used_at = case when approved.revoked_at is null then approved.last_used_at
            else excluded.created_at end
      returning approved.id`,
    values: [
      merchant,
      id,
      lookupId(application),
      wanted.scopes,
      wanted.grant.all,
      wanted.grant.ids,
    ],
  };
}

/** Ends an approval and the consents under it. A second call changes nothing. */
export function revokeApproval(
  merchant: MerchantId,
  application: string,
): Statement<{ id: string }> {
  return {
    name: 'revoke_approval',
    text: `
      update credentials set revoked_at = least(revoked_at, now())
      where merchant_id = $1 and application_id = $2
      returning id`,
    values: [merchant, lookupId(application)],
  };
}
