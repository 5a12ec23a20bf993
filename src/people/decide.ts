// The rules of people, on locked rows. Two people who work at a merchant have two names, and one of
// them is always an owner.

import {
  type HeldCredential,
  locationsAsked,
  type Managed,
  type ManagedOutcome,
  refusalOfGrant,
} from '../access/managed.ts';
import type { ManagedChange } from '../access/managed-store.ts';
import { mintedFor } from '../access/once.ts';
import { nameKey } from '../access/person-name.ts';
import { scopesOfRole } from '../access/roles.ts';
import { hashToken } from '../access/token.ts';
import type { BodyOf } from '../contract/contract.ts';
import type { Refusal, Write } from '../contract/endpoint.ts';
import { mintId } from '../core/id.ts';
import { limits } from '../core/limits.ts';
import { isSame, refusalByVersion, refuse } from '../records/revision.ts';
import type * as contract from './contract.ts';
import { people } from './resource.ts';

type Invite = BodyOf<typeof contract.invite>;
type InviteAgain = BodyOf<typeof contract.inviteAgain>;
type Update = BodyOf<typeof contract.update>;

export function decideInvite(rows: Managed, write: Write<Invite>, time: string): ManagedOutcome {
  const { name, role } = write.body;
  const nowhere = { all_locations: false, location_ids: [] };
  const row: ManagedChange = {
    ...{ id: mintId(people.prefix), kind: 'personal_access_token', name, role },
    ...{ application: null, approval_id: null, given_by: null, is_operator: false },
    scopes: scopesOfRole(role),
    ...locationsAsked(write.body, nowhere),
    ...{ version: 1, created_at: time, last_used_at: null, revoked_at: null },
    ...{ expires_at: null, last_four: null, is_ended: false, token: null, life_seconds: null },
    name_key: nameKey(name),
    ...invitationFor(write, time),
  };
  const refusal = refusalOfGrant(rows, write, row, 'role') ?? refusalOfName(rows, row);
  return refusal ?? accept(rows, row);
}

export function decideUpdate(rows: Managed, write: Write<Update>, time: string): ManagedOutcome {
  const before = heldBy(rows, write);
  const { body, ifMatch } = write;
  const isRevoked = body.status === 'revoked';
  const refusal = refusalByVersion(before, ifMatch) ?? refusalOfGrant(rows, write, before);
  if (refusal !== undefined) return refusal;
  if (before.revoked_at !== null) return isRevoked ? unchanged(before) : refuse('access_ended');
  const revised = revise(before, body);
  const ended = isRevoked ? { revoked_at: time, invitation_expires_at: null } : {};
  if (isSame({ ...revised, ...ended }, before)) return unchanged(before);
  const change = { ...changeOf(revised), ...ended, is_void: isRevoked };
  return refusalOfChange(rows, write, before, change) ?? accept(rows, change);
}

export function decideInviteAgain(
  rows: Managed,
  write: Write<InviteAgain>,
  time: string,
): ManagedOutcome {
  const before = heldBy(rows, write);
  const refusal = refusalOfGrant(rows, write, before);
  if (refusal !== undefined) return refusal;
  const revised = { ...revise(before, write.body), revoked_at: null };
  const change = { ...changeOf(revised), ...invitationFor(write, time) };
  return refusalOfChange(rows, write, before, change) ?? accept(rows, change);
}

function heldBy(rows: Managed, { id }: Write): HeldCredential {
  const row = rows.get(id);
  if (row === undefined) throw new Error(`${id} is gone`);
  return row;
}

function invitationFor(write: Write, time: string) {
  return {
    is_void: true,
    invitation: hashToken(mintedFor(write, 'inv')),
    invitation_expires_at: time,
    invitation_minutes: limits.invitationMinutes,
  };
}

function revise(before: HeldCredential, body: Update | InviteAgain): HeldCredential {
  const name = body.name ?? before.name;
  const role = body.role ?? before.role;
  return {
    ...before,
    ...{ name, role, name_key: nameKey(name) },
    scopes: role === null || role === before.role ? before.scopes : scopesOfRole(role),
    ...locationsAsked(body, before),
  };
}

function changeOf(row: HeldCredential): ManagedChange {
  const nothing = { is_void: false, invitation: null, invitation_minutes: null, token: null };
  return { ...row, ...nothing, life_seconds: null, version: row.version + 1 };
}

function refusalOfChange(
  rows: Managed,
  write: Write,
  before: HeldCredential,
  row: ManagedChange,
): Refusal | undefined {
  return (
    refusalOfGrant(rows, write, row, 'role') ??
    refusalOfName(rows, row) ??
    refusalOfLastOwner(rows, before, row)
  );
}

function refusalOfName(
  rows: Managed,
  { id, name_key, revoked_at }: HeldCredential,
): Refusal | undefined {
  if (revoked_at !== null) return undefined;
  const isTaken = [...rows.values()].some(
    (other) => other.id !== id && other.name_key === name_key && other.revoked_at === null,
  );
  if (!isTaken) return undefined;
  const message = 'is already used by another one';
  return refuse('name_taken', [{ field: 'name', code: 'name_taken', message }]);
}

function refusalOfLastOwner(
  rows: Managed,
  before: HeldCredential,
  row: HeldCredential,
): Refusal | undefined {
  if (!isOwner(before) || isOwner(row)) return undefined;
  const isOther = (one: HeldCredential) => one.id !== row.id && isOwner(one);
  return [...rows.values()].some(isOther) ? undefined : refuse('last_owner');
}

function isOwner({ role, revoked_at }: HeldCredential): boolean {
  return role === 'owner' && revoked_at === null;
}

function unchanged(row: HeldCredential): ManagedOutcome {
  return { kind: 'succeeded', row, changes: [], movements: 0 };
}

function accept(rows: Managed, row: ManagedChange): ManagedOutcome {
  rows.set(row.id, row);
  return { kind: 'succeeded', row, changes: [row], movements: 0 };
}
