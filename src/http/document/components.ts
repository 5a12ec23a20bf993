// The parts of the document that do not depend on endpoints: headers, parameters, the envelope and
// the error form.

import Type, { type TSchema } from 'typebox';
import type { PageMeta } from '../../contract/contract.ts';
import { pageQuery } from '../../contract/page.ts';
import { id, idIn, Position } from '../../contract/schema.ts';
import { limits } from '../../core/limits.ts';
import { detailKinds, problemKinds } from '../../core/problem.ts';
import { type HeaderObject, type ParameterObject, type Ref, refTo, type Schema } from './model.ts';
import type { SchemaComponents } from './schema.ts';

/** Headers of every answer. */
export const commonHeaderRefs: Readonly<Record<string, Ref>> = {
  'X-Request-Id': refTo('headers', 'RequestId'),
  RateLimit: refTo('headers', 'RateLimit'),
  'RateLimit-Policy': refTo('headers', 'RateLimitPolicy'),
};

const requestId = 'req_01k9x3v7c2e4r8t1m5n6p0q9sa';

export const headers: Readonly<Record<string, HeaderObject>> = {
  RequestId: {
    description:
      'Names this request; the same as `meta.request_id`. Quote it when asking for help.',
    required: true,
    schema: {
      type: 'string',
      pattern: '^req_',
      maxLength: limits.idLengthMax,
      examples: [requestId],
    },
  },
  RateLimit: headerOf(
    'What is left of the rate limit. Absent where no limit is set.',
    '"credential";r=980;t=12',
  ),
  RateLimitPolicy: headerOf(
    'The rate limit. Absent where no limit is set.',
    '"credential";q=6000;w=60',
  ),
  Location: {
    description: 'Path of the resource that was written.',
    required: true,
    schema: { type: 'string', format: 'uri-reference', maxLength: 255 },
  },
  ETag: {
    description: 'The version of the resource, for `If-Match`.',
    required: true,
    schema: { type: 'string', pattern: '^"[1-9][0-9]*"$', maxLength: 20, examples: ['"2"'] },
  },
  IdempotentReplayed: {
    description: 'Present when the key was used before: nothing was done this time.',
    schema: { type: 'string', const: 'true' },
  },
  RetryAfter: {
    description: 'Whole seconds to wait before sending the same request again.',
    required: true,
    schema: { type: 'string', pattern: '^[1-9][0-9]*$', maxLength: 10, examples: ['1'] },
  },
  Challenge: {
    ...headerOf('How to authenticate (RFC 6750).', 'Bearer realm="tallybook"'),
    required: true,
  },
  ScopeChallenge: headerOf(
    'The missing scope (RFC 6750), with `insufficient_scope`.',
    'Bearer realm="tallybook", error="insufficient_scope", scope="inventory.write"',
  ),
  Allow: {
    ...headerOf('The methods of this path.', 'GET, HEAD'),
    required: true,
  },
};

function headerOf(description: string, example: string): HeaderObject {
  return {
    description,
    schema: { type: 'string', pattern: '^[\\x20-\\x7e]+$', maxLength: 1024, examples: [example] },
  };
}

const keySchema: Schema = {
  type: 'string',
  minLength: limits.idempotencyKeyLengthMin,
  maxLength: limits.idempotencyKeyLengthMax,
  pattern: '^[\\x21-\\x7e]+$',
  examples: ['5f0c3f6e-2b3a-4d0e-9c1c-9a5b8f6f7d10'],
};

/** The parameters that several operations share. */
export function sharedParameters(
  queryParameter: (name: string, schema: TSchema) => ParameterObject,
  schemas: SchemaComponents,
): Readonly<Record<string, ParameterObject>> {
  const { limit, cursor } = pageQuery;
  const { description, ...pathId } = schemas.publish(idIn('prod_', 'The ID.'), 'in');
  const { examples: _, ...opaque } = pathId;
  return {
    Id: {
      name: 'id',
      in: 'path',
      description: String(description),
      required: true,
      schema: opaque,
    },
    limit: queryParameter('limit', limit),
    cursor: queryParameter('cursor', cursor),
    IdempotencyKey: {
      name: 'Idempotency-Key',
      in: 'header',
      description:
        'Names this write: 16 to 255 visible ASCII characters, one for each logical operation. ' +
        'Send the same key with every retry of it, and never with another one.',
      required: true,
      schema: keySchema,
    },
    KeyFilter: {
      name: 'Idempotency-Key',
      in: 'header',
      description: 'Only the operation of this key.',
      required: false,
      schema: keySchema,
    },
    IfNoneMatch: {
      name: 'If-None-Match',
      in: 'header',
      description: 'The ETag of what the caller has: 304 without a body while it is the same.',
      required: false,
      schema: { type: 'string', maxLength: 1024, examples: ['"2"'] },
    },
    IfMatch: {
      name: 'If-Match',
      in: 'header',
      description: 'Refuse unless the resource is at this version: its ETag, such as `"2"`.',
      required: false,
      schema: { type: 'string', pattern: '^"[1-9][0-9]{0,8}"$', maxLength: 11, examples: ['"2"'] },
    },
  };
}

/**
 * The envelope of successes and the form of errors. `pageMetas` are what some pages say beyond the
 * others, each with the name of its schema.
 */
export function addEnvelope(schemas: SchemaComponents, pageMetas: readonly PageMeta[]): void {
  const out = (schema: TSchema | Schema) => schemas.publish(schema, 'out');
  const request_id = out(id('req_', 'Names this request; the same as X-Request-Id.'));
  const operation_id = out(id('op_', 'The identity of this write, the same on a replay.'));
  const position = out(
    Position('The place of this write in the journal. Absent when it changed nothing.'),
  );
  const journal = out(id('jrn_', 'The journal that the position is of. A restore renews it.'));
  const next_cursor = {
    type: 'string',
    maxLength: limits.urlBytesMax,
    pattern: '^[A-Za-z0-9_-]+$',
    description: 'Where the next page starts. Absent when nothing follows.',
    examples: ['AXvJ2m8Qd0nYw1r5k3Zt7uPq'],
  };
  schemas.add('Meta', objectOf({ request_id }));
  schemas.add('PageMeta', objectOf({ request_id, next_cursor }, ['request_id']));
  for (const { name, members } of pageMetas) {
    const { properties, required = [] } = Type.Object(members);
    const more = Object.entries(properties).map(([member, schema]) => [member, out(schema)]);
    const all = { request_id, next_cursor, ...Object.fromEntries(more) };
    schemas.add(name, objectOf(all, ['request_id', ...required]));
  }
  schemas.add(
    'WriteMeta',
    objectOf({ request_id, operation_id, position, journal }, ['request_id', 'operation_id']),
  );
  schemas.add('ErrorMeta', objectOf({ request_id, operation_id }, ['request_id']));
  schemas.add('ErrorDetail', {
    ...objectOf(detailMembers, ['code', 'message']),
    description: 'What is wrong in one place. Some codes come with further members.',
    additionalProperties: true,
  });
  schemas.add('Error', {
    ...objectOf({ error: objectOf(errorMembers), meta: refTo('schemas', 'ErrorMeta') }),
    description: 'Every error has this form. Branch on `error.code`, and tolerate new ones.',
  });
}

const detailMembers = {
  field: {
    type: 'string',
    description: 'Where: a path such as `target_quantity`, `query.limit` or `header.if-match`.',
  },
  code: {
    type: 'string',
    enum: [...Object.keys(detailKinds), ...Object.keys(problemKinds)],
    description: 'Why it is refused; stable.',
  },
  message: { type: 'string', description: 'The same for people.' },
};

const errorMembers = {
  code: { type: 'string', enum: Object.keys(problemKinds), description: 'Stable; branch on it.' },
  message: { type: 'string', description: 'For people; it may change.' },
  retryable: {
    type: 'boolean',
    description: 'Whether the very same request, with the same key, may succeed later.',
  },
  doc_url: {
    type: 'string',
    format: 'uri-reference',
    description: 'The page that explains the code.',
  },
  details: {
    type: 'array',
    items: refTo('schemas', 'ErrorDetail'),
    description: 'Everything that is wrong, at once; may be empty.',
  },
};

function objectOf(properties: Schema, required = Object.keys(properties)): Schema {
  return { type: 'object', required, properties };
}
