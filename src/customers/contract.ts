// The wire shape and endpoints of customers.

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
  SearchWords,
  Timestamp,
  text,
  Version,
} from '../core/schema.ts';

const statuses = ['active', 'archived'] as const;

/** What a member is on a create without it, and after a PATCH with null. */
export const defaults = { metadata: {} };

const name = text('name', { min: 1, max: 255 }, 'The name.');
const email = text('email', { max: 254 }, 'An e-mail address. Several customers may share one.');
const phone = text('phone', { max: 16 }, 'A telephone number in E.164 form.');
const note = text('text', { max: 2000 }, 'A note of your own.');
const status = oneOf(statuses, 'Archived customers stay readable and keep their external ID.');

const Customer = Type.Object(
  {
    id: id('customer', 'Its ID.'),
    name: Type.String({ description: 'The name.' }),
    email: Type.String({ description: 'The e-mail address, as it was sent.' }),
    phone: nullable(Type.String({ description: 'The telephone number in E.164 form.' })),
    external_id: nullable(Type.String({ description: "The ID in the caller's own system." })),
    note: nullable(Type.String({ description: 'A note.' })),
    metadata: Metadata,
    status,
    version: Version,
    created_at: Timestamp('When it was created.'),
    updated_at: Timestamp('When it last changed.'),
  },
  { $id: 'Customer', description: 'Somebody the merchant sells to.' },
);

export const createCustomer = write({
  name: 'customers.create',
  method: 'POST',
  path: '/customers',
  summary: 'Create a customer',
  scope: 'customers.write',
  body: Type.Object({
    name,
    email,
    phone: Type.Optional(nullable(phone)),
    external_id: Type.Optional(nullable(ExternalId)),
    note: Type.Optional(nullable(note)),
    metadata: Type.Optional(defaulted(Metadata, defaults.metadata)),
  }),
  data: Customer,
  memberPath: '/customers/{id}',
  resourceType: 'customer',
  problems: ['external_id_taken', 'resource_erased'],
});

export const updateCustomer = write({
  name: 'customers.update',
  method: 'PATCH',
  path: '/customers/{id}',
  summary: 'Change a customer',
  description: 'Members sent are set, null clears one. A change of nothing keeps the version.',
  scope: 'customers.write',
  body: Type.Object({
    name: Type.Optional(name),
    email: Type.Optional(email),
    phone: Type.Optional(nullable(phone)),
    external_id: Type.Optional(nullable(ExternalId)),
    note: Type.Optional(nullable(note)),
    metadata: Type.Optional(nullable(MetadataPatch)),
    status: Type.Optional(status),
  }),
  data: Customer,
  memberPath: '/customers/{id}',
  resourceType: 'customer',
  problems: ['external_id_taken', 'resource_erased'],
});

export const listCustomers = collection({
  name: 'customers.list',
  path: '/customers',
  summary: 'List customers',
  description: 'By ID, oldest first, of every status unless one is named.',
  scope: 'customers.read',
  query: Type.Object({
    email: Type.Optional(
      text('email', { max: 254 }, 'Only with this address. The case of its domain is ignored.'),
    ),
    external_id: Type.Optional(ExternalId),
    status: Type.Optional(oneOf(statuses, 'Only with this status.')),
    updated_after: Type.Optional(Timestamp('Only changed at or after this.')),
    q: Type.Optional(SearchWords('name or e-mail address')),
  }),
  data: Customer,
  problems: [],
});

export const getCustomer = member({
  name: 'customers.get',
  path: '/customers/{id}',
  summary: 'Read a customer',
  scope: 'customers.read',
  data: Customer,
  etag: true,
  problems: ['resource_erased'],
});
