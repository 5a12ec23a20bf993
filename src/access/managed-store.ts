// Credentials as those of the merchant see and change them: people and tokens. Whoever changes one
// locks it, those of all owners, and his own, in the order of IDs, and reads them behind the locks.

import type { Write } from '../contract/endpoint.ts';
import { lookupId } from '../core/id.ts';
import type { CredentialKind, GrantedLocationId, MerchantId } from '../core/principal.ts';
import { hex, later, type SetStatement, type Statement, savedTime } from '../core/statement.ts';
import type { Role } from './roles.ts';
import type { KeptToken } from './token.ts';

/** A person, a token of a program, or what an application is allowed. */
export interface ManagedRow {
  readonly id: string;
  readonly kind: CredentialKind;
  readonly name: string;
  /** Null: it is no person's. */
  readonly role: Role | null;
  readonly application: { readonly id: string; readonly name: string } | null;
  readonly approval_id: string | null;
  /** The credential whose token gave a consent. */
  readonly given_by: string | null;
  readonly scopes: readonly string[];
  readonly all_locations: boolean;
  readonly location_ids: readonly string[];
  readonly version: number;
  readonly created_at: string;
  readonly last_used_at: string | null;
  readonly revoked_at: string | null;
  /** Of an invitation that was not used. */
  readonly invitation_expires_at: string | null;
  /** Of the newest token of a program. */
  readonly expires_at: string | null;
  readonly last_four: string | null;
  /** It is of no use, although nobody revoked it. */
  readonly is_ended: boolean;
  /** What commands act as. */
  readonly is_operator: boolean;
}

const shown = `c.id, c.kind, c.name, c.role, c.approval_id, c.scopes, c.all_locations,
  c.location_ids, c.version, c.created_at, c.last_used_at, c.revoked_at, c.invitation_expires_at,
  c.is_operator, given.id as given_by,
  case when a.id is not null then json_build_object('id', a.id, 'name', a.name) end as application,
  newest.expires_at, newest.last_four,
  case when c.role is not null or c.is_operator then false
    when c.application_id is null then coalesce(newest.expires_at <= now(), true)
    else a.disabled_at is not null or c.approval_id is not null and (
      approval.revoked_at is not null or not coalesce(given.is_live, false)) end as is_ended`;

/** Joins of a row of credentials `c` that lock nothing. */
const joined = `
  left join applications a on a.id = c.application_id
  left join credentials approval
    on approval.merchant_id = c.merchant_id and approval.id = c.approval_id
  left join lateral (
    select g.id, t.expires_at > now() and g.revoked_at is null
      and (g.invited_at is null or t.created_at >= g.invited_at) as is_live
    from credential_tokens t
    join credentials g on g.merchant_id = t.merchant_id and g.id = t.credential_id
    where t.token_hash = c.given_by and t.merchant_id = c.merchant_id limit 1) given on true
  left join lateral (
    select t.expires_at, t.last_four from credential_tokens t
    where t.merchant_id = c.merchant_id and t.credential_id = c.id and c.role is null
      and c.application_id is null
    order by t.created_at desc limit 1) newest on true`;

/** People have a role, and tokens have none. */
type Kind = 'people' | 'tokens';

const isOf: Readonly<Record<Kind, string>> = {
  people: 'c.role is not null',
  tokens: 'c.role is null and not c.is_operator',
};

/** Who looks: one's own, and those that are limited to locations which one has. */
export interface Sight {
  readonly merchant: MerchantId;
  readonly credentialId: string;
  /** Null: all. */
  readonly locations: readonly GrantedLocationId[] | null;
}

const isVisible = `(c.id = $2 or $3::text[] is null
  or not c.all_locations and c.location_ids <@ $3)`;

export function findVisible(kind: Kind, may: Sight, ids: readonly string[]): Statement<ManagedRow> {
  return {
    name: `find_visible_${kind}`,
    text: `
      select ${shown} from credentials c ${joined}
      where c.merchant_id = $1 and c.id = any ($4) and ${isOf[kind]} and ${isVisible}`,
    values: [may.merchant, may.credentialId, may.locations, ids.map(lookupId)],
  };
}

const statusOf: Readonly<Record<Kind, string>> = {
  people: `case when f.revoked_at is not null then 'revoked'
    when f.invitation_expires_at is not null then 'invited' else 'active' end`,
  tokens: `case when f.revoked_at is not null then 'revoked'
    when f.is_ended then 'ended' else 'active' end`,
};

/** By ID. A merchant has few, so one plan serves all. */
export function listVisible(
  kind: Kind,
  may: Sight,
  filter: {
    readonly status: string | undefined;
    readonly after: string | undefined;
    readonly limit: number;
  },
): Statement<ManagedRow> {
  return {
    name: `list_${kind}`,
    text: `
      select f.id, f.kind, f.name, f.role, f.approval_id, f.scopes, f.all_locations,
        f.location_ids, f.version, f.created_at, f.last_used_at, f.revoked_at,
        f.invitation_expires_at, f.is_operator, f.given_by, f.application, f.expires_at,
        f.last_four, f.is_ended
      from (
        select ${shown} from credentials c ${joined}
        where c.merchant_id = $1 and c.id > $4 and ${isOf[kind]} and ${isVisible}) f
      where $5::text is null or ${statusOf[kind]} = $5
      order by f.id limit $6`,
    values: [
      ...[may.merchant, may.credentialId, may.locations],
      ...[filter.after ?? '', filter.status ?? null, filter.limit],
    ],
  };
}

/** For replays and path IDs. */
export function findManaged(
  kind: Kind,
  merchant: MerchantId,
  ids: readonly string[],
): Statement<ManagedRow> {
  return {
    name: `find_managed_${kind}`,
    text: `
      select ${shown} from credentials c ${joined}
      where c.merchant_id = $1 and c.id = any ($2) and ${isOf[kind]}`,
    values: [merchant, ids.map(lookupId)],
  };
}

/** What a write is about: the credential in its path, and the one that asks. */
interface Named {
  readonly id: string;
  readonly name_key: string | null;
}

function namedBy(writes: readonly Write[], nameKeyOf: (write: Write) => string | null): Named[] {
  return writes.flatMap((write) => [
    { id: lookupId(write.id), name_key: nameKeyOf(write) },
    { id: write.actor.credential_id, name_key: null },
  ]);
}

/** Of the records: those that they name, all owners, and whoever has a name that they will have. */
const concerned = `(c.merchant_id, c.id) in (
    select a.merchant_id, a.id from json_to_recordset($1) as a (merchant_id text, id text)
    union
    select o.merchant_id, o.id
    from json_to_recordset($1) as a (merchant_id text, name_key text)
    join credentials o on o.merchant_id = a.merchant_id
      and (o.name_key = a.name_key or o.role = 'owner')
    where o.role is not null and o.revoked_at is null
    union
    select o.merchant_id, o.id
    from json_to_recordset($1) as a (merchant_id text, id text)
    join credentials n on n.merchant_id = a.merchant_id and n.id = a.id
    join credentials o on o.merchant_id = n.merchant_id and o.name_key = n.name_key
    where o.role is not null and o.revoked_at is null)`;

/** So two owners who revoke each other do so one after the other. */
export function lockManaged(
  writes: readonly Write[],
  nameKeyOf: (write: Write) => string | null = () => null,
): readonly SetStatement<ManagedRow & { readonly name_key: string | null }>[] {
  const records = namedBy(writes, nameKeyOf);
  return [
    {
      name: 'lock_managed',
      text: `
        select c.merchant_id, c.id from credentials c where ${concerned}
        order by c.merchant_id, c.id for no key update of c`,
      records,
    },
    {
      name: 'read_managed',
      text: `
        select c.merchant_id, c.name_key, ${shown} from credentials c ${joined}
        where ${concerned}`,
      records,
    },
  ];
}

/** A credential as it shall be. */
export interface ManagedChange extends ManagedRow {
  readonly name_key: string | null;
  /** Whatever the person signs in with is void, and the invitation before this one. */
  readonly is_void: boolean;
  readonly invitation: Buffer | null;
  /** Its end is so long after it is saved. */
  readonly invitation_minutes: number | null;
  /** The token that is made with it. */
  readonly token: KeptToken | null;
  /** The end of its token is so long after it is saved; null: that stays. */
  readonly life_seconds: number | null;
  /** How long the tokens before it stay valid. */
  readonly overlap_seconds?: number;
  /** Their hashes, in hexadecimal. */
  readonly live?: readonly string[];
}

const columns = `merchant_id text, id text, name text, name_key text, role text, scopes text[],
  all_locations boolean, location_ids text[], version int, revoked_at timestamptz,
  is_void boolean, invitation bytea, invitation_minutes int`;

export function insertManaged(rows: readonly ManagedChange[]): SetStatement {
  return {
    name: 'insert_managed',
    text: `
      insert into credentials (merchant_id, id, kind, name, name_key, role, scopes, all_locations,
        location_ids, created_at, invited_at, invitation_hash, invitation_expires_at)
      select s.merchant_id, s.id, 'personal_access_token', s.name, s.name_key, s.role, s.scopes,
        s.all_locations, s.location_ids, j.moment, case when s.role is not null then j.moment end,
        s.invitation, j.moment + make_interval(mins => s.invitation_minutes)
      from json_to_recordset($1) as s (${columns})
      join journal j on j.merchant_id = s.merchant_id`,
    records: rows.map(recordOf),
  };
}

export function updateManaged(rows: readonly ManagedChange[]): SetStatement {
  return {
    name: 'update_managed',
    text: `
      update credentials c set name = s.name, name_key = s.name_key, role = s.role,
        scopes = s.scopes, all_locations = s.all_locations, location_ids = s.location_ids,
        version = s.version, revoked_at = ${savedTime('revoked_at')},
        invited_at = case when s.is_void then j.moment else c.invited_at end,
        invitation_hash = case when s.is_void then s.invitation else c.invitation_hash end,
        invitation_expires_at = case when not s.is_void then c.invitation_expires_at
          else ${later('j.moment', 'make_interval(mins => s.invitation_minutes)')} end
      from json_to_recordset($1) as s (${columns})
      join journal j on j.merchant_id = s.merchant_id
      where c.merchant_id = s.merchant_id and c.id = s.id`,
    records: rows.map(recordOf),
  };
}

function recordOf(row: ManagedChange): object {
  const { id, name, name_key, role, scopes, all_locations, location_ids, version } = row;
  const { revoked_at, is_void, invitation, invitation_minutes } = row;
  return {
    ...{ id, name, name_key, role, scopes, all_locations, location_ids, version, revoked_at },
    ...{ is_void, invitation_minutes, invitation: invitation && hex(invitation) },
  };
}

/** Tokens that are made: of those of one credential that with the highest rank is the newest. */
export function insertTokens(
  rows: readonly (ManagedChange & { readonly rank?: number })[],
): SetStatement {
  return {
    name: 'insert_managed_tokens',
    text: `
      insert into credential_tokens (token_hash, merchant_id, credential_id, last_four, created_at,
        expires_at)
      select s.token_hash, s.merchant_id, s.id, s.last_four,
        j.moment + make_interval(secs => s.rank * 0.000001),
        j.moment + make_interval(secs => s.life_seconds)
      from json_to_recordset($1) as s (merchant_id text, id text, token_hash bytea,
        last_four text, life_seconds float8, rank int)
      join journal j on j.merchant_id = s.merchant_id`,
    records: rows.flatMap(({ id, token, life_seconds, rank = 0 }) =>
      token === null
        ? []
        : [{ id, life_seconds, rank, token_hash: hex(token.tokenHash), last_four: token.lastFour }],
    ),
  };
}

export interface TokenOf {
  readonly id: string;
  readonly token_hash: string;
  /** In seconds, from its beginning to its end. */
  readonly life: number;
  readonly is_newest: boolean;
  readonly is_live: boolean;
}

/** The tokens that lead to the credentials that writes name, while they are locked. */
export function readTokens(writes: readonly Write[]): SetStatement<TokenOf> {
  return {
    name: 'read_managed_tokens',
    text: `
      select t.merchant_id, t.credential_id as id, t.token_hash::text as token_hash,
        extract(epoch from t.expires_at - t.created_at)::float8 as life,
        t.created_at = max(t.created_at) over (
          partition by t.merchant_id, t.credential_id) as is_newest,
        t.expires_at > now() as is_live
      from json_to_recordset($1) as a (merchant_id text, id text)
      join credentials c on c.merchant_id = a.merchant_id and c.id = a.id
        and c.role is null and c.application_id is null
      join credential_tokens t on t.merchant_id = c.merchant_id and t.credential_id = c.id`,
    records: writes.map(({ id }) => ({ id: lookupId(id) })),
  };
}

/** Ends what other tokens replace, after the overlap at the latest. */
export function endTokens(
  records: readonly { id: string; token_hash: string; overlap_seconds: number }[],
): SetStatement {
  return {
    name: 'end_tokens',
    text: `
      update credential_tokens t
      set expires_at = least(t.expires_at,
        ${later('j.moment', 'make_interval(secs => s.overlap_seconds)')})
      from json_to_recordset($1)
        as s (merchant_id text, id text, token_hash bytea, overlap_seconds float8)
      join journal j on j.merchant_id = s.merchant_id
      where t.merchant_id = s.merchant_id and t.credential_id = s.id
        and t.token_hash = s.token_hash`,
    records,
  };
}

/** Another end for the newest token of each: the one before it ends when its rotation said. */
export function updateEnds(rows: readonly ManagedChange[]): SetStatement {
  return {
    name: 'update_managed_ends',
    text: `
      update credential_tokens t
      set expires_at = ${later('j.moment', 'make_interval(secs => s.life_seconds)')}
      from json_to_recordset($1) as s (merchant_id text, id text, life_seconds float8)
      join journal j on j.merchant_id = s.merchant_id
      where t.merchant_id = s.merchant_id and t.credential_id = s.id and t.token_hash = (
        select n.token_hash from credential_tokens n
        where n.merchant_id = s.merchant_id and n.credential_id = s.id
        order by n.created_at desc limit 1)`,
    records: rows.flatMap(({ id, life_seconds }) =>
      life_seconds === null ? [] : [{ id, life_seconds }],
    ),
  };
}
