// What the answers themselves tell: one key, one answer; nobody sees another shop's; what was taken
// away is refused; nothing but what may come comes.

import { type Attempt, type Ban, isBound, isSettled } from '../history.ts';
import { byKey } from './registers.ts';
import type { Finding } from './verdict.ts';

/** While things break, a caller may be told to come back; never that the service is at a loss. */
const expected: readonly number[] = [0, 201, 409, 422, 408, 429, 503, 504];

export interface Places {
  readonly products: readonly string[];
  readonly locations: readonly string[];
  readonly foreign: { readonly product: string; readonly location: string };
}

export function judgeAnswers(
  attempts: readonly Attempt[],
  bans: readonly Ban[],
  places: Places,
): Finding[] {
  return [
    { what: 'keys with two answers', faults: contradictions(attempts) },
    { what: 'rows of another merchant seen', faults: foreignRows(attempts, places) },
    { what: 'successes after a right was taken', faults: successesInSpiteOf(attempts, bans) },
    { what: 'unexpected answers', faults: unexpected(attempts, bans) },
    { what: 'keys without an answer', faults: unanswered(attempts) },
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

/** What must be the same each time. The level may have changed since. */
function immutable({ status, code, operation, resource, movement }: Attempt): string {
  return JSON.stringify([status, code, operation, resource, movement]);
}

function foreignRows(attempts: readonly Attempt[], places: Places): string[] {
  const { foreign } = places;
  const ours = new Set([...places.products, ...places.locations]);
  const theirs = new Set([foreign.product, foreign.location]);
  return attempts
    .filter(({ credential, kind, status, levels = [] }) => {
      if (kind === 'foreign') return status === 200;
      const own = credential === 'neighbour' ? theirs : ours;
      return levels.some(({ product, location }) => !own.has(product) || !own.has(location));
    })
    .map((attempt) => JSON.stringify(attempt));
}

function successesInSpiteOf(attempts: readonly Attempt[], bans: readonly Ban[]): string[] {
  return attempts
    .filter((attempt) => attempt.status === 201 && bans.some((ban) => covers(ban, attempt)))
    .map((attempt) => JSON.stringify(attempt));
}

function covers(ban: Ban, { credential, generation, start, end }: Attempt): boolean {
  if (credential !== ban.credential || start <= ban.from) return false;
  return ban.kind === 'token' ? generation <= ban.generation : end < ban.until;
}

function unexpected(attempts: readonly Attempt[], bans: readonly Ban[]): string[] {
  const shaken = new Set(bans.map(({ credential }) => credential));
  return attempts
    .filter(({ kind, status, code, credential }) => {
      if (expected.includes(status)) return status === 422 && code !== 'inventory_no_change';
      if (kind === 'foreign') return status !== 403 && status !== 404;
      if (status === 401 || status === 403) return !shaken.has(credential);
      return status !== 200;
    })
    .map((attempt) => JSON.stringify(attempt));
}

function unanswered(attempts: readonly Attempt[]): string[] {
  return [...byKey(attempts)].flatMap(([name, own]) => (own.some(isSettled) ? [] : [name]));
}
