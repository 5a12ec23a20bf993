// The wire shapes and endpoints of people.

import Type from 'typebox';
import { roles, scopesOfRole } from '../access/roles.ts';
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
import { scopes } from '../resources.ts';
import { people } from './resource.ts';

const statuses = ['invited', 'active', 'revoked'] as const;

const presets = roles
  .map((role) => `\`${role}\`: ${role === 'owner' ? 'every scope' : scopesOfRole(role).join(', ')}`)
  .join('; ');

const Role = oneOf(roles, `What the person may do. ${presets}.`);
const Name = text('name', { min: 1, max: 255 }, 'No two people of the merchant have the same.');
const allText = 'All locations, those to come included.';
const All = Type.Boolean({ description: allText });
const Ids = Type.Array(idIn('loc_', 'A location.'), {
  maxItems: limits.locationsNamedMax,
  description: 'These locations.',
});

const onceText =
  'What the person opens the console with, at `/console/invitation#…`, once and for ten minutes. ' +
  'Shown by the first answer alone: null in every other one, a replay among them.';

const Person = Type.Object(
  {
    id: id('cred_', 'Stays the same when the person is invited again.'),
    name: Type.String({ description: 'What the person is called.' }),
    role: oneOf(roles, 'What the person may do.'),
    scopes: Type.Array(oneOf(scopes, 'A scope.'), { description: 'Those of the role.' }),
    all_locations: Type.Boolean({ description: allText }),
    location_ids: Type.Array(id('loc_', 'A location.'), {
      description: 'The granted locations; empty with all_locations.',
    }),
    status: oneOf(statuses, '`invited`: who has not signed in since the last invitation.'),
    invitation: nullable(Type.String({ pattern: '^tb_inv_', description: onceText })),
    invitation_expires_at: nullable(
      Timestamp('Until when the invitation can be used; null: it was.'),
    ),
    last_used_at: nullable(
      Timestamp('When the person last did something, to a quarter of an hour.'),
    ),
    version: Version,
    created_at: Timestamp('When the person was first invited.'),
    revoked_at: nullable(Timestamp('When the person was revoked.')),
  },
  { $id: 'Person', description: 'Somebody who works at the merchant.' },
);

export const invite = write({
  resource: people,
  name: 'people.invite',
  method: 'POST',
  path: '/people',
  summary: 'Invite a person',
  description: 'Nobody gives a scope or a location that he does not hold himself.',
  scope: 'access.write',
  body: Type.Object({
    name: Name,
    role: Role,
    all_locations: Type.Optional(defaulted(All, false)),
    location_ids: Type.Optional(defaulted(Ids, [])),
  }),
  data: Person,
  problems: ['insufficient_scope', 'location_not_granted', 'name_taken'],
});

export const update = write({
  resource: people,
  name: 'people.update',
  method: 'PATCH',
  path: '/people/{id}',
  summary: 'Change or revoke a person',
  description:
    'Members sent are set. The status `revoked` ends whatever the person is signed in with, from ' +
    'the next request on. Nobody changes who holds more than he, and the last owner stays one.',
  scope: 'access.write',
  body: Type.Object({
    name: Type.Optional(Name),
    role: Type.Optional(Role),
    all_locations: Type.Optional(All),
    location_ids: Type.Optional(Ids),
    status: Type.Optional(oneOf(['revoked'], 'Only an invitation makes a person active again.')),
  }),
  data: Person,
  problems: [
    ...(['insufficient_scope', 'location_not_granted', 'name_taken', 'last_owner'] as const),
    'access_ended',
  ],
});

export const inviteAgain = write({
  resource: people,
  name: 'people.invite_again',
  method: 'POST',
  path: '/people/{id}/invite',
  summary: 'Invite a person again',
  description:
    'After a lost device, or who was revoked: it is the same person, with the same idempotency ' +
    'keys. What they signed in with before ends. What is not sent stays as it was.',
  scope: 'access.write',
  body: Type.Object({
    name: Type.Optional(nullable(Name)),
    role: Type.Optional(nullable(Role)),
    all_locations: Type.Optional(nullable(All)),
    location_ids: Type.Optional(nullable(Ids)),
  }),
  data: Person,
  problems: ['insufficient_scope', 'location_not_granted', 'name_taken', 'last_owner'],
});

export const list = collection({
  resource: people,
  name: 'people.list',
  path: '/people',
  summary: 'List people',
  description:
    'By ID, oldest first, those who are revoked among them: all whose locations one has oneself.',
  scope: 'access.read',
  query: Type.Object({ status: Type.Optional(oneOf(statuses, 'Only with this status.')) }),
  data: Person,
  problems: [],
});

export const get = member({
  resource: people,
  name: 'people.get',
  path: '/people/{id}',
  summary: 'Read a person',
  scope: 'access.read',
  data: Person,
  // The time of the last use changes without a new version.
  etag: false,
  problems: [],
});

export type PersonWrite = typeof invite | typeof update | typeof inviteAgain;
