// Makes writes of people and tokens up: by few names and roles, so that names are taken, owners are
// the last, and some ask for more than they hold.

import fc from 'fast-check';
import type { JsonObject } from '../../src/contract/json.ts';
import { scopes } from '../../src/resources.ts';
import { roleNames } from '../kit/access-bodies.ts';
import type { AccessDraft, Places } from './access-drafts.ts';
import { number, plain, rarely } from './generate-stock.ts';

/** Of so few names that two often want one; written in several ways. */
const called = fc.constantFrom('Ada', ' ada', 'Grace  Hopper', 'grace hopper', 'Alan', 'Kay', 'Bo');
const role = fc.constantFrom(...roleNames);
const someScopes = fc.oneof(
  fc.subarray([...scopes], { minLength: 1 }),
  fc.constant(['access.write', 'access.read', 'products.read', 'products.write']),
);
const grants: fc.Arbitrary<Places> = fc.oneof(
  { weight: 4, arbitrary: fc.constant('keep') },
  { weight: 3, arbitrary: fc.constant('all') },
  { weight: 1, arbitrary: fc.constantFrom('none', 'both') },
  { weight: 4, arbitrary: fc.array(number, { minLength: 1, maxLength: 2 }) },
);
const ending = rarely<'revoked' | undefined>(undefined, fc.constant('revoked'), 4);
const of = (members: Readonly<Record<string, fc.Arbitrary<unknown>>>) =>
  fc.record(members, plain).map((body) => JSON.parse(JSON.stringify(body)) as JsonObject);
const maybeOf = <T>(value: fc.Arbitrary<T>) => rarely<T | undefined>(undefined, value, 2);
const days = fc.constantFrom(1, 90, 365);
const change = {
  which: fc.oneof(fc.nat(2), number),
  places: grants,
  ifMatch: rarely('none', fc.constantFrom('current', 'stale'), 5),
};

/** Writes of people and tokens. */
export const managed: fc.Arbitrary<AccessDraft> = fc.oneof(
  fc.record(
    { kind: fc.constant('invite' as const), body: of({ name: called, role }), places: grants },
    plain,
  ),
  fc.record(
    {
      ...{ kind: fc.constant('change person' as const), ...change },
      body: of({ name: maybeOf(called), role: maybeOf(role), status: ending }),
    },
    plain,
  ),
  fc.record(
    {
      ...{ kind: fc.constant('invite again' as const), ...change },
      body: of({ name: maybeOf(called), role: maybeOf(role) }),
    },
    plain,
  ),
  fc.record(
    {
      kind: fc.constant('make token' as const),
      body: of({ name: called, scopes: someScopes, expires_in_days: maybeOf(days) }),
      places: grants,
    },
    plain,
  ),
  fc.record(
    {
      ...{ kind: fc.constant('change token' as const), ...change },
      body: of({
        ...{ name: maybeOf(called), scopes: maybeOf(someScopes), status: ending },
        expires_in_days: rarely<number | undefined>(undefined, days, 3),
      }),
    },
    plain,
  ),
);
