// The statements of merchants, credentials and their tokens.

import type { Operation } from '../contract/endpoint.ts';
import { lookupId } from '../core/id.ts';
import { limits } from '../core/limits.ts';
import type { CredentialKind, GrantedLocationId, MerchantId } from '../core/principal.ts';
import { hex, type Statement } from '../core/statement.ts';

/** What the approval or the giver behind a credential may do. */
export interface Permissions {
  readonly scopes: readonly string[];
  readonly all_locations: boolean;
  readonly location_ids: readonly GrantedLocationId[];
}

/** An idempotency key that a request brings along, in the namespace that its token leads to. */
export interface KeyQuestion {
  readonly type: string;
  readonly keyHash: Buffer;
}

/** The operation that such a key is bound to, as JSON has it: bytes are written in hexadecimal. */
export type BoundOperation = {
  readonly [Name in keyof Operation]: Operation[Name] extends Buffer ? string : Operation[Name];
};

export interface CredentialRow extends Permissions {
  /** Of its look-up among those asked. */
  readonly position: number;
  readonly merchant_id: MerchantId;
  readonly merchant_name: string;
  /** In which the merchant's data is. */
  readonly cell: string;
  readonly id: string;
  readonly name: string;
  readonly kind: CredentialKind;
  readonly role: string | null;
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
    readonly behind: readonly Permissions[];
  } | null;
  /** Those of the keys that are bound; null: none. */
  readonly bound: readonly BoundOperation[] | null;
}

export interface LookUpQuestion {
  readonly tokenHash: Buffer;
  /** Whether it is a token of an application. */
  readonly isOAuth: boolean;
  readonly locationId: string | undefined;
  readonly keys: readonly KeyQuestion[];
}

/**
 * The live credentials behind tokens, but for those of disabled merchants, each with whether the
 * location asked about is one of its merchant's, and with the operations that the keys asked about
 * are bound to. Expiry is judged by the database's clock: a service whose clock is wrong admits no
 * token too long. A consent is live while its approval and the token that gave it are.
 *
 * Three texts, because a part costs the database time whether it is used or not: a personal token
 * takes 241 µs with all parts, 188 without those of OAuth, and 155 without keys as well.
 */
export function findCredentials(lookUps: readonly LookUpQuestion[]): Statement<CredentialRow> {
  const isOAuth = lookUps.some((one) => one.isOAuth);
  const isBinding = lookUps.some(({ keys }) => keys.length > 0);
  const ofPersonal = isBinding ? statements.personalWithKeys : statements.personal;
  const statement = isOAuth ? statements.any : ofPersonal;
  return { ...statement, values: [JSON.stringify(lookUps.map(lookUpRecord))] };
}

const credentialColumns = `c.merchant_id, m.name as merchant_name, m.cell, c.id, c.name, c.kind,
    c.role, c.scopes, c.all_locations, c.location_ids, t.expires_at, c.last_used_at,
    c.requests_per_minute, c.request_burst, m.requests_per_minute as merchant_requests_per_minute,
    m.request_burst as merchant_request_burst, c.application_id`;

/** What is left of a session that was extended a while ago. */
const extended = `interval '${60 * limits.sessionIdleHours - limits.lastUseGrainMinutes} minutes'`;

/**
 * Each table is searched for one row at a time (`lateral … limit 1`), and the questions come as
 * JSON, whose length the planner does not know. So it plans once per connection, by index, for any
 * number of merchants. With arrays and joins each request was planned anew, in 840 µs.
 */
const credentials = (isAdmitted: string, oauth: string, bound: string) => `
  select asked.position, ${credentialColumns},
    coalesce(c.last_used_at < now() - interval '${limits.lastUseGrainMinutes} minutes', true)
      or c.role is not null and t.expires_at < now() + ${extended} as is_use_news,
    l.id is not null as location_exists, ${oauth} as oauth, ${bound} as bound
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
  where t.expires_at > now() and c.revoked_at is null and m.disabled_at is null
    and (c.invited_at is null or t.created_at >= c.invited_at)${isAdmitted}`;

/**
 * What stands behind a token of an application: the application, what the token was asked to be
 * limited to, and for a consent what its approval and its giver may do now. Null when one of them
 * has ended.
 */
const oauth = `case when c.application_id is not null then (
  select json_build_object(
    'application', json_build_object('id', app.id, 'name', app.name),
    'token_scopes', t.scopes,
    'behind', case when c.approval_id is null then '[]' else json_build_array(
      json_build_object('scopes', approval.scopes, 'all_locations', approval.all_locations,
        'location_ids', approval.location_ids),
      json_build_object('scopes', giver.scopes, 'all_locations', giver.all_locations,
        'location_ids', giver.location_ids)) end)
  from (select * from applications where id = c.application_id limit 1) app
  left join lateral (
    select * from credentials a where a.merchant_id = c.merchant_id and a.id = c.approval_id
      and a.application_id = c.application_id limit 1) approval on true
  left join lateral (
    select * from credential_tokens g where g.token_hash = c.given_by
      and g.merchant_id = c.merchant_id limit 1) given on true
  left join lateral (
    select * from credentials g where g.merchant_id = given.merchant_id
      and g.id = given.credential_id limit 1) giver on true
  where app.disabled_at is null and (c.approval_id is null
    or (approval.id is not null and approval.revoked_at is null and giver.id is not null
      and giver.revoked_at is null and given.expires_at > now()
      and (giver.invited_at is null or given.created_at >= giver.invited_at)))) end`;

/**
 * What the keys are bound to. Each is the first row from the key on, in the order of the index.
 * With a condition of equal columns the planner takes any index that begins with the credential, as
 * soon as it estimates few operations per credential.
 */
const bound = `case when asked.keys is not null then (
  select json_agg(o)
  from json_to_recordset(asked.keys) as k (type text, key_hash bytea)
  cross join lateral (
    select f.merchant_id, f.id, f.credential_id, f.type, f.key_hash, f.fingerprint, f.status,
      f.resource_id, f.created, f.movements, f.position, f.error_code, f.error_details,
      f.location_id, f.to_location_id, f.request_id, f.notices, f.created_at,
      (select j.id from journals j where j.merchant_id = f.merchant_id) as journal
    from operations f
    where (f.merchant_id, f.credential_id, f.type, f.key_hash)
      >= (c.merchant_id, c.id, k.type, k.key_hash)
    order by f.merchant_id, f.credential_id, f.type, f.key_hash
    limit 1) o
  where (o.merchant_id, o.credential_id, o.type, o.key_hash)
    = (c.merchant_id, c.id, k.type, k.key_hash)) end`;

const personal = ' and c.application_id is null';
const none = 'null::json';

/** Those of personal tokens find no credential of an application. */
const statements = {
  personal: { name: 'find_credentials', text: credentials(personal, none, none) },
  personalWithKeys: {
    name: 'find_credentials_and_keys',
    text: credentials(personal, none, bound),
  },
  any: {
    name: 'find_oauth_credentials',
    // `offset 0`: so that what stands behind a token is looked up once.
    text: `
      select * from (${credentials('', oauth, bound)}
        offset 0) found
      where application_id is null or oauth is not null`,
  },
} as const;

/** The cell of whoever holds a token. */
export interface TokenCell {
  /** The hash of the token, in hexadecimal. */
  readonly id: string;
  readonly cell: string;
}

export function findTokenCells(hashes: readonly string[]): Statement<TokenCell> {
  return {
    name: 'find_cells_of_tokens',
    text: `
      select encode(t.token_hash, 'hex') as id, m.cell
      from credential_tokens t join merchants m on m.id = t.merchant_id
      where t.token_hash = any ($1)`,
    values: [hashes.map((hash) => Buffer.from(hash, 'hex'))],
  };
}

/** A credential that something is done for while nobody asks. */
export interface AbsentCaller {
  readonly merchant: MerchantId;
  readonly credentialId: string;
  /** What the token was limited to that asked for it; null: all that the credential may. */
  readonly tokenScopes: readonly string[] | null;
}

/**
 * The same without a token: those of these credentials that are live. One with personal access
 * tokens is, while one of them is; a person is, until somebody revokes them. Of an application's
 * own tokens none need be: they end by the hour, and the next one comes by itself.
 */
export function findAbsent(callers: readonly AbsentCaller[]): Statement<CredentialRow> {
  const records = callers.map(({ merchant, credentialId, tokenScopes }, position) => ({
    position,
    merchant_id: merchant,
    credential_id: credentialId,
    scopes: tokenScopes,
  }));
  return {
    name: 'find_absent_credentials',
    text: `
      select * from (
        select a.position, ${credentialColumns}, false as is_use_news,
          false as location_exists, ${oauth} as oauth, null::json as bound
        from json_to_recordset($1)
          as a (position int, merchant_id text, credential_id text, scopes text[])
        cross join lateral (
          select * from credentials where merchant_id = a.merchant_id
            and id = a.credential_id limit 1) c
        cross join lateral (select * from merchants where id = c.merchant_id limit 1) m
        cross join lateral (
          select a.scopes, max(k.expires_at) as expires_at from credential_tokens k
          where k.merchant_id = c.merchant_id and k.credential_id = c.id) t
        where c.revoked_at is null and m.disabled_at is null
          and (c.application_id is not null or c.role is not null or t.expires_at > now())
        offset 0) found
      where application_id is null or oauth is not null`,
    values: [JSON.stringify(records)],
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

/** Those of these locations that a merchant has: whoever is granted all is granted them. */
export function findLocations(
  merchant: MerchantId,
  ids: readonly string[],
): Statement<{ id: GrantedLocationId }> {
  return {
    name: 'find_locations_to_grant',
    text: 'select l.id from locations l where l.merchant_id = $1 and l.id = any ($2)',
    values: [merchant, ids.map(lookupId)],
  };
}

/** Those of these locations that have this ID of the merchant's own. */
export function findNamedLocation(
  merchant: MerchantId,
  externalId: string,
  granted: readonly GrantedLocationId[],
): Statement<{ id: GrantedLocationId }> {
  return {
    name: 'find_location_by_external_id',
    text: `
      select l.id from locations l
      where l.merchant_id = $1 and l.external_id = $2 and l.id = any ($3)`,
    values: [merchant, externalId, granted],
  };
}

/** Notes that these were used now, unless that was noted within the grain or is locked now. */
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

/** Gives the sessions of people that were used now their whole time again. */
export function extendSessions(tokenHashes: readonly Buffer[]): Statement {
  return {
    name: 'extend_sessions',
    text: `
      update credential_tokens t
      set expires_at = now() + interval '${limits.sessionIdleHours} hours'
      from credentials c
      where t.token_hash = any ($1) and t.expires_at > now() and c.merchant_id = t.merchant_id
        and c.id = t.credential_id and c.role is not null`,
    values: [tokenHashes],
  };
}
