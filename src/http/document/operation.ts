// One contract as one operation of the document: its parameters, its body, and every answer it can
// give, with each status and code.

import {
  type Contract,
  hasPathId,
  isUpsert,
  successStatus,
  type WriteContract,
} from '../../contract/contract.ts';
import { pageQuery } from '../../contract/page.ts';
import { closed } from '../../contract/parse.ts';
import { limits } from '../../core/limits.ts';
import { commonHeaderRefs } from './components.ts';
import type { ErrorResponses } from './errors.ts';
import { exampleOf, type Resolve } from './example.ts';
import {
  type Content,
  type HeaderObject,
  type OperationObject,
  type ParameterObject,
  type Ref,
  type ResponseObject,
  refTo,
  type Schema,
} from './model.ts';
import { problemsByStatus } from './problems.ts';
import type { SchemaComponents } from './schema.ts';

/** What an operation is made with: the components that it shares with the others. */
export interface Workshop {
  readonly schemas: SchemaComponents;
  readonly errors: ErrorResponses;
  readonly resolve: Resolve;
}

export const methodOf = (contract: Contract) =>
  contract.kind === 'write' ? contract.method : 'GET';

/** The first segment of the path: it names the resource. */
export const tagOf = (contract: Contract): string => contract.path.split('/')[1] ?? '';

export function operationOf(contract: Contract, workshop: Workshop): OperationObject {
  return {
    operationId: contract.name,
    tags: [tagOf(contract)],
    summary: contract.summary,
    description: descriptionOf(contract),
    security: ['bearer', 'oauth'].map((scheme) => ({
      [scheme]: contract.scope === null ? [] : [contract.scope],
    })),
    parameters: parametersOf(contract, workshop.schemas),
    ...(contract.kind === 'write' ? { requestBody: requestBodyOf(contract, workshop) } : {}),
    responses: {
      [successStatus(contract)]: successOf(contract, successStatus(contract), workshop),
      ...(isUpsert(contract) ? { 201: successOf(contract, 201, workshop) } : {}),
      ...(contract.kind === 'member' && contract.etag ? { 304: notModified } : {}),
      ...errorsOf(contract, workshop),
    },
  };
}

function descriptionOf(contract: Contract): string {
  const rights =
    contract.scope === null
      ? 'Any valid credential may ask.'
      : `Requires the scope \`${contract.scope}\`.`;
  const sentences = [contract.description ?? `${contract.summary}.`, rights];
  if (contract.kind === 'write' && contract.needsAllLocations === true) {
    sentences.push('The credential must be granted all locations.');
  }
  if (contract.kind === 'write' && contract.bodyLimits !== undefined) {
    sentences.push(`The body may have ${contract.bodyLimits.bytes / 1024} KiB.`);
  }
  return sentences.join(' ');
}

function parametersOf(contract: Contract, schemas: SchemaComponents): (ParameterObject | Ref)[] {
  const parameters: (ParameterObject | Ref)[] = [];
  if (hasPathId(contract)) parameters.push(refTo('parameters', 'Id'));
  const query = contract.kind === 'member' ? undefined : contract.query;
  const required = new Set<string>(query?.required ?? []);
  for (const [name, schema] of Object.entries(query?.properties ?? {})) {
    parameters.push(queryParameter(name, schema as Schema, required.has(name), schemas));
  }
  if (contract.kind === 'collection') {
    parameters.push(...Object.keys(pageQuery).map((name) => refTo('parameters', name)));
    if (contract.keyFilter === true) parameters.push(refTo('parameters', 'KeyFilter'));
  }
  if (contract.kind === 'member' && contract.etag) {
    parameters.push(refTo('parameters', 'IfNoneMatch'));
  }
  if (contract.kind === 'write') {
    parameters.push(refTo('parameters', 'IdempotencyKey'));
    if (contract.method === 'PATCH' && !isUpsert(contract)) {
      parameters.push(refTo('parameters', 'IfMatch'));
    }
  }
  return parameters;
}

export function queryParameter(
  name: string,
  schema: Schema,
  required: boolean,
  schemas: SchemaComponents,
): ParameterObject {
  const { description, ...form } = schemas.publish(schema, 'in');
  return {
    name,
    in: 'query',
    description: String(description ?? ''),
    required,
    ...(form.type === 'array' ? { style: 'form', explode: true } : {}),
    schema: form,
  };
}

function requestBodyOf(contract: WriteContract, { schemas, resolve }: Workshop) {
  const schema = schemas.publish(closed(contract.body), 'in');
  const example = exampleOf(schema, resolve, contract.resource.example);
  const content: Content = { 'application/json': { schema, example } };
  return { required: true, content } as const;
}

const metaNames = { member: 'Meta', collection: 'PageMeta', write: 'WriteMeta' } as const;

function successOf(
  contract: Contract,
  status: 200 | 201,
  { schemas, resolve }: Workshop,
): ResponseObject {
  const one = schemas.publish(contract.data, 'out');
  const data =
    contract.kind === 'collection'
      ? { type: 'array', items: one, maxItems: limits.pageSizeMax }
      : one;
  const own = contract.kind === 'collection' ? contract.meta?.name : undefined;
  const schema = {
    type: 'object',
    required: ['data', 'meta'],
    properties: { data, meta: refTo('schemas', own ?? metaNames[contract.kind]) },
  };
  const example = exampleOf(schema, resolve, contract.resource.example);
  return {
    description: successText(contract),
    headers: successHeaders(contract, status),
    content: { 'application/json': { schema, example } },
  };
}

function successText(contract: Contract): string {
  if (contract.kind === 'collection') return 'One page.';
  if (contract.kind === 'member') return 'The resource.';
  return 'What was written, as it is now. A replay answers the same status and operation.';
}

function successHeaders(contract: Contract, status: 200 | 201): Record<string, HeaderObject | Ref> {
  return {
    ...commonHeaderRefs,
    ...(status === 201 ? { Location: refTo('headers', 'Location') } : {}),
    ...(hasTag(contract) ? { ETag: refTo('headers', 'ETag') } : {}),
    ...(contract.kind === 'write'
      ? { 'Idempotent-Replayed': refTo('headers', 'IdempotentReplayed') }
      : {}),
  };
}

function hasTag(contract: Contract): boolean {
  if (contract.kind === 'write') return Object.hasOwn(propertiesOf(contract), 'version');
  return contract.kind === 'member' && contract.etag;
}

const notModified: ResponseObject = {
  description: 'The resource is still at the version that `If-None-Match` names. There is no body.',
  headers: { ...commonHeaderRefs, ETag: refTo('headers', 'ETag') },
};

function propertiesOf(contract: Contract): object {
  return ((contract.data as Schema).properties ?? {}) as object;
}

function errorsOf(contract: Contract, { errors }: Workshop) {
  const isWrite = contract.kind === 'write';
  return Object.fromEntries(
    [...problemsByStatus(contract)].map(([status, codes]) => [
      status,
      errors.answer(status, codes, isWrite),
    ]),
  );
}
