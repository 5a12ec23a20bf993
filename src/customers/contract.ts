// Customers: their members, and their endpoints on the wire.

import Type from 'typebox';
import { collection, member, ownIdQuery, upsertText, write } from '../contract/contract.ts';
import { searchText } from '../contract/format.ts';
import {
  anyOf,
  ExternalId,
  id,
  nullable,
  oneOf,
  SearchWords,
  Timestamp,
  text,
} from '../contract/schema.ts';
import { externalId, metadata, optional, required, state } from '../records/members.ts';
import { record } from '../records/record.ts';

const statuses = ['active', 'archived'] as const;

export const customers = record({
  name: 'customers',
  noun: 'customer',
  prefix: 'cus_',
  description: 'Whom the merchant sells to.',
  schema: { $id: 'Customer', description: 'Somebody the merchant sells to.' },
  members: {
    name: required(text('name', { min: 1, max: 255 }, 'What the customer is called.'), {
      shown: 'What the customer is called.',
      example: 'Ada Lovelace',
    }),
    email: required(
      text('email', { max: 254 }, 'An e-mail address. Several customers may share one.'),
      { shown: 'The e-mail address, as it was sent.', example: 'ada@example.com' },
    ),
    phone: optional(text('phone', { max: 16 }, 'A telephone number in E.164 form.'), {
      shown: 'The telephone number in E.164 form.',
      example: '+4930123456',
    }),
    external_id: externalId,
    note: optional(
      text('text', { max: 2000 }, 'What the staff should know; the customer does not see it.'),
      {
        shown: 'What the staff should know.',
        example: 'Counted twice.',
        isLarge: true,
      },
    ),
    metadata,
    status: state(statuses, 'Archived customers stay readable and keep their external ID.'),
  },
  computed: {
    search: ({ name, email }) => searchText(name, email),
    email_key: ({ email }) => emailKey(email),
  },
  comparisons: { email: { column: 'email_key', keyOf: emailKey } },
  hidden: ['erased_at'],
  commands: { 'customers.erase': 'customer.erased' },
});

/** Addresses are the same whatever the case of their domains; local parts are their host's. */
function emailKey(email: string): string {
  const at = email.indexOf('@') + 1;
  return email.slice(0, at) + email.slice(at).toLowerCase();
}

export const create = write({
  resource: customers,
  name: 'customers.create',
  method: 'POST',
  path: '/customers',
  summary: 'Create a customer',
  scope: 'customers.write',
  body: customers.createBody,
  data: customers.answer,
  problems: ['external_id_taken', 'resource_erased'],
});

export const update = write({
  resource: customers,
  name: 'customers.update',
  method: 'PATCH',
  path: '/customers/{id}',
  summary: 'Change a customer',
  description: 'Members sent are set, null clears one. A change of nothing keeps the version.',
  scope: 'customers.write',
  body: customers.patchBody,
  data: customers.answer,
  problems: ['external_id_taken', 'resource_erased'],
});

export const upsert = write({
  resource: customers,
  name: 'customers.upsert',
  method: 'PATCH',
  path: '/customers',
  summary: 'Create or change a customer by your own ID',
  description: `${upsertText} One that was erased has no ID of yours any more: it is created anew.`,
  scope: 'customers.write',
  body: customers.patchBody,
  data: customers.answer,
  query: ownIdQuery,
  problems: ['resource_erased'],
});

/** Only the operator's: no route serves it. */
export const erase = write({
  resource: customers,
  name: 'customers.erase',
  method: 'PATCH',
  path: '/customers/{id}',
  summary: 'Erase a customer',
  scope: 'customers.write',
  body: Type.Object({}),
  data: Type.Object({
    id: id('cus_', 'Its ID.'),
    erased_at: nullable(Timestamp('When it was erased.')),
  }),
  problems: [],
});

export const list = collection({
  resource: customers,
  name: 'customers.list',
  path: '/customers',
  summary: 'List customers',
  description:
    'By ID, oldest first, of every status unless one is named. An erased customer is in no list: ' +
    'whoever keeps copies and polls with `updated_after` also reads ' +
    '`GET /operations?type=customers.erase` (scope `operations.read`).',
  scope: 'customers.read',
  query: Type.Object({
    email: Type.Optional(
      text('email', { max: 254 }, 'Only with this address. The case of its domain is ignored.'),
    ),
    external_id: Type.Optional(anyOf(ExternalId, 'external IDs')),
    status: Type.Optional(oneOf(statuses, 'Only with this status.')),
    updated_after: Type.Optional(Timestamp('Only changed at or after this.')),
    q: Type.Optional(SearchWords('name or e-mail address')),
  }),
  data: customers.answer,
  problems: [],
});

export const get = member({
  resource: customers,
  name: 'customers.get',
  path: '/customers/{id}',
  summary: 'Read a customer',
  scope: 'customers.read',
  data: customers.answer,
  etag: true,
  problems: ['resource_erased'],
});
