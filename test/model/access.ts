// People and tokens: what their writes do, and what is shown of them. Nobody gives a scope or a
// location that he does not hold, nobody changes who holds more than he, two people who work there
// have two names, and one of them is an owner.

import { expect } from 'vitest';
import type { JsonObject } from '../../src/contract/json.ts';
import type { OperationType } from '../../src/contract/resource.ts';
import type { Scope } from '../../src/core/principal.ts';
import { allScopes, scopesOf } from '../kit/access-bodies.ts';
import {
  type Detail,
  done,
  type Minted,
  notGrantedIn,
  type Refusal,
  rejected,
  sentBody,
  type Verdict,
} from './rules.ts';
import {
  type Credential,
  type Merchant,
  newActor,
  type Role,
  sorted,
  type World,
  type Write,
} from './world.ts';

export type Managed = 'people' | 'tokens';

/** Whether it writes one of these; undefined: neither. */
export function managedBy(type: OperationType): Managed | undefined {
  const [noun] = type.split('.');
  return noun === 'people' || noun === 'tokens' ? noun : undefined;
}

/** What may be given, and is held. */
type Grant = Pick<Credential, 'scopes' | 'locations'>;

/** Whether somebody may know of one: himself, and who has no location that he has not. */
export const isInSight = (by: Credential, one: Credential): boolean =>
  by.id === one.id || hasPlaces(by.locations, one.locations);

function hasPlaces(held: Grant['locations'], wanted: Grant['locations']): boolean {
  if (held === 'all') return true;
  return wanted !== 'all' && wanted.every((id) => held.includes(id));
}

/** Locations that a list names must be granted, whatever else is wrong. */
export function refusalOfPlaces(credential: Credential, write: Write): Refusal | undefined {
  const { location_ids: listed } = sentBody(write);
  if (!Array.isArray(listed)) return undefined;
  const { locations, merchant } = credential;
  const known = locations === 'all' ? [...merchant.locations.keys()] : locations;
  const isLost = (one: unknown) =>
    typeof one === 'string' && one !== '' && one.length <= 64 && !known.includes(one);
  const lost = listed.filter(isLost);
  if (lost.length === 0) return undefined;
  return notGrantedIn(
    lost.flatMap((id) => listed.flatMap((one, n) => (one === id ? [`location_ids.${n}`] : []))),
  );
}

/** All of them, and some of them, exclude each other. */
export function placeFaults({ body: { all_locations, location_ids }, spoil }: Write): Detail[] {
  const isUsable = !/^(all_locations|location_ids)/.test(spoil?.field ?? '');
  const isSome = Array.isArray(location_ids) && location_ids.length > 0;
  if (!isUsable || all_locations !== true || !isSome) return [];
  return [{ field: 'location_ids', code: 'value_not_allowed' }];
}

export function judgeAccess(world: World, by: Credential, write: Write): Verdict | undefined {
  const { type, id } = write;
  const noun = managedBy(type);
  if (noun === undefined) return undefined;
  const one = by.merchant[noun].get(id);
  if (one === undefined) return noun === 'people' ? invite(by, write) : makeToken(world, by, write);
  if (type === 'people.invite_again') return inviteAgain(by, one, write);
  const refusal = refusalByVersion(one, write) ?? refusalOfGrant(by, one);
  if (refusal !== undefined) return refusal;
  return noun === 'people' ? changePerson(by, one, write) : changeToken(by, one, write);
}

function refusalByVersion({ version }: Credential, { ifMatch }: Write): Verdict | undefined {
  if (ifMatch === undefined || ifMatch === version) return undefined;
  const code = 'precondition_failed';
  return rejected(412, code, [{ field: 'header.if-match', code, current_version: version }]);
}

function refusalOfGrant(by: Credential, wanted: Grant, field?: string): Verdict | undefined {
  const named = (name: string | undefined) => (name === undefined ? {} : { field: name });
  const lacking = wanted.scopes.filter((scope) => !by.scopes.includes(scope));
  if (lacking.length > 0) {
    const code = 'insufficient_scope';
    return rejected(
      403,
      code,
      lacking.map((scope) => ({ ...named(field), code, scope })),
    );
  }
  if (hasPlaces(by.locations, wanted.locations)) return undefined;
  const code = 'location_not_granted';
  return rejected(403, code, [{ ...named(field && 'all_locations'), code }]);
}

/** What is not named stays. */
function placesAsked(body: JsonObject, before: Grant['locations']): Grant['locations'] {
  if (body.all_locations === true) return 'all';
  if (Array.isArray(body.location_ids)) return [...new Set(body.location_ids as string[])].sort();
  return body.all_locations === false && before === 'all' ? [] : before;
}

const inOrder = (wanted: unknown): Scope[] =>
  allScopes.filter((scope) => (wanted as string[]).includes(scope)) as Scope[];

/** What a person is, as far as a write says it. */
type Person = Grant & { readonly name: string; readonly role: Role };

function invite(by: Credential, { body }: Write): Verdict {
  const { merchant } = by;
  const role = body.role as Role;
  const next: Person = {
    ...{ name: String(body.name), role },
    ...{ scopes: scopesOf[role] as Scope[], locations: placesAsked(body, []) },
  };
  return (
    refusalOfGrant(by, next, 'role') ??
    refusalOfName(merchant, '', next.name) ??
    done((minted) => {
      const one = { ...newCredential(merchant, minted, next), role };
      merchant.people.set(one.id, one);
      return invited(one, minted);
    })
  );
}

function inviteAgain(by: Credential, one: Credential, { body }: Write): Verdict {
  const next = revised(one, body);
  return (
    refusalOfGrant(by, one) ??
    refusalOfPerson(by, one, next, false) ??
    done((minted) => {
      set(one, next);
      end(one);
      one.revoked_at = null;
      return invited(one, minted);
    })
  );
}

function changePerson(by: Credential, one: Credential, { body }: Write): Verdict {
  const isRevoked = body.status === 'revoked';
  if (one.revoked_at !== null) return isRevoked ? kept(one) : rejected(422, 'access_ended', []);
  const next = revised(one, body);
  const before = { ...next, ...one, name: one.actor.name };
  if (!isRevoked && sorted(factsOf(next)) === sorted(factsOf(before as Person))) return kept(one);
  return (
    refusalOfPerson(by, one, next, isRevoked) ??
    done((minted) => {
      set(one, next);
      if (isRevoked) revoke(one, minted);
      return used(rowOf(one), minted.data);
    })
  );
}

const factsOf = ({ name, role, scopes, locations }: Person) => ({ name, role, scopes, locations });

function revised(one: Credential, body: JsonObject): Person {
  const role = (body.role ?? one.role) as Role;
  return {
    ...{ name: String(body.name ?? one.actor.name), role },
    scopes: role === one.role ? one.scopes : (scopesOf[role] as Scope[]),
    locations: placesAsked(body, one.locations),
  };
}

function refusalOfPerson(
  by: Credential,
  one: Credential,
  next: Person,
  isRevoked: boolean,
): Verdict | undefined {
  return (
    refusalOfGrant(by, next, 'role') ??
    (isRevoked ? undefined : refusalOfName(one.merchant, one.id, next.name)) ??
    refusalOfLastOwner(one, next, isRevoked)
  );
}

const nameKey = (name: string) => name.trim().replaceAll(/\s+/g, ' ').toLowerCase();

const working = ({ people }: Merchant) =>
  [...people.values()].filter(({ revoked_at }) => revoked_at === null);

function refusalOfName(merchant: Merchant, id: string, name: string): Verdict | undefined {
  const isTaken = working(merchant).some(
    (other) => other.id !== id && nameKey(other.actor.name) === nameKey(name),
  );
  if (!isTaken) return undefined;
  return rejected(422, 'name_taken', [{ field: 'name', code: 'name_taken' }]);
}

function refusalOfLastOwner(
  one: Credential,
  next: Person,
  isRevoked: boolean,
): Verdict | undefined {
  const was = one.role === 'owner' && one.revoked_at === null;
  if (!was || (next.role === 'owner' && !isRevoked)) return undefined;
  const isOther = working(one.merchant).some(({ id, role }) => id !== one.id && role === 'owner');
  return isOther ? undefined : rejected(422, 'last_owner', []);
}

function makeToken(world: World, by: Credential, { body }: Write): Verdict {
  const { merchant } = by;
  const scopes = inOrder(body.scopes);
  const next = { name: String(body.name), scopes, locations: placesAsked(body, []) };
  return (
    refusalOfGrant(by, next, 'scopes') ??
    done((minted) => {
      const one = newCredential(merchant, minted, next);
      merchant.tokens.set(one.id, one);
      const { token } = minted.data;
      endsIn(one, minted, Number(body.expires_in_days));
      expect(Date.parse(one.expires_at ?? '') - Date.parse(one.created_at)).toBe(
        Number(body.expires_in_days) * day,
      );
      one.last_four = String(minted.data.last_four);
      if (minted.isReplay) return used(rowOf(one), minted.data);
      // Whoever lost the answer has no token.
      expect(token).toMatch(/^tb_pat_[0-9A-Za-z]{46}$/);
      expect(String(token).slice(-4)).toBe(one.last_four);
      one.tokens = [String(token)];
      world.credentials.push(one);
      return { ...used(rowOf(one), minted.data), token: String(token) };
    })
  );
}

function changeToken(by: Credential, one: Credential, { body }: Write): Verdict {
  const isRevoked = body.status === 'revoked';
  if (one.revoked_at !== null) return isRevoked ? kept(one) : rejected(422, 'access_ended', []);
  const { scopes, expires_in_days: days } = body;
  const next = {
    name: String(body.name ?? one.actor.name),
    scopes: scopes === undefined ? one.scopes : inOrder(scopes),
    locations: placesAsked(body, one.locations),
  };
  const { actor, scopes: held, locations } = one;
  const before = { name: actor.name, scopes: held, locations };
  const isSame = !isRevoked && days === undefined && sorted(next) === sorted(before);
  if (isSame) return kept(one);
  return (
    refusalOfGrant(by, next, 'scopes') ??
    done((minted) => {
      set(one, next);
      if (days !== undefined) endsIn(one, minted, Number(days));
      if (isRevoked) revoke(one, minted);
      return used(rowOf(one), minted.data);
    })
  );
}

function newCredential(
  merchant: Merchant,
  { id, at }: Minted,
  { name, scopes, locations }: Grant & { readonly name: string },
): Credential {
  expectNow(at);
  return {
    ...{ merchant, id, actor: newActor(id, name), isIssued: false, role: null, version: 1 },
    ...{ created_at: at, revoked_at: null, expires_at: null, last_four: null },
    ...{ invitation: null, invitation_expires_at: null },
    ...{ scopes, locations, tokens: [], ended: [] },
  };
}

function set(one: Credential, next: Grant & { readonly name: string; readonly role?: Role }): void {
  one.actor.name = next.name;
  one.role = next.role ?? one.role;
  one.scopes = next.scopes;
  one.locations = next.locations;
  one.version += 1;
}

/** Whatever one has signed in with. */
function end(one: Credential): void {
  one.ended = [...one.ended, ...one.tokens];
  one.tokens = [];
  one.invitation = null;
  one.invitation_expires_at = null;
}

function revoke(one: Credential, { data }: Minted): void {
  end(one);
  expectNow(data.revoked_at);
  one.revoked_at = String(data.revoked_at);
}

/** With the invitation, which the first answer shows. */
function invited(one: Credential, { data, isReplay }: Minted): JsonObject {
  expectNow(data.invitation_expires_at, 600_000);
  one.invitation_expires_at = String(data.invitation_expires_at);
  const row = used(rowOf(one), data);
  if (isReplay) return row;
  expect(data.invitation).toMatch(/^tb_inv_[0-9A-Za-z]{46}$/);
  one.invitation = String(data.invitation);
  return { ...row, invitation: one.invitation };
}

const day = 86_400_000;

function endsIn(one: Credential, { data }: Minted, days: number): void {
  expectNow(data.expires_at, days * day);
  one.expires_at = String(data.expires_at);
}

/** A minute is more than any request takes. */
function expectNow(time: unknown, from = 0): void {
  const ago = Date.now() + from - Date.parse(String(time));
  expect(ago >= 0 && ago < 60_000, `${time} is of this moment`).toBe(true);
}

const kept = (one: Credential): Verdict => ({
  ...done(({ data }) => used(rowOf(one), data)),
  keeps: rowOf(one),
});

/** As every answer but the first shows one. */
export function rowOf(one: Credential): JsonObject {
  const { role, revoked_at, locations, scopes } = one;
  const common = {
    ...{ id: one.id, name: one.actor.name, scopes: [...scopes], version: one.version },
    all_locations: locations === 'all',
    location_ids: locations === 'all' ? [] : [...locations],
    ...{ created_at: one.created_at, revoked_at, last_used_at: null },
  };
  if (role === null) {
    return {
      ...common,
      ...{ kind: 'personal_access_token', application: null, approval_id: null, given_by: null },
      status: revoked_at === null ? 'active' : 'revoked',
      ...{ token: null, last_four: one.last_four, expires_at: one.expires_at },
    };
  }
  const live = one.invitation_expires_at === null ? 'active' : 'invited';
  return {
    ...common,
    ...{ role, status: revoked_at === null ? live : 'revoked', invitation: null },
    invitation_expires_at: one.invitation_expires_at,
  };
}

/** When one was last used is noted later, to a quarter of an hour. */
export function used(row: JsonObject, seen: JsonObject | undefined): JsonObject {
  if (!('last_used_at' in row)) return row;
  return { ...row, last_used_at: seen?.last_used_at ?? null };
}
