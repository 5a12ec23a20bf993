// Mutants of people and tokens: who may give what, what is shown once, and what a revocation ends.

import type { Mutant } from './mutant.ts';

const managed = 'src/access/managed.ts';
const store = 'src/access/managed-store.ts';
const authentication = 'src/access/store.ts';
const ofPeople = 'src/people/decide.ts';
const ofTokens = 'src/tokens/decide.ts';
const people = ['src/people/people.test.ts'];
const tokens = ['src/tokens/tokens.test.ts'];

export const accessMutants: readonly Mutant[] = [
  {
    name: 'any-scope-given',
    breaks: 'somebody gives scopes that he does not hold',
    edits: [
      {
        file: managed,
        from: 'wanted.scopes.filter((scope) => !mayGive(scope))',
        to: 'wanted.scopes.filter(() => mayGive === undefined)',
      },
    ],
    suites: people,
  },
  {
    name: 'any-location-given',
    breaks: 'somebody gives locations that he does not have',
    edits: [
      {
        file: managed,
        from: 'if (isReached && hasLocations(granted, wanted)) return undefined;',
        to: 'if (isReached || hasLocations(granted, wanted)) return undefined;',
      },
      {
        file: managed,
        from: 'hasLocations(locationsOfRow(own), wanted));',
        to: 'true);',
      },
    ],
    suites: people,
  },
  {
    name: 'given-by-what-was-looked-up',
    breaks: 'somebody gives what was taken from him after his token was looked up',
    edits: [
      {
        file: managed,
        from: '(isLive && write.scopes.has(scope) && own.scopes.includes(scope))',
        to: 'write.scopes.has(scope)',
      },
    ],
    suites: tokens,
  },
  {
    name: 'given-by-who-is-revoked',
    breaks: 'somebody who is revoked at this moment still makes a token',
    edits: [
      {
        file: managed,
        from: 'own !== undefined && own.revoked_at === null;',
        to: 'own !== undefined;',
      },
    ],
    suites: tokens,
  },
  {
    name: 'people-with-more-changed',
    breaks: 'somebody changes a person who holds more than he',
    edits: [
      {
        file: ofPeople,
        from: 'refusalByVersion(before, ifMatch) ?? refusalOfGrant(rows, write, before);',
        to: 'refusalByVersion(before, ifMatch);',
      },
    ],
    suites: people,
  },
  {
    name: 'tokens-with-more-changed',
    breaks: 'somebody changes a token that holds more than he',
    edits: [
      {
        file: ofTokens,
        from: `refusalOfGrant(rows, write, before);
  if (refusal !== undefined) return refusal;
  const {`,
        to: `undefined;
  if (refusal !== undefined) return refusal;
  const {`,
      },
    ],
    suites: tokens,
  },
  {
    name: 'seen-without-the-locations',
    breaks: 'somebody changes a person of locations that he does not have',
    edits: [
      {
        file: managed,
        from: 'return row.id === actor.credential_id || hasLocations(granted, row);',
        to: 'return row.id === actor.credential_id || granted !== undefined;',
      },
    ],
    suites: people,
  },
  {
    name: 'token-shown-again',
    breaks: 'a replay shows the text of a token',
    edits: [
      {
        file: 'src/operations/dispatch.ts',
        from: 'const data = replayed ? shared : {',
        to: 'const data = {',
      },
    ],
    suites: tokens,
  },
  {
    name: 'another-token-shown',
    breaks: 'the token that is shown is not the one that was stored',
    edits: [
      {
        file: 'src/access/once.ts',
        from: 'if (known !== undefined) return known;',
        to: '',
      },
    ],
    suites: tokens,
  },
  {
    name: 'revoked-and-admitted',
    breaks: 'whoever is revoked is still admitted',
    edits: [
      {
        file: authentication,
        from: `where t.expires_at > now() and c.revoked_at is null and m.disabled_at is null
    and (c.invited_at`,
        to: `where t.expires_at > now() and m.disabled_at is null
    and (c.invited_at`,
      },
    ],
    suites: tokens,
  },
  {
    name: 'sessions-outlive-an-invitation',
    breaks: 'whoever is invited again stays signed in with what is lost',
    edits: [
      {
        file: authentication,
        from: 'and (c.invited_at is null or t.created_at >= c.invited_at)',
        to: '',
      },
    ],
    suites: ['src/sessions/sessions.test.ts'],
  },
  {
    name: 'last-owner-not-kept',
    breaks: 'the last owner is revoked',
    edits: [
      {
        file: ofPeople,
        from: "[...rows.values()].some(isOther) ? undefined : refuse('last_owner')",
        to: '[...rows.values()].some(isOther) ? undefined : undefined',
      },
    ],
    suites: people,
  },
  {
    name: 'people-read-without-locks',
    breaks: 'two owners revoke each other',
    edits: [{ file: store, from: ' for no key update of c`', to: '`' }],
    suites: ['src/people/races.test.ts'],
  },
  {
    name: 'names-compared-as-written',
    breaks: 'two who work there have names that look alike',
    edits: [
      {
        file: 'src/access/person-name.ts',
        from: "name.normalize('NFKC').trim().replaceAll(/\\s+/g, ' ').toLowerCase()",
        to: 'name',
      },
    ],
    suites: people,
  },
  {
    name: 'change-without-a-line',
    breaks: 'a token is made, and the audit trail does not say by whom',
    edits: [
      {
        file: 'src/tokens/endpoints.ts',
        from: "beside: (done) => auditOf(done, () => 'token.create'),",
        to: '',
      },
    ],
    suites: tokens,
  },
];
