// Checks of the answers alone: one key has one answer; no answer holds rows of another merchant; a
// revoked right is refused; no answer is unexpected.

import { type Attempt, type Ban, isBound, isDone, isSettled, type Kind } from '../history.ts';
import { byKey } from './registers.ts';
import type { Finding } from './verdict.ts';

/** While faults happen, an answer may ask to try again later, but never be 500. */
const temporary: readonly number[] = [0, 408, 429, 503, 504];

const successOf: Readonly<Record<Kind, readonly number[]>> = {
  adjust: [201],
  transfer: [201],
  count: [201],
  reserve: [201],
  release: [200],
  fulfil: [200],
  upsert: [200, 201],
  batch: [200],
  customer: [201],
  product: [201],
  change: [200],
  levels: [200],
  movement: [200],
  events: [200],
  person: [201],
  token: [201],
  revoke: [200],
  use: [200],
  ended: [],
  foreign: [],
};

/** What a write may be refused with for good, whatever is sent here being well formed. */
const refusals: Readonly<Partial<Record<Kind, readonly string[]>>> = {
  adjust: ['inventory_no_change', 'location_inactive'],
  transfer: ['insufficient_quantity'],
  // More has left since than was counted.
  count: ['validation_failed'],
  // Its time was over before it could be done.
  reserve: ['insufficient_quantity', 'validation_failed'],
  release: ['reservation_not_active'],
  fulfil: ['reservation_not_active', 'insufficient_quantity'],
};

export interface Places {
  readonly products: readonly string[];
  readonly locations: readonly string[];
  readonly crates: readonly string[];
  readonly goods: readonly string[];
  readonly booth: string;
  readonly foreign: { readonly product: string; readonly location: string };
}

export function checkAnswers(
  attempts: readonly Attempt[],
  bans: readonly Ban[],
  places: Places,
): Finding[] {
  return [
    { what: 'keys with two answers', faults: contradictions(attempts) },
    { what: 'conflicts without another request', faults: falseConflicts(attempts) },
    { what: 'rows of another merchant seen', faults: foreignRows(attempts, places) },
    { what: 'successes after a right was revoked', faults: successesDespite(attempts, bans) },
    { what: 'tokens that admit after they were revoked', faults: admittedStill(attempts) },
    { what: 'what is shown once shown again', faults: shownAgain(attempts) },
    { what: 'unexpected answers', faults: unexpected(attempts, bans) },
    { what: 'keys without an answer', faults: unanswered(attempts) },
    { what: 'external IDs of several records', faults: shared(attempts) },
  ];
}

function contradictions(attempts: readonly Attempt[]): string[] {
  return [...byKey(attempts)].flatMap(([name, own]) => {
    const settled = own.filter(isSettled);
    const bound = settled.filter(isBound);
    const bodies = new Set(bound.map(({ variant }) => variant));
    const answers = new Set(bound.map(immutable));
    const operations = new Set(settled.map(({ operation }) => operation));
    const done = bound.filter(({ isReplay }) => isReplay !== true);
    const isSound =
      answers.size <= 1 && operations.size <= 1 && bodies.size <= 1 && done.length <= 1;
    return isSound ? [] : [`${name}: ${JSON.stringify(settled)}`];
  });
}

/** What must be the same each time. The level or the record may have changed since. */
function immutable({ status, code, operation, resource, movement, moved }: Attempt): string {
  return JSON.stringify([status, code, operation, resource, movement, moved]);
}

/** 409 says that the key is bound to another body; so there is one, and this is not it. */
function falseConflicts(attempts: readonly Attempt[]): string[] {
  return [...byKey(attempts)].flatMap(([name, own]) => {
    const bound = new Set(own.filter(isBound).map(({ variant }) => variant));
    const refused = own.filter(({ status }) => status === 409);
    const isSound = refused.every(
      ({ variant, code }) =>
        code === 'idempotency_key_reused' && bound.size > 0 && !bound.has(variant),
    );
    return isSound ? [] : [`${name}: ${JSON.stringify(own.filter(isSettled))}`];
  });
}

function foreignRows(attempts: readonly Attempt[], places: Places): string[] {
  const { foreign } = places;
  const ours = new Set([
    ...[...places.products, ...places.crates, ...places.goods, ...places.locations],
    places.booth,
  ]);
  const theirs = new Set([foreign.product, foreign.location]);
  return attempts
    .filter(({ credential, kind, status, levels = [] }) => {
      if (kind === 'foreign') return status >= 200 && status < 300;
      const own = credential === 'neighbour' ? theirs : ours;
      return levels.some(({ product, location }) => !own.has(product) || !own.has(location));
    })
    .map((attempt) => JSON.stringify(attempt));
}

function successesDespite(attempts: readonly Attempt[], bans: readonly Ban[]): string[] {
  return attempts
    .filter((attempt) => isDone(attempt) && bans.some((ban) => covers(ban, attempt)))
    .map((attempt) => JSON.stringify(attempt));
}

/** Whether what was asked came within the time of a ban, by a token that it is for. */
export function covers(ban: Ban, { credential, generation, start, end }: Attempt): boolean {
  if (credential !== ban.credential || start <= ban.from) return false;
  return ban.kind === 'token' ? generation <= ban.generation : end < ban.until;
}

/** They were asked with after the revocation was answered. */
function admittedStill(attempts: readonly Attempt[]): string[] {
  return attempts
    .filter(({ kind, status }) => kind === 'ended' && status >= 200 && status < 300)
    .map((attempt) => JSON.stringify(attempt));
}

/** The text of a token, or an invitation, is in the first answer alone. */
function shownAgain(attempts: readonly Attempt[]): string[] {
  return [...byKey(attempts)].flatMap(([name, own]) => {
    const shown = own.filter(({ isShown }) => isShown === true);
    const isSound = shown.length <= 1 && shown.every(({ isReplay }) => isReplay !== true);
    return isSound ? [] : [`${name}: ${JSON.stringify(shown)}`];
  });
}

function unexpected(attempts: readonly Attempt[], bans: readonly Ban[]): string[] {
  const affected = new Set(bans.map(({ credential }) => credential));
  return attempts
    .filter(({ kind, status, code = '', credential, key }) => {
      if (temporary.includes(status)) return false;
      if (kind === 'foreign') return status !== 403 && status !== 404;
      // That they are refused is judged by itself.
      if (kind === 'ended') return status !== 401 && status !== 200;
      if (status === 401 || status === 403) return !affected.has(credential);
      if (status === 422) return refusals[kind]?.includes(code) !== true;
      // `falseConflicts` checks whether it is right.
      if (status === 409) return key === undefined;
      return !successOf[kind].includes(status) || code !== '';
    })
    .map((attempt) => JSON.stringify(attempt));
}

function unanswered(attempts: readonly Attempt[]): string[] {
  return [...byKey(attempts)].flatMap(([name, own]) => (own.some(isSettled) ? [] : [name]));
}

/** An external ID names one record, which was made once. */
function shared(attempts: readonly Attempt[]): string[] {
  const byName = new Map<string, Attempt[]>();
  for (const attempt of attempts.filter(isDone)) {
    const { named } = attempt;
    if (named !== undefined) byName.set(named, [...(byName.get(named) ?? []), attempt]);
  }
  return [...byName].flatMap(([name, own]) => {
    const records = new Set(own.map(({ resource }) => resource));
    const makers = new Set(own.filter(({ status }) => status === 201).map(({ key }) => key));
    return records.size === 1 && makers.size === 1 ? [] : [`${name}: ${JSON.stringify(own)}`];
  });
}
