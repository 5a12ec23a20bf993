// Locations: their members, and their endpoints on the wire. A location is seen by those to whom it
// is granted.

import Type from 'typebox';
import { collection, member, ownIdQuery, upsertText, write } from '../contract/contract.ts';
import { anyOf, ExternalId, oneOf, text } from '../contract/schema.ts';
import { defaulted, externalId, metadata, optional, required, state } from '../records/members.ts';
import { record } from '../records/record.ts';

const types = ['other', 'store', 'warehouse'] as const;
const statuses = ['active', 'inactive'] as const;
const code = text('text', { min: 1, max: 64 }, 'A short code; unique, by case as well.');

export const locations = record({
  name: 'locations',
  noun: 'location',
  prefix: 'loc_',
  description: 'Where the merchant keeps stock. Only granted locations are visible.',
  schema: { $id: 'Location', description: 'A place where the merchant keeps products.' },
  members: {
    name: required(text('name', { min: 1, max: 255 }, 'What the location is called.'), {
      shown: 'What the location is called.',
      example: 'Berlin Mitte',
    }),
    code: optional(code, { shown: 'A short code.', example: 'BER-1', unique: 'code_taken' }),
    type: defaulted(oneOf(types, 'What kind of place.'), 'other'),
    status: state(statuses, 'Nothing is adjusted at an inactive location; it keeps its code.'),
    timezone: defaulted(text('time-zone', { max: 64 }, 'An IANA time zone.'), 'UTC', {
      shown: Type.String({ description: 'An IANA time zone.', examples: ['Europe/Berlin'] }),
      example: 'Europe/Berlin',
    }),
    external_id: externalId,
    metadata,
  },
  areFew: true,
});

export const create = write({
  resource: locations,
  name: 'locations.create',
  method: 'POST',
  path: '/locations',
  summary: 'Create a location',
  description: 'Needs a credential with a grant of all locations.',
  scope: 'locations.write',
  body: locations.createBody,
  data: locations.answer,
  needsAllLocations: true,
  problems: ['code_taken', 'external_id_taken'],
});

export const update = write({
  resource: locations,
  name: 'locations.update',
  method: 'PATCH',
  path: '/locations/{id}',
  summary: 'Change a location',
  description:
    'Members sent are set, null clears one or takes it back to its default. A change of nothing ' +
    'keeps the version.',
  scope: 'locations.write',
  body: locations.patchBody,
  data: locations.answer,
  problems: ['code_taken', 'external_id_taken'],
});

export const upsert = write({
  resource: locations,
  name: 'locations.upsert',
  method: 'PATCH',
  path: '/locations',
  summary: 'Create or change a location by your own ID',
  description: `${upsertText} Who is not granted all locations can only change a granted one.`,
  scope: 'locations.write',
  body: locations.patchBody,
  data: locations.answer,
  query: ownIdQuery,
  problems: ['code_taken', 'location_not_granted'],
});

export const list = collection({
  resource: locations,
  name: 'locations.list',
  path: '/locations',
  summary: 'List locations',
  description: 'The granted ones by ID, oldest first, of every status unless one is named.',
  scope: 'locations.read',
  query: Type.Object({
    status: Type.Optional(oneOf(statuses, 'Only with this status.')),
    code: Type.Optional(code),
    external_id: Type.Optional(anyOf(ExternalId, 'external IDs')),
  }),
  data: locations.answer,
  problems: [],
});

export const get = member({
  resource: locations,
  name: 'locations.get',
  path: '/locations/{id}',
  summary: 'Read a location',
  scope: 'locations.read',
  data: locations.answer,
  etag: true,
  problems: [],
});
