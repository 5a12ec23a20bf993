// GET /status: what needs a person, as far as the caller may know.

import { sightOf } from '../access/managed.ts';
import type { Endpoint, MemberEndpoint } from '../contract/endpoint.ts';
import { limits } from '../core/limits.ts';
import type { Principal } from '../core/principal.ts';
import type { Reads } from '../core/statement.ts';
import { visibilityOf } from '../webhooks/endpoints.ts';
import { listVisible, type WebhookRow } from '../webhooks/store.ts';
import { getStatus, type NeedCode } from './contract.ts';
import {
  type ExpiredAt,
  findEndedInvitations,
  findEndingTokens,
  findExpired,
  type NamedNeed,
} from './store.ts';

/** How the daily backups of the service are. */
export interface BackupSight {
  /** When the newest proven one was begun. */
  readonly last: Date | undefined;
  readonly failure: { readonly at: Date } | undefined;
}

export interface StatusTools {
  /** Undefined: this service takes none. */
  backups(): BackupSight | undefined;
}

interface Need {
  readonly code: NeedCode;
  readonly text: string;
  readonly about: {
    readonly type: 'token' | 'person' | 'webhook' | 'location' | 'backup';
    readonly id: string | null;
    readonly name: string | null;
  };
  readonly at: string | null;
  readonly count: number;
}

export function statusEndpoints(tools: StatusTools): readonly Endpoint[] {
  const get: MemberEndpoint<typeof getStatus> = {
    contract: getStatus,
    async run(reads, principal) {
      const needs = await Promise.all([
        accessNeeds(reads, principal),
        webhookNeeds(reads, principal),
        reservationNeeds(reads, principal),
        backupNeeds(tools, principal),
      ]);
      return { needs: needs.flat() };
    },
  };
  return [get];
}

async function accessNeeds(reads: Reads, principal: Principal): Promise<Need[]> {
  if (!principal.scopes.has('access.read')) return [];
  const may = sightOf(principal);
  const [tokens, invitations] = await Promise.all([
    reads.query(findEndingTokens(may)),
    reads.query(findEndedInvitations(may)),
  ]);
  return [...tokens.map(tokenNeed), ...invitations.map(invitationNeed)];
}

function tokenNeed({ id, name, at, is_over }: NamedNeed): Need {
  return {
    code: is_over ? 'token_ended' : 'token_ends',
    text: `The token "${name}" ${is_over ? 'ended' : 'ends'} at ${at}.`,
    about: { type: 'token', id, name },
    ...{ at, count: 1 },
  };
}

function invitationNeed({ id, name, at }: NamedNeed): Need {
  return {
    code: 'invitation_ended',
    text: `${name} did not use the invitation, which ended at ${at}.`,
    about: { type: 'person', id, name },
    ...{ at, count: 1 },
  };
}

async function webhookNeeds(reads: Reads, principal: Principal): Promise<Need[]> {
  if (!principal.scopes.has('webhooks.read')) return [];
  const page = { status: undefined, after: undefined, limit: limits.needsShown };
  const rows = await reads.query(listVisible(visibilityOf(principal), page));
  return rows.flatMap(webhookNeed);
}

function webhookNeed({
  id,
  description,
  pause_reason: why,
  failing_since: at,
}: WebhookRow): Need[] {
  const about = { type: 'webhook', id, name: description } as const;
  const named = description === null ? id : `"${description}"`;
  if (why !== null && why !== 'requested') {
    const text = `The webhook ${named} is paused: ${why}.`;
    return [{ code: 'webhook_paused', text, about, at: null, count: 1 }];
  }
  if (why !== null || at === null) return [];
  const text = `The receiver of the webhook ${named} does not take what it is sent, since ${at}.`;
  return [{ code: 'webhook_failing', text, about, at, count: 1 }];
}

async function reservationNeeds(reads: Reads, principal: Principal): Promise<Need[]> {
  const { scopes, merchant, locations } = principal;
  if (!scopes.has('inventory.read')) return [];
  const rows = await reads.query(findExpired(merchant, locations === 'all' ? null : locations));
  return rows.map(expiredNeed);
}

function expiredNeed({ id, name, count, at }: ExpiredAt): Need {
  const many = count === 1 ? 'A reservation' : `${count} reservations`;
  return {
    code: 'reservations_expired',
    text: `${many} expired at ${name} in the last day.`,
    about: { type: 'location', id, name },
    ...{ at, count },
  };
}

/** Whoever may see all tokens of the merchant may know whether its data is safe. */
function backupNeeds({ backups }: StatusTools, { scopes, locations }: Principal): Need[] {
  const found = backups();
  if (found === undefined || !scopes.has('access.read') || locations !== 'all') return [];
  const { last, failure } = found;
  const about = { type: 'backup', id: null, name: null } as const;
  const need = (code: NeedCode, text: string, at: Date | undefined) => [
    { code, text, about, at: at?.toISOString() ?? null, count: 1 },
  ];
  if (failure !== undefined) {
    const text = `The last backup failed at ${failure.at.toISOString()}.`;
    return need('backup_failed', text, failure.at);
  }
  if (last === undefined) return need('backup_missing', 'There is no backup yet.', undefined);
  const isOld = Date.now() - last.getTime() > limits.backupOldHours * 3_600_000;
  return isOld ? need('backup_old', `The last backup is of ${last.toISOString()}.`, last) : [];
}
