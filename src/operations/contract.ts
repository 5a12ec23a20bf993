// The wire shape and endpoints of operations: what became of each write. Everyone sees their own.

import Type from 'typebox';
import { collection, member } from '../contract/contract.ts';
import { ActorOut, id, idIn, nullable, oneOf, Position, Timestamp } from '../contract/schema.ts';
import { operationTypes, resources } from '../resources.ts';
import { operations } from './resource.ts';

const statuses = ['succeeded', 'rejected'] as const;
const written = resources.filter(({ operationTypes: { length } }) => length > 0);

const type = oneOf(operationTypes, 'Which write.');
const status = oneOf(statuses, 'What became of it. Either is final.');

/** Details vary with the code, so their further members are not listed. */
const Details = Type.Unsafe<readonly object[]>({
  type: 'array',
  items: { type: 'object', additionalProperties: true },
  description: 'The details of that answer.',
});

const Operation = Type.Object(
  {
    id: id('op_', 'Its ID, as meta.operation_id gave it.'),
    type,
    status,
    resource: nullable(
      Type.Object(
        {
          type: oneOf(
            written.map(({ noun }) => noun),
            'What kind of resource.',
          ),
          id: Type.String({
            description: 'Its ID.',
            examples: ['cus_01k9x3v7c2e4r8t1m5n6p0q9sa'],
          }),
        },
        { description: 'What it wrote; null when it was rejected.' },
      ),
    ),
    error: nullable(
      Type.Object(
        { code: Type.String({ description: 'The code it was answered with.' }), details: Details },
        { description: 'Why it was rejected; null when it succeeded.' },
      ),
    ),
    location_id: nullable(id('loc_', 'The location that its body named.')),
    position: nullable(Position('Its place in the journal; null when it changed nothing.')),
    credential_id: id('cred_', 'Who asked for it.'),
    actor: ActorOut('The same, by name.'),
    request_id: id('req_', 'The request that performed it.'),
    created_at: Timestamp('When it was performed.'),
  },
  { $id: 'Operation', description: 'One write, performed or refused once and for all.' },
);

export const listOperations = collection({
  resource: operations,
  name: 'operations.list',
  path: '/operations',
  summary: 'List operations',
  description:
    "Newest first: one's own; with operations.read also the merchant's others whose resource the " +
    'credential may read. With the Idempotency-Key header of a write and its type, that write ' +
    "alone, or none when it has not committed yet: one's own, or that of the credential which " +
    '`credential_id` names. With the header and no type, all of these that had the key, of the ' +
    'credential named or of any: to find what somebody has only the key of.',
  scope: null,
  query: Type.Object({
    type: Type.Optional(oneOf(operationTypes, 'Only of this type.')),
    status: Type.Optional(oneOf(statuses, 'Only with this status.')),
    request_id: Type.Optional(idIn('req_', 'Only what this request performed.')),
    credential_id: Type.Optional(idIn('cred_', 'Only what this credential asked for.')),
  }),
  data: Operation,
  keyFilter: true,
  problems: [],
});

export const getOperation = member({
  resource: operations,
  name: 'operations.get',
  path: '/operations/{id}',
  summary: 'Read an operation',
  description:
    "One's own; with operations.read also another one of the merchant's whose resource the " +
    'credential may read.',
  scope: null,
  data: Operation,
  etag: false,
  problems: [],
});
