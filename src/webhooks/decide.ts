// The rules of webhooks, on locked rows: what a request makes of one. Pure, but for the secrets
// that it makes.

import type { BodyOf } from '../contract/contract.ts';
import type { Decision, Refusal, Write } from '../contract/endpoint.ts';
import { mintId } from '../core/id.ts';
import { limits } from '../core/limits.ts';
import type { Detail } from '../core/problem.ts';
import { mismatchOf } from '../journal/known.ts';
import { isSame, refusalByVersion, refuse } from '../records/revision.ts';
import type * as contract from './contract.ts';
import { webhooks } from './resource.ts';
import { makeWebhookSecret, type WebhookSecretSealer } from './secret.ts';
import type { Ground, HeldWebhook, WebhookChange } from './store.ts';

/** What writes are decided on: the batch's own working copy. */
export interface State {
  readonly ground: Ground;
  readonly rows: Map<string, HeldWebhook | WebhookChange>;
  active: number;
}

type Outcome = Decision<HeldWebhook, WebhookChange>;
type Create = BodyOf<typeof contract.create>;
type Update = BodyOf<typeof contract.update>;

export function decideCreate(
  sealer: WebhookSecretSealer,
  state: State,
  { body, merchant, actor, tokenScopes }: Write<Create>,
  time: string,
): Outcome {
  const id = mintId(webhooks.prefix);
  const { ground } = state;
  const isActive = body.status === 'active';
  const refusal = positionRefusal(ground, body) ?? (isActive ? limitRefusal(state) : undefined);
  if (refusal !== undefined) return refusal;
  const row: WebhookChange = {
    id,
    credential_id: actor.credential_id,
    token_scopes: tokenScopes,
    url: body.url,
    types: setOf(body.types),
    location_ids: setOf(body.location_ids),
    low_stock: body.low_stock ?? false,
    description: body.description ?? null,
    status: body.status,
    pause_reason: isActive ? null : 'requested',
    secret: sealer.seal({ merchant, webhook: id }, makeWebhookSecret()),
    old_secret: null,
    old_secret_ends_at: null,
    version: 1,
    created_at: time,
    updated_at: time,
    position: body.from_position ?? 0,
    journal: ground.journal,
    failing_since: null,
    last_status: null,
    isMoved: true,
    isResumed: true,
    server: ground.server,
  };
  return accept(state, undefined, row);
}

export function decideUpdate(
  sealer: WebhookSecretSealer,
  state: State,
  write: Write<Update>,
  time: string,
): Outcome {
  const before = heldBy(state, write);
  const { body, merchant, ifMatch } = write;
  const refusal = refusalByVersion(before, ifMatch) ?? positionRefusal(state.ground, body);
  if (refusal !== undefined) return refusal;
  const { rotate_secret: isRotated = false } = body;
  const secret = isRotated
    ? {
        secret: sealer.seal({ merchant, webhook: before.id }, makeWebhookSecret()),
        old_secret: before.secret,
        old_secret_ends_at: time,
      }
    : {};
  const revised = { ...before, ...membersOf(body, before), ...secret };
  const isChanged = isRotated || body.from_position !== undefined || !isSame(revised, before);
  return isChanged ? change(state, before, revised, body.from_position, time) : unchanged(before);
}

export function decideRedeliver(
  state: State,
  write: Write<BodyOf<typeof contract.redeliver>>,
  time: string,
): Outcome {
  const before = heldBy(state, write);
  const { body } = write;
  const revised = { ...before, status: 'active', pause_reason: null } as const;
  return (
    positionRefusal(state.ground, body) ?? change(state, before, revised, body.from_position, time)
  );
}

/** It binds its key, and changes nothing: what is sent is sent behind the commit. */
export function decideTest(state: State, write: Write): Outcome {
  return unchanged(heldBy(state, write));
}

function heldBy({ rows }: State, { id }: Write): HeldWebhook | WebhookChange {
  const row = rows.get(id);
  if (row === undefined) throw new Error(`${id} is gone`);
  return row;
}

function unchanged(row: HeldWebhook): Outcome {
  return { kind: 'succeeded', row, changes: [], movements: 0 };
}

/** What a PATCH sets. */
function membersOf(body: Update, before: HeldWebhook): Partial<HeldWebhook> {
  const { url = before.url, status = before.status } = body;
  const changed = status === 'paused' ? 'requested' : null;
  return {
    url,
    status,
    types: body.types === undefined ? before.types : setOf(body.types),
    location_ids: body.location_ids === undefined ? before.location_ids : setOf(body.location_ids),
    low_stock: body.low_stock === undefined ? before.low_stock : (body.low_stock ?? false),
    description: body.description === undefined ? before.description : body.description,
    pause_reason: status === before.status ? before.pause_reason : changed,
  };
}

/** Another version. `before` may be a change of the same batch, which this one replaces. */
function change(
  state: State,
  before: HeldWebhook | WebhookChange,
  revised: HeldWebhook,
  position: string | undefined,
  time: string,
): Outcome {
  const isResumed = before.status === 'paused' && revised.status === 'active';
  const refusal = isResumed ? limitRefusal(state) : undefined;
  if (refusal !== undefined) return refusal;
  const isMoved = position !== undefined;
  const earlier = 'isMoved' in before ? before : { isMoved: false, isResumed: false };
  return accept(state, before, {
    ...revised,
    version: before.version + 1,
    updated_at: time,
    position: position ?? before.position,
    failing_since: isMoved || isResumed ? null : before.failing_since,
    isMoved: earlier.isMoved || isMoved,
    isResumed: earlier.isResumed || isResumed || (isMoved && revised.status === 'active'),
    server: state.ground.server,
  });
}

function accept(state: State, before: HeldWebhook | undefined, row: WebhookChange): Outcome {
  state.active += Number(row.status === 'active') - Number(before?.status === 'active');
  state.rows.set(row.id, row);
  return { kind: 'succeeded', row, changes: [row], movements: 0 };
}

/** Each once, in one order. An empty list is as good as none. */
function setOf<Item extends string>(items: readonly Item[] | null): readonly Item[] | null {
  return items === null || items.length === 0 ? null : [...new Set(items)].sort();
}

function limitRefusal({ active }: State): Refusal | undefined {
  return active < limits.webhooksActiveMax ? undefined : refuse('webhook_limit_reached');
}

interface FromPosition {
  readonly from_position?: string | null;
  readonly journal?: string | null;
}

/** A position beyond 0 means something in one journal only. A fault here binds no key. */
export function positionFaults({ from_position: from, journal }: FromPosition): Detail[] {
  if (from === undefined || from === null || from === '0') return [];
  if (journal !== undefined && journal !== null) return [];
  const message = 'is required with from_position';
  return [{ field: 'journal', code: 'required', message }];
}

function positionRefusal(
  { journal: id, last }: Ground,
  { from_position, journal }: FromPosition,
): Refusal | undefined {
  const named = { position: from_position ?? undefined, journal: journal ?? undefined };
  const wrong = mismatchOf({ id, last }, { parameter: 'from_position', ...named });
  if (wrong === undefined) return undefined;
  const { parameter: field, message } = wrong;
  return refuse('validation_failed', [{ field, code: 'journal_mismatch', message }]);
}
