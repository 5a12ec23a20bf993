// What the people and tokens of a merchant have in common for whoever changes them. Nobody gives a
// scope or a location that he does not hold himself, and nobody changes one who holds more than he.
// It is judged on locked rows: what was taken from him a moment ago he gives no more.

import type { Decision, Done, Load, Refusal, Write } from '../contract/endpoint.ts';
import { groupBy } from '../core/group-by.ts';
import type { Principal } from '../core/principal.ts';
import type { Detail, ProblemCode } from '../core/problem.ts';
import type { SetStatement, Statement } from '../core/statement.ts';
import { type AuditEntry, appendAudit } from './audit/store.ts';
import {
  endTokens,
  insertManaged,
  insertTokens,
  lockManaged,
  type ManagedChange,
  type ManagedRow,
  readTokens,
  type Sight,
  type TokenOf,
  updateEnds,
  updateManaged,
} from './managed-store.ts';
import type { Locations } from './operator/credentials.ts';

/** As it is read under its lock, or as a write of the same batch has left it. */
export type HeldCredential = ManagedRow &
  Pick<ManagedChange, 'name_key'> &
  Partial<Pick<ManagedChange, 'life_seconds' | 'live'>>;

/** The batch's own working copy. */
export type Managed = Map<string, HeldCredential>;

export type ManagedOutcome = Decision<HeldCredential, ManagedChange>;

export function loadManaged(
  writes: readonly Write[],
  nameKeyOf?: (write: Write) => string | null,
): Load<Managed> {
  return {
    statements: lockManaged(writes, nameKeyOf),
    state: ([, rows = []]) => new Map((rows as HeldCredential[]).map((row) => [row.id, row])),
  };
}

/** With the tokens of each, which another one shall replace. */
export function loadTokens(writes: readonly Write[]): Load<Managed> {
  return {
    statements: [...lockManaged(writes), readTokens(writes)],
    state: ([, rows = [], tokens = []]) => {
      const found = tokens as TokenOf[];
      const ofId = groupBy(found, ({ id }) => id);
      return new Map(
        (rows as HeldCredential[]).map((row) => {
          const own = ofId.get(row.id) ?? [];
          const life_seconds = own.find((one) => one.is_newest)?.life ?? null;
          const live = own.filter((one) => one.is_live).map((one) => one.token_hash);
          return [row.id, { ...row, life_seconds, live }];
        }),
      );
    },
  };
}

export const savesNew = (changes: readonly ManagedChange[]): readonly SetStatement[] => [
  insertManaged(changes),
  insertTokens(changes),
];

/** Of changes of one credential the last, which has in it what the others changed. */
export function savesChanged(changes: readonly ManagedChange[]): readonly SetStatement[] {
  const last = [...new Map(changes.map((row) => [row.id, row])).values()];
  return last.length === 0 ? [] : [updateManaged(last), updateEnds(last)];
}

/**
 * Another token for each. Of several of one credential the last lasts, and each one before it ends
 * with its overlap, as those that were there do.
 */
export function savesRotated(changes: readonly ManagedChange[]): readonly SetStatement[] {
  const byId = groupBy(changes, ({ id }) => id);
  const rotations = [...byId.values()].flatMap((own) =>
    own.map((row, index) => {
      const overlaps = own.slice(index + 1).map((next) => next.overlap_seconds ?? 0);
      return { ...row, life_seconds: Math.min(row.life_seconds ?? 0, ...overlaps), rank: index };
    }),
  );
  const ends = [...byId].flatMap(([id, own]) => {
    const overlap_seconds = Math.min(...own.map((row) => row.overlap_seconds ?? 0));
    return (own[0]?.live ?? []).map((token_hash) => ({ id, token_hash, overlap_seconds }));
  });
  const last = [...byId.values()].flatMap((own) => own.slice(-1));
  return [updateManaged(last), endTokens(ends), insertTokens(rotations)];
}

/** Whether somebody may know of one: it is his own, or it is limited to locations that he has. */
export function isInReach(row: ManagedRow, { actor, granted }: Write): boolean {
  return row.id === actor.credential_id || hasLocations(granted, row);
}

export function sightOf({ merchant, credentialId, locations }: Principal): Sight {
  return { merchant, credentialId, locations: locations === 'all' ? null : locations };
}

interface Grant {
  readonly scopes: readonly string[];
  readonly all_locations: boolean;
  readonly location_ids: readonly string[];
}

/** Why somebody cannot give so much, or cannot change who has so much. */
export function refusalOfGrant(
  rows: Managed,
  write: Write,
  wanted: Grant,
  field?: 'role' | 'scopes',
): Refusal | undefined {
  const { granted, actor } = write;
  const own = rows.get(actor.credential_id);
  // The operator's commands may do everything, whatever his row says.
  const isOperator = own?.is_operator === true;
  const isLive = own !== undefined && own.revoked_at === null;
  const mayGive = (scope: string) =>
    isOperator || (isLive && write.scopes.has(scope) && own.scopes.includes(scope));
  const lacking = wanted.scopes.filter((scope) => !mayGive(scope));
  if (lacking.length > 0) return refuseGrant('insufficient_scope', lacking.map(lackOf(field)));
  const isReached = isOperator || (isLive && hasLocations(locationsOfRow(own), wanted));
  if (isReached && hasLocations(granted, wanted)) return undefined;
  const message = 'not all of these locations are granted to who asks';
  const named = { code: 'location_not_granted', message } as const;
  return refuseGrant('location_not_granted', [
    field === undefined ? named : { field: 'all_locations', ...named },
  ]);
}

const lackOf =
  (field: string | undefined) =>
  (scope: string): Detail => ({
    ...(field === undefined ? {} : { field }),
    code: 'insufficient_scope',
    message: `needs the scope ${scope}`,
    scope,
  });

function refuseGrant(code: ProblemCode, details: readonly Detail[]): Refusal {
  return { kind: 'rejected', code, details };
}

function hasLocations(
  held: Locations,
  { all_locations, location_ids }: Pick<Grant, 'all_locations' | 'location_ids'>,
): boolean {
  if (held === 'all') return true;
  return !all_locations && location_ids.every((id) => held.includes(id));
}

function locationsOfRow({ all_locations, location_ids }: Grant): Locations {
  return all_locations ? 'all' : location_ids;
}

/** What a body says of locations: what it does not name stays. */
export interface AskedLocations {
  readonly all_locations?: boolean | null;
  readonly location_ids?: readonly string[] | null;
}

export function locationsAsked(
  { all_locations: all, location_ids: ids }: AskedLocations,
  before: Pick<Grant, 'all_locations' | 'location_ids'>,
): Pick<Grant, 'all_locations' | 'location_ids'> {
  if (all === true) return { all_locations: true, location_ids: [] };
  if (ids !== undefined && ids !== null) {
    return { all_locations: false, location_ids: [...new Set(ids)].sort() };
  }
  return all === false && before.all_locations
    ? { all_locations: false, location_ids: [] }
    : { all_locations: before.all_locations, location_ids: before.location_ids };
}

export function locationFaults({ all_locations, location_ids }: AskedLocations): readonly Detail[] {
  if (all_locations !== true || (location_ids ?? []).length === 0) return [];
  const message = 'must be empty, or left out, with all_locations';
  return [{ field: 'location_ids', code: 'value_not_allowed', message }];
}

/** The lines that say who did this to whom: they commit with it. */
export function auditOf<Body>(
  done: readonly Done<HeldCredential, Body>[],
  action: (row: HeldCredential) => string,
): readonly Statement[] {
  const entries = done.map(({ write, row }): { entry: AuditEntry; age: number } => ({
    entry: {
      action: action(row),
      merchant_id: write.merchant,
      credential_id: row.id,
      by_credential_id: write.actor.credential_id,
      ...(row.role === null ? { scopes: row.scopes } : { role: row.role }),
      locations: locationsOfRow(row),
      operation_id: write.operationId,
      request_id: write.requestId,
    },
    age: 0,
  }));
  return [appendAudit(entries)];
}

/** A time that is so long after another one, both RFC 3339. */
export function later(time: string, seconds: number): string {
  return new Date(Date.parse(time) + seconds * 1_000).toISOString();
}
