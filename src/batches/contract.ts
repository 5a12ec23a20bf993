// The wire shape of a batch: what is asked for, and one result for each.

import Type from 'typebox';
import { ownIdQuery, write } from '../contract/contract.ts';
import type { JsonObject } from '../contract/json.ts';
import type { OperationType } from '../contract/resource.ts';
import { id, idIn, nullable, oneOf, Position } from '../contract/schema.ts';
import { limits } from '../core/limits.ts';
import { batches } from './resource.ts';

/** Of an own form per type, which the routes of the types say. */
const anyObject = (description: string) =>
  Type.Unsafe<JsonObject>({ type: 'object', additionalProperties: true, description });

const itemOf = (types: readonly OperationType[]) =>
  Type.Object(
    {
      type: oneOf(types, 'Which write: the `operationId` of its own route.'),
      idempotency_key: Type.String({
        minLength: limits.idempotencyKeyLengthMin,
        maxLength: limits.idempotencyKeyLengthMax,
        pattern: '^[!-~]*$',
        description: 'Its own Idempotency-Key, as the header of its own request would say it.',
      }),
      id: Type.Optional(nullable(idIn('prod_', 'The ID in the path, where its route has one.'))),
      external_id: Type.Optional(nullable(ownIdQuery.properties.external_id)),
      if_match: Type.Optional(
        nullable(
          Type.Integer({
            minimum: 1,
            maximum: 999_999_999_999_999,
            description: 'The version that If-Match would name, where its route takes one.',
          }),
        ),
      ),
      body: anyObject('The body of its own request.'),
    },
    { description: 'One write, as its own request would ask for it.' },
  );

const Result = Type.Object(
  {
    status: Type.Integer({
      minimum: 200,
      maximum: 599,
      description: 'What its own request would be answered.',
    }),
    data: Type.Optional(anyObject('What was written; absent when it was refused.')),
    error: Type.Optional(anyObject('Why it was refused, as in the answer to its own request.')),
    meta: Type.Object({
      request_id: id('req_', 'The request of the batch.'),
      operation_id: Type.Optional(id('op_', 'What its key is bound to.')),
      position: Type.Optional(Position('Its place in the journal.')),
      journal: Type.Optional(id('jrn_', 'The journal of that position.')),
      replayed: Type.Optional(
        Type.Unsafe<true>({
          type: 'boolean',
          const: true,
          description: 'Its key was used before: nothing was done this time.',
        }),
      ),
      retry_after: Type.Optional(
        Type.Integer({ minimum: 1, description: 'Seconds to wait before sending it again.' }),
      ),
    }),
  },
  { $id: 'BatchResult', description: 'The answer to one write of a batch.' },
);

/** @param types the writes that have a route. */
export const submitOf = (types: readonly OperationType[]) =>
  write({
    resource: batches,
    name: 'batches.submit',
    method: 'POST',
    path: '/batches',
    summary: 'Send many writes in one request',
    description:
      'Each is the write that its own request would be: with its own key, scope, checks and ' +
      'outcome. They are independent, in no order, and not done all or none. Any of them may be ' +
      'sent again, alone or in another batch. The Idempotency-Key of the request names the list: ' +
      'sent again, what is not done is done, and the rest is replayed. Counts as one request for ' +
      'each ten writes.',
    scope: null,
    makesNothing: true,
    bodyLimits: {
      bytes: 1024 * 1024,
      depth: limits.jsonDepthMax + 3,
      values: limits.batchValuesMax,
    },
    body: Type.Object({
      operations: Type.Array(itemOf(types), {
        minItems: 1,
        maxItems: limits.batchItemsMax,
        description: 'The writes.',
      }),
    }),
    data: Type.Object(
      {
        id: id('op_', 'That of its operation.'),
        results: Type.Array(Result, {
          description: 'One for each write, in the order of the request.',
        }),
      },
      { $id: 'Batch', description: 'What became of each write.' },
    ),
    problems: [],
  });
