// The statements of delivery. A webhook is claimed under a lease, and each claim raises its epoch:
// whoever saves names the epoch of the claim, so that one who lost the lease saves nothing. Each
// update says in its own condition what must be true: a lock taken before it is not enough,
// because what it waited for is judged again by that condition only.

import { limits } from '../core/limits.ts';
import type { MerchantId } from '../core/principal.ts';
import type { Statement } from '../core/statement.ts';
import { lastInJournal } from '../journal/store.ts';
import type { Attempt, Failure, PauseReason } from './contract.ts';
import {
  type CallSecrets,
  callSecrets,
  databaseIdentity,
  lastAttempts,
  type WebhookRow,
} from './store.ts';

/** One that something is to be sent to, and that nobody else has. */
export interface WorkRow {
  readonly merchant_id: MerchantId;
  readonly id: string;
  readonly epoch: number;
  /** The last position of its merchant. */
  readonly last: number;
}

const work = (which: string) => `
  select w.merchant_id, w.id, p.epoch, coalesce(o.position, 0) as last
  from webhooks w
  join webhook_progress p on p.merchant_id = w.merchant_id and p.webhook_id = w.id
  left join lateral ${lastInJournal('w')} o on o.merchant_id = w.merchant_id
  where w.status = 'active' ${which}
    and (p.lease_ends_at is null or p.lease_ends_at <= now() or p.lease_holder = $1)
    and (o.position > p.position or (p.failures <> '[]' and exists (
      select from jsonb_to_recordset(p.failures) as f (next_at timestamptz)
      where f.next_at is null or f.next_at <= $2)))`;

/** Of all merchants. One of another holder is looked at again when his lease has ended. */
export function findWork(holder: string, now: Date): Statement<WorkRow> {
  return { name: 'find_webhook_work', text: work(''), values: [holder, now.toISOString()] };
}

export function findWorkOf(
  holder: string,
  now: Date,
  merchants: readonly string[],
): Statement<WorkRow> {
  return {
    name: 'find_webhook_work_of',
    text: work(`and exists (
      select from json_to_recordset($3) as a (merchant_id text)
      where a.merchant_id = w.merchant_id)`),
    values: [
      holder,
      now.toISOString(),
      JSON.stringify(merchants.map((merchant_id) => ({ merchant_id }))),
    ],
  };
}

/** How many webhooks are active, by merchant. */
export function countActive(): Statement<{ merchant_id: string; active: number }> {
  return {
    name: 'count_active_webhooks',
    text: `
      select w.merchant_id, count(*) as active from webhooks w where w.status = 'active'
      group by w.merchant_id`,
    values: [],
  };
}

/** One that this process has for a while. */
export interface ClaimRow {
  readonly merchant_id: MerchantId;
  readonly id: string;
  readonly credential_id: string;
  readonly token_scopes: readonly string[] | null;
  readonly epoch: number;
  readonly position: number;
  readonly failures: readonly Failure[];
  readonly failing_since: string | null;
  readonly last_status: number | null;
  /** The database in which it was last resumed or made. */
  readonly saved_on: string;
}

/** Which database this is. */
export const findIdentity: Statement<{ server: string }> = {
  name: 'find_database_identity',
  text: `select ${databaseIdentity} as server`,
  values: [],
};

const lease = `interval '${limits.webhookLease} milliseconds'`;

/** Locked in the order of IDs, so that two nodes that want the same ones do not deadlock. */
const held = `
      held as materialized (
        select p.merchant_id, p.webhook_id from webhook_progress p
        join json_to_recordset($1) as a (merchant_id text, id text)
          on p.merchant_id = a.merchant_id and p.webhook_id = a.id
        order by p.merchant_id, p.webhook_id
        for no key update of p)`;

export function claim(holder: string, wanted: readonly WorkRow[]): Statement<ClaimRow> {
  return {
    name: 'claim_webhooks',
    text: `
      with ${held}
      update webhook_progress p set epoch = p.epoch + 1, lease_holder = $2,
        lease_ends_at = now() + ${lease}
      from held h
      join webhooks w on w.merchant_id = h.merchant_id and w.id = h.webhook_id
      where p.merchant_id = h.merchant_id and p.webhook_id = h.webhook_id and w.status = 'active'
        and (p.lease_ends_at is null or p.lease_ends_at <= now() or p.lease_holder = $2)
      returning p.merchant_id, p.webhook_id as id, w.credential_id, w.token_scopes, p.epoch,
        p.position, p.failures, p.failing_since, p.last_status, p.saved_on`,
    values: [
      JSON.stringify(wanted.map((one) => ({ merchant_id: one.merchant_id, id: one.id }))),
      holder,
    ],
  };
}

/** Their cell has moved to this server, and the next claim need not ask the others. */
export function saveHere(moved: readonly ClaimRow[], server: string): Statement {
  return {
    name: 'save_webhooks_here',
    text: `
      with ${held}
      update webhook_progress p set saved_on = $2
      from held h
      where p.merchant_id = h.merchant_id and p.webhook_id = h.webhook_id`,
    values: [JSON.stringify(moved), server],
  };
}

/** How far one has come, by whoever has it. */
export interface Progress {
  readonly merchant_id: string;
  readonly id: string;
  readonly epoch: number;
  readonly position: number;
  /** Null: the same as before. */
  readonly failures: readonly Failure[] | null;
  /** Those that are new. */
  readonly attempts: readonly Attempt[];
  readonly failing_since: string | null;
  readonly last_status: number | null;
  /** Nobody has it from now on. */
  readonly is_released: boolean;
}

const asked = `asked as materialized (
  select * from json_to_recordset($1) as a (merchant_id text, id text, epoch bigint,
    position bigint, failures jsonb, attempts jsonb, failing_since timestamptz,
    last_status integer, is_released boolean))`;

const saved = `position = a.position, failures = coalesce(a.failures, p.failures),
  attempts = case when a.attempts = '[]' then p.attempts
    else ${lastAttempts('p.attempts || a.attempts')} end,
  failing_since = a.failing_since, last_status = a.last_status, saved_at = now()`;

/** Saves, and has them for longer. Returns those that were still had. */
export function saveProgress(
  progress: readonly Progress[],
): Statement<{ merchant_id: string; id: string }> {
  return {
    name: 'save_webhook_progress',
    text: `
      with ${asked},
      held as materialized (
        select p.merchant_id, p.webhook_id from webhook_progress p
        join asked a on p.merchant_id = a.merchant_id and p.webhook_id = a.id
        order by p.merchant_id, p.webhook_id
        for no key update of p)
      update webhook_progress p set ${saved},
        lease_holder = case when a.is_released then null else p.lease_holder end,
        lease_ends_at = case when a.is_released then null else now() + ${lease} end
      from asked a
      join held h on h.merchant_id = a.merchant_id and h.webhook_id = a.id
      where p.merchant_id = a.merchant_id and p.webhook_id = a.id and p.epoch = a.epoch
      returning p.merchant_id, p.webhook_id as id`,
    values: [JSON.stringify(progress)],
  };
}

/** Before it is paused: requests that change a webhook lock it before its progress, too. */
export function lockWebhook(merchant: MerchantId, id: string): Statement {
  return {
    name: 'lock_webhook_to_pause',
    text: `
      select from webhooks w where w.merchant_id = $1 and w.id = $2 for no key update of w`,
    values: [merchant, id],
  };
}

/** Returns nothing when somebody else has it, or has changed it. */
export function pause(progress: Progress, reason: PauseReason): Statement<{ id: string }> {
  return {
    name: 'pause_webhook',
    text: `
      with ${asked},
      saved as (
        update webhook_progress p set ${saved}, epoch = p.epoch + 1, lease_holder = null,
          lease_ends_at = null
        from asked a
        where p.merchant_id = a.merchant_id and p.webhook_id = a.id and p.epoch = a.epoch
        returning p.merchant_id, p.webhook_id)
      update webhooks w set status = 'paused', pause_reason = $2, version = w.version + 1,
        updated_at = now()
      from saved s
      where w.merchant_id = s.merchant_id and w.id = s.webhook_id and w.status = 'active'
      returning w.id`,
    values: [JSON.stringify([progress]), reason],
  };
}

/** What a call is made by, as it is now. */
export interface CheckRow
  extends CallSecrets,
    Pick<WebhookRow, 'url' | 'types' | 'location_ids' | 'low_stock'> {
  readonly merchant_id: MerchantId;
  readonly epoch: number;
}

/** Those that are active. */
export function findChecks(
  asked: readonly { readonly merchant: MerchantId; readonly id: string }[],
): Statement<CheckRow> {
  return {
    name: 'find_webhook_checks',
    text: `
      select w.merchant_id, w.id, w.url, w.types, w.location_ids, w.low_stock, p.epoch,
        ${callSecrets}
      from json_to_recordset($1) as a (merchant_id text, id text)
      join webhooks w on w.merchant_id = a.merchant_id and w.id = a.id
      join webhook_progress p on p.merchant_id = w.merchant_id and p.webhook_id = w.id
      where w.status = 'active'`,
    values: [JSON.stringify(asked.map(({ merchant, id }) => ({ merchant_id: merchant, id })))],
  };
}

/** The state of all, for the metrics. */
export interface Standing {
  /** How many are paused, by reason. */
  readonly paused: Readonly<Record<string, number>>;
  readonly retries: number;
  /** Of the active one that is furthest behind. */
  readonly lag: number;
}

export function findStanding(): Statement<Standing> {
  return {
    name: 'find_webhook_standing',
    text: `
      select
        (select coalesce(json_object_agg(g.reason, g.count), '{}') from (
          select w.pause_reason as reason, count(*) as count from webhooks w
          where w.status = 'paused' group by w.pause_reason) g) as paused,
        coalesce(sum(jsonb_array_length(p.failures)), 0)::int as retries,
        coalesce(max(coalesce(o.position, 0) - p.position), 0)::int as lag
      from webhooks w
      join webhook_progress p on p.merchant_id = w.merchant_id and p.webhook_id = w.id
      left join lateral ${lastInJournal('w')} o on o.merchant_id = w.merchant_id
      where w.status = 'active'`,
    values: [],
  };
}
