// The OpenAPI 3.1 document, made from the contracts alone: what is validated, answered and tested
// is what is published. A pure function, so that the committed file can be compared with it.

import { type Contract, hasPathId } from '../../contract/contract.ts';
import type { Endpoint } from '../../contract/endpoint.ts';
import { scopes } from '../../resources.ts';
import { addEnvelope, headers, sharedParameters } from './components.ts';
import { ErrorResponses } from './errors.ts';
import type { OpenApiDocument, PathItem, Schema } from './model.ts';
import { methodOf, operationOf, queryParameter, tagOf, type Workshop } from './operation.ts';
import { SchemaComponents } from './schema.ts';

/**
 * @param version of the program, such as `1.2.3`. The interface's own version is in the path.
 * @throws Error when two contracts claim one name or one route, or a resource has no description.
 */
export function openApiDocument(endpoints: readonly Endpoint[], version: string): OpenApiDocument {
  const contracts = endpoints.map((endpoint) => endpoint.contract);
  requireUniqueNames(contracts);
  const schemas = new SchemaComponents();
  const errors = new ErrorResponses();
  const resolve = (ref: string): Schema => {
    const found = schemas.all()[ref.replace('#/components/schemas/', '')];
    if (found === undefined) throw new Error(`no schema is named by ${ref}`);
    return found;
  };
  const pageMetas = contracts.flatMap((one) =>
    one.kind === 'collection' && one.meta !== undefined ? [one.meta] : [],
  );
  addEnvelope(schemas, [...new Set(pageMetas)]);
  // Every resource is there before a schema refers to one.
  for (const contract of contracts) schemas.publish(contract.data, 'out');
  const paths = pathsOf(contracts, { schemas, errors, resolve });
  return {
    openapi: '3.1.0',
    info: infoOf(version),
    servers: [
      {
        url: '/api/v1',
        description: 'Version 1, on the server that gave this document.',
        'x-internal': false,
      },
    ],
    tags: tagsOf(contracts),
    security: [{ bearer: [] }, { oauth: [] }],
    paths,
    components: {
      securitySchemes: { bearer: bearerScheme, oauth: oauthScheme },
      parameters: usedParameters(contracts, schemas),
      headers,
      responses: errors.responses(),
      schemas: schemas.all(),
      examples: errors.examples(),
    },
  };
}

/** The document as it is committed and served. */
export function documentText(document: OpenApiDocument): string {
  return `${JSON.stringify(document, undefined, 2)}\n`;
}

function pathsOf(contracts: readonly Contract[], workshop: Workshop): Record<string, PathItem> {
  const paths: Record<string, PathItem> = {};
  for (const contract of contracts) {
    const method = methodOf(contract).toLowerCase() as keyof PathItem;
    const item = paths[contract.path] ?? {};
    if (item[method] !== undefined) throw new Error(`${method} ${contract.path} is there twice`);
    paths[contract.path] = { ...item, [method]: operationOf(contract, workshop) };
  }
  return paths;
}

function requireUniqueNames(contracts: readonly Contract[]): void {
  const names = new Set<string>();
  for (const { name } of contracts) {
    if (names.has(name)) throw new Error(`two contracts are named ${name}`);
    names.add(name);
  }
}

function tagsOf(contracts: readonly Contract[]): OpenApiDocument['tags'] {
  const resources = new Map(contracts.map(({ resource }) => [resource.name, resource]));
  return [...new Set(contracts.map(tagOf))].map((name) => {
    const resource = resources.get(name);
    if (resource === undefined) throw new Error(`no resource has the paths /${name}`);
    return { name, description: resource.description };
  });
}

function usedParameters(contracts: readonly Contract[], schemas: SchemaComponents) {
  const parameters = sharedParameters(
    (name, schema) => queryParameter(name, schema as Schema, false, schemas),
    schemas,
  );
  const isUsed: Readonly<Record<string, boolean>> = {
    Id: contracts.some(hasPathId),
    KeyFilter: contracts.some((contract) => contract.kind === 'collection' && contract.keyFilter),
    IfMatch: contracts.some((contract) => methodOf(contract) === 'PATCH'),
    IfNoneMatch: contracts.some((contract) => contract.kind === 'member' && contract.etag),
  };
  return Object.fromEntries(Object.entries(parameters).filter(([name]) => isUsed[name] ?? true));
}

const bearerScheme = {
  type: 'http',
  scheme: 'bearer',
  description:
    'A personal access token (`tb_pat_…`) or an OAuth access token (`tb_oat_…`); both are ' +
    'opaque. Its scopes say what a credential may do: ' +
    `${scopes.map((one) => `\`${one}\``).join(', ')}. ` +
    'No scope implies another one. Inventory and locations also need a grant of the location.',
};

const scopeTexts = Object.fromEntries(
  scopes.map((scope) => {
    const [resource, right = ''] = scope.split('.');
    return [scope, `${right.charAt(0).toUpperCase()}${right.slice(1)} ${resource}.`];
  }),
);

const oauthScheme = {
  type: 'oauth2',
  description:
    'For applications that the operator made known. Their servers ask for tokens with their own ' +
    'secret (client credentials), or people consent (authorization code with PKCE). The ' +
    'addresses are on the server that gave this document; ' +
    '`/.well-known/oauth-authorization-server` names them all.',
  flows: {
    clientCredentials: { tokenUrl: '/oauth/token', scopes: scopeTexts },
    authorizationCode: {
      authorizationUrl: '/oauth/authorize',
      tokenUrl: '/oauth/token',
      scopes: scopeTexts,
    },
  },
};

function infoOf(version: string): OpenApiDocument['info'] {
  return {
    title: 'Tallybook',
    version,
    summary: 'Customers, products and an inventory ledger.',
    description: overview,
    license: { name: 'Apache 2.0', identifier: 'Apache-2.0' },
  };
}

const overview = `
Records of commerce over HTTP: customers, products, locations, and the quantity of each product at
each location, with every movement that led to it. [The guide](/docs/guide) begins with the first
request.

## Writes

Every write carries the header \`Idempotency-Key\`. The same key with the same request does nothing
a second time: it answers the same resource, as it is now, and the same operation (\`op_…\`),
marked \`Idempotent-Replayed: true\`. The same key with another request answers 409. After a
time-out or a 5xx, send the same request with the same key. Keys belong to the credential, the
merchant and the kind of operation, and do not expire.

Who cannot send it again may ask what became of it:
\`GET /operations?type=inventory.adjust\` with the header \`Idempotency-Key\` of the write lists its
one operation. An empty list means that it is not committed *yet*: it may still be under way, and
only the same write with the same key settles it.

## Collections

\`limit\` says how many to return, 50 unless told and at most 200. When more follows,
\`meta.next_cursor\` is there: pass it back as \`cursor\`, with the same filters. A page of large
resources ends early, after about 1 MiB: only a page without \`meta.next_cursor\` is the last. There
are no page numbers and no totals.

## Saving bytes

A member's \`ETag\` is its version: \`If-None-Match\` with it answers 304 without a body while
nothing changed. Lists of more than 1 KiB are compressed with \`Accept-Encoding: br\` or \`gzip\`.

## Errors

Every error has a stable \`error.code\`; \`error.details\` names every field that is wrong. The page
[/docs/errors](/docs/errors) explains each code. Every answer carries \`X-Request-Id\`.

## Values

IDs are opaque strings. Times are RFC 3339 in UTC. Quantities and amounts are decimal strings,
exact from end to end. New members, values and codes may be added at any time: tolerate them.
`.trim();
