// The statements of webhooks. One that shows has in it what the caller may see. A write locks
// webhooks in the order of IDs, and their progress behind them.

import type { Write } from '../contract/endpoint.ts';
import type { EventType } from '../contract/resource.ts';
import { lookupId } from '../core/id.ts';
import { limits } from '../core/limits.ts';
import type { GrantedLocationId, MerchantId } from '../core/principal.ts';
import {
  hex,
  pendingTime,
  type SetStatement,
  type Statement,
  savedTime,
} from '../core/statement.ts';
import { journalEnds } from '../journal/store.ts';
import type { Attempt, Failure, PauseReason } from './contract.ts';

/** A webhook and how far it has come. */
export interface WebhookRow {
  readonly id: string;
  readonly credential_id: string;
  readonly url: string;
  /** Null: all. */
  readonly types: readonly EventType[] | null;
  /** Null: all that are granted. */
  readonly location_ids: readonly string[] | null;
  /** Only what runs out. */
  readonly low_stock: boolean;
  readonly description: string | null;
  readonly status: 'active' | 'paused';
  readonly pause_reason: PauseReason | null;
  readonly version: number;
  readonly created_at: string;
  readonly updated_at: string;
  /** A number is counted from the end of the journal, as long as only the database knows that. */
  readonly position: string | number;
  readonly journal: string;
  readonly failing_since: string | null;
  readonly last_status: number | null;
}

interface SealedSecrets {
  readonly secret: Buffer;
  /** Null when it signs no more. */
  readonly old_secret: Buffer | null;
  readonly old_secret_ends_at: string | null;
}

/** What calls are signed with. */
export type CallSecrets = SealedSecrets & { readonly id: string };

/** One that is about to be changed. */
export interface HeldWebhook extends WebhookRow, SealedSecrets {
  readonly token_scopes: readonly string[] | null;
}

/** One as it shall be. */
export interface WebhookChange extends HeldWebhook {
  /** The position is another one, and failures are forgotten. */
  readonly isMoved: boolean;
  /** It is called again: what failed is due at once. */
  readonly isResumed: boolean;
  /** The database that this is decided in. */
  readonly server: string;
}

const shown = `w.id, w.credential_id, w.url, w.types, w.location_ids, w.low_stock, w.description,
  w.status, w.pause_reason, w.version, w.created_at, w.updated_at, p.position::text as position,
  p.failing_since, p.last_status,
  (select j.id from journals j where j.merchant_id = w.merchant_id) as journal`;

const withProgress = `webhooks w
  join webhook_progress p on p.merchant_id = w.merchant_id and p.webhook_id = w.id`;

/** Who looks at webhooks, and what it may not read of events. */
export interface WebhookSight {
  readonly merchant: MerchantId;
  readonly credentialId: string;
  /** Null: all. */
  readonly locations: readonly GrantedLocationId[] | null;
  readonly lacking: readonly {
    readonly type: string;
    readonly scope: string;
    /** Such an event may say that something runs out. */
    readonly is_inventory: boolean;
  }[];
}

/**
 * One's own, and those that are sent nothing which one may not read: what a webhook names, or, as
 * far as it names nothing, what its credential may.
 */
const isVisible = `(w.credential_id = $2 or exists (
  select from credentials c
  where c.merchant_id = w.merchant_id and c.id = w.credential_id
    and ($3::text[] is null or coalesce(w.location_ids,
      case when not c.all_locations then c.location_ids end) <@ $3)
    and not exists (
      select from json_to_recordset($4) as lacking (type text, scope text, is_inventory boolean)
      where (lacking.is_inventory or not w.low_stock)
        and (w.types is null or lacking.type = any (w.types)) and lacking.scope = any (c.scopes)
        and (w.token_scopes is null or lacking.scope = any (w.token_scopes)))))`;

const visibilityOf = ({ merchant, credentialId, locations, lacking }: WebhookSight) => [
  merchant,
  credentialId,
  locations,
  JSON.stringify(lacking),
];

export function findVisible(may: WebhookSight, ids: readonly string[]): Statement<WebhookRow> {
  return {
    name: 'find_visible_webhooks',
    text: `
      select ${shown} from ${withProgress}
      where w.merchant_id = $1 and w.id = any ($5) and ${isVisible}`,
    values: [...visibilityOf(may), ids.map(lookupId)],
  };
}

/** A merchant has few, so one plan serves all. */
export function listVisible(
  may: WebhookSight,
  filter: {
    readonly status: string | undefined;
    readonly after: string | undefined;
    readonly limit: number;
  },
): Statement<WebhookRow> {
  return {
    name: 'list_webhooks',
    text: `
      select ${shown} from ${withProgress}
      where w.merchant_id = $1 and w.id > $5 and ($6::text is null or w.status = $6)
        and ${isVisible}
      order by w.id limit $7`,
    values: [...visibilityOf(may), filter.after ?? '', filter.status ?? null, filter.limit],
  };
}

/** Those of a merchant that nobody paused by a request, and whose credential can resume them. */
export function countPaused(
  merchant: MerchantId,
): Statement<{ readonly pause_reason: PauseReason; readonly webhooks: number }> {
  return {
    name: 'count_paused_webhooks',
    text: `
      select w.pause_reason, count(*)::int as webhooks from webhooks w
      where w.merchant_id = $1 and w.status = 'paused'
        and w.pause_reason not in ('requested', 'credential_ended')
      group by w.pause_reason order by w.pause_reason`,
    values: [merchant],
  };
}

export interface DeliveriesRow {
  readonly id: string;
  readonly failures: readonly Failure[];
  readonly attempts: readonly Attempt[];
}

export function findDeliveries(
  may: WebhookSight,
  ids: readonly string[],
): Statement<DeliveriesRow> {
  return {
    name: 'find_webhook_deliveries',
    text: `
      select w.id, p.failures, p.attempts from ${withProgress}
      where w.merchant_id = $1 and w.id = any ($5) and ${isVisible}`,
    values: [...visibilityOf(may), ids.map(lookupId)],
  };
}

/** For replays and path IDs. */
export function findWebhooks(merchant: MerchantId, ids: readonly string[]): Statement<WebhookRow> {
  return {
    name: 'find_webhooks',
    text: `select ${shown} from ${withProgress} where w.merchant_id = $1 and w.id = any ($2)`,
    values: [merchant, ids.map(lookupId)],
  };
}

/** Of `w`. */
export const callSecrets = `w.secret,
  case when w.old_secret_ends_at > now() then w.old_secret end as old_secret,
  case when w.old_secret_ends_at > now() then w.old_secret_ends_at end as old_secret_ends_at`;

/** Of one's own only. */
export function findSecrets(
  { merchant, credentialId }: Pick<WebhookSight, 'merchant' | 'credentialId'>,
  ids: readonly string[],
): Statement<CallSecrets> {
  return {
    name: 'find_webhook_secrets',
    text: `
      select w.id, ${callSecrets} from webhooks w
      where w.merchant_id = $1 and w.credential_id = $2 and w.id = any ($3)`,
    values: [merchant, credentialId, ids.map(lookupId)],
  };
}

/** What a call is made with. */
export interface CallRow extends CallSecrets {
  readonly url: string;
  readonly version: number;
}

export function findCall(merchant: MerchantId, ids: readonly string[]): Statement<CallRow> {
  return {
    name: 'find_webhook_call',
    text: `
      select w.id, w.url, w.version, ${callSecrets} from webhooks w
      where w.merchant_id = $1 and w.id = any ($2)`,
    values: [merchant, ids.map(lookupId)],
  };
}

/** What writes are decided on, beside the webhooks themselves. */
export interface Ground {
  readonly journal: string;
  readonly last: number;
  readonly active: number;
  readonly server: string;
}

/** A dump that is loaded into another server, or beside the first one, is another database. */
export const databaseIdentity = `(
  select s.system_identifier || '/' || d.oid from pg_control_system() s
  join pg_database d on d.datname = current_database())`;

/**
 * The end of the journal, how many webhooks are active, and which database this is. Nothing is
 * locked: two nodes may let a few webhooks more become active.
 */
export const findGround: SetStatement<Ground> = {
  name: 'find_webhook_ground',
  text: `
    select a.merchant_id, e.id as journal, e.last, (
        select count(*) from webhooks w
        where w.merchant_id = a.merchant_id and w.status = 'active') as active,
      ${databaseIdentity} as server
    from json_to_recordset($1) as a (merchant_id text)
    join (${journalEnds}) e on e.merchant_id = a.merchant_id`,
  records: [{}],
};

/** Those that writes name, under locks in the order of IDs. */
export function lockWebhooks(writes: readonly Write[]): SetStatement<HeldWebhook> {
  return {
    name: 'lock_webhooks',
    text: `
      select w.merchant_id, ${shown}, w.token_scopes, w.secret, w.old_secret, w.old_secret_ends_at
      from ${withProgress}
      where (w.merchant_id, w.id) in (
        select a.merchant_id, a.id from json_to_recordset($1) as a (merchant_id text, id text))
      order by w.merchant_id, w.id
      for no key update of w`,
    records: writes.map(({ id }) => ({ id: lookupId(id) })),
  };
}

/** The old secret ends so long after the moment at which it is replaced. */
const overlapEnd = `case when s.old_secret_ends_at = '${pendingTime}'
  then j.moment + interval '${limits.webhookSecretOverlapHours} hours'
  else s.old_secret_ends_at end`;

export function insertWebhooks(rows: readonly WebhookChange[]): SetStatement {
  return {
    name: 'insert_webhooks',
    text: `
      insert into webhooks (merchant_id, id, credential_id, token_scopes, url, types, location_ids,
        low_stock, description, status, pause_reason, secret, version, created_at, updated_at)
      select s.merchant_id, s.id, s.credential_id, s.token_scopes, s.url, s.types, s.location_ids,
        s.low_stock, s.description, s.status, s.pause_reason, s.secret, s.version,
        ${savedTime('created_at')}, ${savedTime('updated_at')}
      from json_populate_recordset(null::webhooks, $1) s
      join journal j on j.merchant_id = s.merchant_id`,
    records: rows.map(recordOf),
  };
}

export function insertProgress(rows: readonly WebhookChange[]): SetStatement {
  return {
    name: 'insert_webhook_progress',
    text: `
      insert into webhook_progress (merchant_id, webhook_id, position, saved_at, saved_on)
      select s.merchant_id, s.id, coalesce(s.position, j.last), j.moment, s.server
      from json_to_recordset($1)
        as s (merchant_id text, id text, position bigint, server text)
      join journal j on j.merchant_id = s.merchant_id`,
    records: rows.map(progressOf),
  };
}

export function updateWebhooks(rows: readonly WebhookChange[]): SetStatement {
  return {
    name: 'update_webhooks',
    text: `
      update webhooks w set url = s.url, types = s.types, location_ids = s.location_ids,
        low_stock = s.low_stock, description = s.description, status = s.status,
        pause_reason = s.pause_reason, secret = s.secret, old_secret = s.old_secret,
        old_secret_ends_at = ${overlapEnd}, version = s.version,
        updated_at = ${savedTime('updated_at')}
      from json_populate_recordset(null::webhooks, $1) s
      join journal j on j.merchant_id = s.merchant_id
      where w.merchant_id = s.merchant_id and w.id = s.id`,
    records: rows.map(recordOf),
  };
}

/** Whoever delivers by what was before may save no more. */
export function updateProgress(rows: readonly WebhookChange[]): SetStatement {
  return {
    name: 'update_webhook_progress',
    text: `
      update webhook_progress p set
        position = case when s.is_moved then s.position else p.position end,
        failures = case when s.is_moved then '[]' when s.is_resumed then (
          select coalesce(
            jsonb_agg(f.one || '{"tries": 0, "next_at": null}' order by f.number), '[]')
          from jsonb_array_elements(p.failures) with ordinality as f (one, number))
          else p.failures end,
        failing_since = case when s.is_moved or s.is_resumed then null else p.failing_since end,
        epoch = p.epoch + 1, lease_holder = null, lease_ends_at = null, saved_at = j.moment,
        saved_on = case when s.is_resumed then s.server else p.saved_on end
      from json_to_recordset($1) as s (merchant_id text, id text, position bigint,
        is_moved boolean, is_resumed boolean, server text)
      join journal j on j.merchant_id = s.merchant_id
      where p.merchant_id = s.merchant_id and p.webhook_id = s.id`,
    records: rows.map(progressOf),
  };
}

function recordOf({ secret, old_secret, position: _, ...row }: WebhookChange): object {
  return {
    ...row,
    secret: hex(secret),
    old_secret: old_secret === null ? null : hex(old_secret),
  };
}

function progressOf(row: WebhookChange): object {
  const { id, position, isMoved: is_moved, isResumed: is_resumed, server } = row;
  const known = typeof position === 'string' ? position : null;
  return { id, position: known, is_moved, is_resumed, server };
}

/** The last of a list of attempts: as many as are kept. */
export const lastAttempts = (list: string) => `(
  select jsonb_agg(k.one order by k.number)
  from (
    select t.one, t.number
    from jsonb_array_elements(${list}) with ordinality as t (one, number)
    order by t.number desc limit ${limits.webhookAttemptsKept}) k)`;

/** Adds an attempt, and forgets the oldest beyond those that are kept. */
export function recordAttempt(merchant: MerchantId, webhook: string, attempt: Attempt): Statement {
  return {
    name: 'record_webhook_attempt',
    text: `
      update webhook_progress p set attempts = ${lastAttempts('p.attempts || $3::jsonb')}
      where p.merchant_id = $1 and p.webhook_id = $2`,
    values: [merchant, webhook, JSON.stringify(attempt)],
  };
}
