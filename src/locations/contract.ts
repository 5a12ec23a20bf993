// The wire shape and endpoints of locations. A location is seen by whom it is granted to.

import Type from 'typebox';
import { collection, member, write } from '../core/contract.ts';
import {
  defaulted,
  ExternalId,
  id,
  Metadata,
  MetadataPatch,
  nullable,
  oneOf,
  Timestamp,
  text,
  Version,
} from '../core/schema.ts';

const types = ['other', 'store', 'warehouse'] as const;
const statuses = ['active', 'inactive'] as const;

/** What a member is on a create without it, and after a PATCH with null. */
export const defaults = { type: 'other', timezone: 'UTC', metadata: {} } as const;

const name = text('name', { min: 1, max: 255 }, 'The name.');
const code = text('text', { min: 1, max: 64 }, 'A short code; unique, by case as well.');
const type = oneOf(types, 'What kind of place.');
const status = oneOf(statuses, 'Nothing is adjusted at an inactive location; it keeps its code.');
const timezone = text('time-zone', { max: 64 }, 'An IANA time zone.');

const Location = Type.Object(
  {
    id: id('location', 'Its ID.'),
    name: Type.String({ description: 'The name.' }),
    code: nullable(Type.String({ description: 'A short code.' })),
    type,
    status,
    timezone: Type.String({ description: 'An IANA time zone.', examples: ['Europe/Berlin'] }),
    external_id: nullable(Type.String({ description: "The ID in the caller's own system." })),
    metadata: Metadata,
    version: Version,
    created_at: Timestamp('When it was created.'),
    updated_at: Timestamp('When it last changed.'),
  },
  { $id: 'Location', description: 'A place where the merchant keeps products.' },
);

export const createLocation = write({
  name: 'locations.create',
  method: 'POST',
  path: '/locations',
  summary: 'Create a location',
  description: 'Needs a credential with a grant of all locations.',
  scope: 'locations.write',
  body: Type.Object({
    name,
    code: Type.Optional(nullable(code)),
    type: Type.Optional(defaulted(type, defaults.type)),
    timezone: Type.Optional(defaulted(timezone, defaults.timezone)),
    external_id: Type.Optional(nullable(ExternalId)),
    metadata: Type.Optional(defaulted(Metadata, defaults.metadata)),
  }),
  data: Location,
  memberPath: '/locations/{id}',
  needsAllLocations: true,
  resourceType: 'location',
  problems: ['code_taken', 'external_id_taken'],
});

export const updateLocation = write({
  name: 'locations.update',
  method: 'PATCH',
  path: '/locations/{id}',
  summary: 'Change a location',
  description:
    'Members sent are set, null clears one or takes it back to its default. A change of nothing ' +
    'keeps the version.',
  scope: 'locations.write',
  body: Type.Object({
    name: Type.Optional(name),
    code: Type.Optional(nullable(code)),
    type: Type.Optional(nullable(type)),
    status: Type.Optional(status),
    timezone: Type.Optional(nullable(timezone)),
    external_id: Type.Optional(nullable(ExternalId)),
    metadata: Type.Optional(nullable(MetadataPatch)),
  }),
  data: Location,
  memberPath: '/locations/{id}',
  resourceType: 'location',
  problems: ['code_taken', 'external_id_taken'],
});

export const listLocations = collection({
  name: 'locations.list',
  path: '/locations',
  summary: 'List locations',
  description: 'The granted ones by ID, oldest first, of every status unless one is named.',
  scope: 'locations.read',
  query: Type.Object({
    status: Type.Optional(oneOf(statuses, 'Only with this status.')),
    code: Type.Optional(code),
  }),
  data: Location,
  problems: [],
});

export const getLocation = member({
  name: 'locations.get',
  path: '/locations/{id}',
  summary: 'Read a location',
  scope: 'locations.read',
  data: Location,
  etag: true,
  problems: [],
});
