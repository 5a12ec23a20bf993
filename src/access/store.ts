// The statements of merchants, credentials and their tokens.

import { lookupId } from '../core/id.ts';
import { limits } from '../core/limits.ts';
import type { CredentialKind } from '../core/principal.ts';
import type { Detail, ProblemCode } from '../core/problem.ts';
import { hex, type Statement } from '../core/statement.ts';

/** What one of those who stand behind a credential may do themselves. */
export interface Reach {
  readonly scopes: readonly string[];
  readonly all_locations: boolean;
  readonly location_ids: readonly string[];
}

/** An idempotency key that a request brings along, in the namespace that its token leads to. */
export interface KeyQuestion {
  readonly type: string;
  readonly keyHash: Buffer;
}

/** The operation that such a key is bound to. Bytes are written in hexadecimal. */
export interface BoundRow {
  readonly type: string;
  readonly key_hash: string;
  readonly id: string;
  readonly fingerprint: string;
  readonly status: string;
  readonly resource_id: string | null;
  readonly error_code: ProblemCode | null;
  readonly error_details: readonly Detail[] | null;
}

export interface CredentialRow extends Reach {
  /** Of its look-up among those asked. */
  readonly position: number;
  readonly merchant_id: string;
  readonly merchant_name: string;
  readonly id: string;
  readonly kind: CredentialKind;
  readonly expires_at: string;
  readonly last_used_at: string | null;
  /** Whether its last use was so long ago that this one is worth noting. */
  readonly is_use_news: boolean;
  readonly location_exists: boolean;
  readonly requests_per_minute: number | null;
  readonly request_burst: number | null;
  readonly merchant_requests_per_minute: number | null;
  readonly merchant_request_burst: number | null;
  /** Null for a personal access token. */
  readonly oauth: {
    readonly application: { readonly id: string; readonly name: string };
    /** What the token was asked to be limited to. */
    readonly token_scopes: readonly string[] | null;
    /** The approval and the giver of a consent, as they are now. */
    readonly behind: readonly Reach[];
  } | null;
  /** Those of the keys that are bound; null: none. */
  readonly bound: readonly BoundRow[] | null;
}

export interface LookUpQuestion {
  readonly tokenHash: Buffer;
  readonly locationId: string | undefined;
  readonly keys: readonly KeyQuestion[];
}

/**
 * The live credentials behind tokens, each with whether the location asked about is one of its
 * merchant's, and with the operations that the keys asked about are bound to. Expiry is judged by
 * the database's clock: a service whose clock is wrong admits nobody too long. A consent is alive
 * while its approval and the token that gave it are.
 *
 * Each table is sought for one row at a time (`lateral … limit 1`), and what is asked comes as
 * JSON, whose length the planner does not know: it plans once per connection, by index, however
 * many merchants there are. As arrays and joins each request was planned anew, in 840 µs.
 */
export function findCredentials(lookUps: readonly LookUpQuestion[]): Statement<CredentialRow> {
  return {
    name: 'find_credentials',
    text: `
      select position, merchant_id, merchant_name, id, kind, scopes, all_locations, location_ids,
        expires_at, last_used_at, is_use_news, location_exists, requests_per_minute, request_burst,
        merchant_requests_per_minute, merchant_request_burst, oauth, bound
      from (
        select asked.position, c.merchant_id, m.name as merchant_name, c.id, c.kind, c.scopes,
          c.all_locations, c.location_ids, t.expires_at, c.last_used_at,
          coalesce(c.last_used_at < now() - interval '${limits.lastUseGrainMinutes} minutes', true)
            as is_use_news,
          l.id is not null as location_exists, c.requests_per_minute, c.request_burst,
          m.requests_per_minute as merchant_requests_per_minute,
          m.request_burst as merchant_request_burst, c.application_id,
          case when c.application_id is not null then oauth_standing(c.merchant_id,
            c.application_id, c.approval_id, c.given_by, t.scopes) end as oauth,
          case when asked.keys is not null then
            bound_operations(c.merchant_id, c.id, asked.keys) end as bound
        from json_to_recordset($1)
          as asked (position int, token_hash bytea, location_id text, keys json)
        cross join lateral (
          select * from credential_tokens where token_hash = asked.token_hash limit 1) t
        cross join lateral (
          select * from credentials where merchant_id = t.merchant_id and id = t.credential_id
          limit 1) c
        cross join lateral (select * from merchants where id = c.merchant_id limit 1) m
        left join lateral (
          select id from locations
          where merchant_id = c.merchant_id and id = asked.location_id limit 1) l
          on c.all_locations
        where t.expires_at > now() and c.revoked_at is null
        -- So that the standing is looked up once.
        offset 0) found
      where application_id is null or oauth is not null`,
    values: [JSON.stringify(lookUps.map(lookUpRecord))],
  };
}

function lookUpRecord({ tokenHash, locationId, keys }: LookUpQuestion, position: number): object {
  return {
    position,
    token_hash: hex(tokenHash),
    location_id: locationId === undefined ? null : lookupId(locationId),
    keys: keys.length === 0 ? null : keys.map(keyRecord),
  };
}

function keyRecord({ type, keyHash }: KeyQuestion): object {
  return { type, key_hash: hex(keyHash) };
}

/** The built-in credential that a merchant's operator acts as. It has no token. */
export function findOperator(merchantId: string): Statement<OperatorRow> {
  return {
    name: 'find_operator',
    text: `
      select c.merchant_id, m.name as merchant_name, c.id
      from credentials c join merchants m on m.id = c.merchant_id
      where c.merchant_id = $1 and c.is_operator`,
    values: [lookupId(merchantId)],
  };
}

export interface OperatorRow {
  readonly merchant_id: string;
  readonly merchant_name: string;
  readonly id: string;
}

/** Notes that these were used now, unless somebody has noted it within the grain, or is at it. */
export function noteUses(
  uses: readonly (readonly [credential: string, merchant: string])[],
): Statement {
  return {
    name: 'note_uses',
    text: `
      update credentials c set last_used_at = now()
      from (
        select n.merchant_id, n.id from unnest($1::text[], $2::text[]) as u (merchant_id, id)
        join credentials n on n.merchant_id = u.merchant_id and n.id = u.id
        where coalesce(
          n.last_used_at < now() - interval '${limits.lastUseGrainMinutes} minutes', true)
        for no key update of n skip locked) u
      where c.merchant_id = u.merchant_id and c.id = u.id`,
    values: [uses.map(([, merchant]) => merchant), uses.map(([credential]) => credential)],
  };
}
