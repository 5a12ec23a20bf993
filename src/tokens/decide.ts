// The rules of tokens, on locked rows.

import {
  type HeldCredential,
  locationsAsked,
  type Managed,
  type ManagedOutcome,
  refusalOfGrant,
} from '../access/managed.ts';
import type { ManagedChange } from '../access/managed-store.ts';
import { mintedFor } from '../access/once.ts';
import { kept } from '../access/token.ts';
import type { BodyOf } from '../contract/contract.ts';
import type { Write } from '../contract/endpoint.ts';
import { mintId } from '../core/id.ts';
import { limits } from '../core/limits.ts';
import type { Scope } from '../core/principal.ts';
import { isSame, refusalByVersion, refuse } from '../records/revision.ts';
import { scopes } from '../resources.ts';
import type * as contract from './contract.ts';
import { tokens } from './resource.ts';

type Create = BodyOf<typeof contract.create>;
type Update = BodyOf<typeof contract.update>;
type Rotate = BodyOf<typeof contract.rotate>;

const daySeconds = 86_400;

const noPerson = {
  ...{ role: null, name_key: null, is_void: false, invitation: null, invitation_minutes: null },
  invitation_expires_at: null,
} as const;

export function decideCreate(rows: Managed, write: Write<Create>, time: string): ManagedOutcome {
  const { name, scopes: wanted, expires_in_days: days } = write.body;
  const token = kept(mintedFor(write, 'pat'));
  const row: ManagedChange = {
    ...noPerson,
    ...{ id: mintId(tokens.prefix), kind: 'personal_access_token', name },
    ...{ application: null, approval_id: null, given_by: null, is_operator: false },
    scopes: inOrder(wanted),
    ...locationsAsked(write.body, { all_locations: false, location_ids: [] }),
    ...{ version: 1, created_at: time, last_used_at: null, revoked_at: null, is_ended: false },
    ...{ token, last_four: token.lastFour, expires_at: time },
    life_seconds: days * daySeconds,
  };
  return refusalOfGrant(rows, write, row, 'scopes') ?? accept(rows, row);
}

export function decideUpdate(rows: Managed, write: Write<Update>, time: string): ManagedOutcome {
  const before = rows.get(write.id);
  if (before === undefined) throw new Error(`${write.id} is gone`);
  const { body, ifMatch } = write;
  const refusal = refusalByVersion(before, ifMatch) ?? refusalOfGrant(rows, write, before);
  if (refusal !== undefined) return refusal;
  const { status, ...members } = body;
  const isRevoked = status === 'revoked';
  if (before.application !== null && Object.keys(members).length > 0) {
    return refuse('token_of_application');
  }
  const isOver = before.revoked_at !== null || (before.is_ended && !isRevoked);
  if (isOver) return isRevoked ? unchanged(before) : refuse('access_ended');
  const { name = before.name, scopes: wanted, expires_in_days: days } = members;
  const revised: HeldCredential = {
    ...before,
    name,
    scopes: wanted === undefined ? before.scopes : inOrder(wanted),
    ...locationsAsked(members, before),
    revoked_at: isRevoked ? time : null,
    ...(days === undefined ? {} : { life_seconds: days * daySeconds, expires_at: time }),
  };
  if (isSame(revised, before)) return unchanged(before);
  const { life_seconds = null } = revised;
  const change = {
    ...revised,
    ...noPerson,
    life_seconds,
    token: null,
    version: before.version + 1,
  };
  return refusalOfGrant(rows, write, change, 'scopes') ?? accept(rows, change);
}

/** The next token of a program: valid for as long as the one before it was. */
export function decideRotate(rows: Managed, write: Write<Rotate>, time: string): ManagedOutcome {
  const before = rows.get(write.id);
  if (before === undefined) throw new Error(`${write.id} is gone`);
  const { body, ifMatch } = write;
  const refusal = refusalByVersion(before, ifMatch) ?? refusalOfGrant(rows, write, before);
  if (refusal !== undefined) return refusal;
  if (before.application !== null) return refuse('token_of_application');
  if (before.revoked_at !== null || before.is_ended) return refuse('access_ended');
  const token = kept(mintedFor(write, 'pat'));
  return accept(rows, {
    ...{ ...before, ...noPerson, version: before.version + 1 },
    ...{ token, last_four: token.lastFour, expires_at: time },
    life_seconds: Math.min(before.life_seconds ?? 0, limits.tokenDaysMax * daySeconds),
    overlap_seconds: body.overlap_hours * 3_600,
  });
}

function inOrder(wanted: readonly Scope[]): readonly Scope[] {
  return scopes.filter((scope) => wanted.includes(scope));
}

function unchanged(row: HeldCredential): ManagedOutcome {
  return { kind: 'succeeded', row, changes: [], movements: 0 };
}

function accept(rows: Managed, row: ManagedChange): ManagedOutcome {
  rows.set(row.id, row);
  return { kind: 'succeeded', row, changes: [row], movements: 0 };
}
