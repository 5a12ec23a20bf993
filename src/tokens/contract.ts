// The wire shapes and endpoints of tokens.

import Type from 'typebox';
import { collection, member, write } from '../contract/contract.ts';
import {
  defaulted,
  id,
  idIn,
  nullable,
  oneOf,
  Timestamp,
  text,
  Version,
} from '../contract/schema.ts';
import { limits } from '../core/limits.ts';
import { credentialKinds } from '../core/principal.ts';
import { scopes } from '../resources.ts';
import { tokens } from './resource.ts';

const statuses = ['active', 'ended', 'revoked'] as const;

const allText = 'All locations, those to come included.';
const Name = text('name', { min: 1, max: 255 }, 'What it is called.');
const Scopes = Type.Array(oneOf(scopes, 'A scope.'), {
  minItems: 1,
  maxItems: scopes.length,
  description: 'What it may do.',
});
const All = Type.Boolean({ description: allText });
const Ids = Type.Array(idIn('loc_', 'A location.'), {
  maxItems: limits.locationsNamedMax,
  description: 'These locations.',
});
const Days = (description: string) =>
  Type.Integer({ minimum: 1, maximum: limits.tokenDaysMax, description });

const onceText =
  'The token itself. Shown by the first answer alone: null in every other one, a replay among ' +
  'them. When that answer is lost, rotate the token, or revoke it and make another.';

const Token = Type.Object(
  {
    id: id('cred_', 'Of the credential that the token leads to.'),
    kind: oneOf(credentialKinds, 'A token of a program, or what an application is allowed.'),
    name: Type.String({ description: 'What it is called.' }),
    application: nullable(
      Type.Object(
        { id: id('app_', 'Its ID.'), name: Type.String() },
        { description: 'The OAuth application that acts.' },
      ),
    ),
    approval_id: nullable(
      id('cred_', 'Of a consent: the approval that it was given under. Null: it is none.'),
    ),
    given_by: nullable(id('cred_', 'Of a consent: who gave it.')),
    scopes: Type.Array(oneOf(scopes, 'A scope.'), { description: 'What it may do.' }),
    all_locations: Type.Boolean({ description: allText }),
    location_ids: Type.Array(id('loc_', 'A location.'), {
      description: 'The granted locations; empty with all_locations.',
    }),
    status: oneOf(statuses, '`ended`: its time is over, or what it rests on has ended.'),
    token: nullable(Type.String({ pattern: '^tb_pat_', description: onceText })),
    last_four: nullable(Type.String({ description: 'The last characters of the token.' })),
    expires_at: nullable(Timestamp('When the token ends; null of what an application is allowed.')),
    last_used_at: nullable(Timestamp('When it was last used, to a quarter of an hour.')),
    version: Version,
    created_at: Timestamp('When it was made.'),
    revoked_at: nullable(Timestamp('When it was revoked.')),
  },
  { $id: 'Token', description: 'What a program or an application calls with.' },
);

export const create = write({
  resource: tokens,
  name: 'tokens.create',
  method: 'POST',
  path: '/tokens',
  summary: 'Make a token',
  description: 'Nobody gives a scope or a location that he does not hold himself.',
  scope: 'access.write',
  body: Type.Object({
    name: Name,
    scopes: Scopes,
    all_locations: Type.Optional(defaulted(All, false)),
    location_ids: Type.Optional(defaulted(Ids, [])),
    expires_in_days: Type.Optional(
      defaulted(Days('After so many days it ends.'), limits.tokenDaysDefault),
    ),
  }),
  data: Token,
  problems: ['insufficient_scope', 'location_not_granted', 'access_ended'],
});

export const update = write({
  resource: tokens,
  name: 'tokens.update',
  method: 'PATCH',
  path: '/tokens/{id}',
  summary: 'Change or revoke a token',
  description:
    'Members sent are set, from the next request on. What an application is allowed can only be ' +
    'revoked. Nobody changes what holds more than he.',
  scope: 'access.write',
  body: Type.Object({
    name: Type.Optional(Name),
    scopes: Type.Optional(Scopes),
    all_locations: Type.Optional(All),
    location_ids: Type.Optional(Ids),
    expires_in_days: Type.Optional(Days('So many days from now it ends.')),
    status: Type.Optional(oneOf(['revoked'], 'It ends for good.')),
  }),
  data: Token,
  problems: ['insufficient_scope', 'location_not_granted', 'access_ended', 'token_of_application'],
});

export const rotate = write({
  resource: tokens,
  name: 'tokens.rotate',
  method: 'POST',
  path: '/tokens/{id}/rotate',
  summary: 'Make a new token for the same credential',
  description:
    'The credential stays, with its idempotency keys. The new token is valid for as long as the ' +
    'one before it was; that one ends after the overlap. Nobody rotates what holds more than he.',
  scope: 'access.write',
  body: Type.Object({
    overlap_hours: Type.Optional(
      defaulted(
        Type.Integer({
          minimum: 0,
          maximum: limits.overlapHoursMax,
          description: 'So long the old token stays valid; 0: it ends at once.',
        }),
        limits.overlapHoursDefault,
      ),
    ),
  }),
  data: Token,
  problems: ['insufficient_scope', 'location_not_granted', 'access_ended', 'token_of_application'],
});

export const list = collection({
  resource: tokens,
  name: 'tokens.list',
  path: '/tokens',
  summary: 'List tokens',
  description:
    'Those of programs, and what applications are allowed: approvals, and consents of people. By ' +
    'ID, oldest first, those that have ended among them: all whose locations one has oneself.',
  scope: 'access.read',
  query: Type.Object({ status: Type.Optional(oneOf(statuses, 'Only with this status.')) }),
  data: Token,
  problems: [],
});

export const get = member({
  resource: tokens,
  name: 'tokens.get',
  path: '/tokens/{id}',
  summary: 'Read a token',
  description: 'Without its text, which is not kept.',
  scope: 'access.read',
  data: Token,
  // The time of the last use changes without a new version.
  etag: false,
  problems: [],
});

export type TokenWrite = typeof create | typeof update | typeof rotate;
