// Things that are written in two places are equal: generated files and their generators, the
// document and the routes of the server, the tables of promises and the tests that prove them.

import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fileOf, generators } from '../scripts/generate.ts';
import { endpoints } from '../src/app.ts';
import type { JsonObject, JsonValue } from '../src/contract/json.ts';
import { BodyParser } from '../src/contract/parse.ts';
import { problemKinds } from '../src/core/problem.ts';
import { migrate } from '../src/database/migrate.ts';
import type { OperationObject, ResponseObject, Schema } from '../src/http/document/model.ts';
import { openApiDocument } from '../src/http/document/openapi.ts';
import { problemsByStatus } from '../src/http/document/problems.ts';
import type { Api } from '../src/http/pipeline.ts';
import { createServer } from '../src/http/server.ts';
import type { Answer } from './kit/api.ts';
import { compileExact, conforms, document, resolve } from './kit/conformance.ts';
import { createEmptyDatabase, type TestDatabase } from './kit/database.ts';

const read = (path: string): Promise<string> => readFile(fileOf(path), 'utf8');

const operations: [string, OperationObject][] = Object.entries(document.paths).flatMap(
  ([path, item]) =>
    Object.entries(item).map(([method, operation]): [string, OperationObject] => [
      `${method.toUpperCase()} ${path}`,
      operation,
    ]),
);

describe('a generated file', () => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await createEmptyDatabase();
    await migrate({ owner: db.ownerUrl, service: db.serviceUrl });
  });
  afterAll(() => db.drop());

  for (const [path, generate] of Object.entries(generators)) {
    test(`${path} is what "npm run generate" makes`, async () => {
      expect(await read(path)).toBe(await generate(db.ownerUrl));
    });
  }
});

describe('the document', () => {
  test('has exactly the routes that the server has', async () => {
    const server = createServer({
      // It is never called, because a request without a credential is refused before.
      api: {} as Api,
      endpoints,
      sites: [],
      oauthRoutes: [],
      trustedProxies: [],
      onRequest: () => undefined,
    });
    const found: string[] = [];
    for (const path of routedPaths(server.fastify.printRoutes({ commonPrefix: false }))) {
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const) {
        const { statusCode } = await server.fastify.inject({ method, url: path });
        expect([401, 405], `${method} ${path}`).toContain(statusCode);
        const template = path.replace('/api/v1', '').replaceAll(/:(\w+)/g, '{$1}');
        if (statusCode !== 405) found.push(`${method} ${template}`);
      }
    }
    await server.fastify.close();
    expect(found.sort()).toEqual(operations.map(([route]) => route).sort());
  });

  test('is the same however often and in whatever order it is made', () => {
    const again = openApiDocument(endpoints, '0.0.0');
    expect(JSON.stringify(again)).toBe(JSON.stringify(document));
    const reversed = openApiDocument([...endpoints].reverse(), '0.0.0');
    expect(reversed).toEqual({
      ...document,
      tags: expect.arrayContaining([...document.tags]),
    });
  });

  test('refuses two endpoints of one name or one route', () => {
    const [first] = endpoints;
    if (first === undefined) throw new Error('there are no endpoints');
    expect(() => openApiDocument([first, first], '0.0.0')).toThrow(first.contract.name);
    const renamed = { ...first, contract: { ...first.contract, name: 'another.name' } };
    expect(() => openApiDocument([first, renamed as typeof first], '0.0.0')).toThrow('there twice');
  });

  test('names every code somewhere, but for the one that only a retired version answers', () => {
    const named = new Set(
      endpoints.flatMap(({ contract }) => [...problemsByStatus(contract).values()].flat()),
    );
    const missing = Object.keys(problemKinds).filter((code) => !named.has(code as never));
    expect(missing).toEqual(['version_retired']);
  });

  test.each(operations)('%s has examples that are valid', (_route, operation) => {
    for (const listed of Object.values(operation.responses)) {
      const media = (resolve(listed) as ResponseObject).content?.['application/json'];
      if (media === undefined) continue;
      const validate = compileExact(media.schema);
      const examples = Object.values(media.examples ?? {}).map(
        (one) => (resolve(one) as { value: unknown }).value,
      );
      const all = media.example === undefined ? examples : [media.example, ...examples];
      expect(all.length).toBeGreaterThan(0);
      for (const example of all) {
        expect(validate(example), JSON.stringify(validate.errors)).toBe(true);
      }
    }
    const endpoint = endpoints.find(({ contract }) => contract.name === operation.operationId);
    const body = operation.requestBody?.content['application/json'];
    if (body === undefined || endpoint?.contract.kind !== 'write') return;
    // The service accepts it, and so does a client that checks by the published schema.
    expect(new BodyParser(endpoint.contract).faults(body.example as never)).toEqual([]);
    expect(compileExact(body.schema)(body.example)).toBe(true);
  });

  test('takes exactly the bodies that the service takes', () => {
    for (const { contract } of endpoints) {
      if (contract.kind !== 'write') continue;
      const operation = operations.find(([, one]) => one.operationId === contract.name)?.[1];
      const media = operation?.requestBody?.content['application/json'];
      if (media === undefined) throw new Error(`${contract.name} has no body`);
      const parser = new BodyParser(contract);
      const validate = compileExact(media.schema);
      const example = media.example as JsonObject;
      const bodies = Object.keys(example).flatMap((name) => [
        Object.fromEntries(Object.entries(example).filter(([other]) => other !== name)),
        ...oddValues.map((value) => ({ ...example, [name]: value })),
      ]);
      for (const body of [...bodies, {}, { ...example, colour: 'red' }]) {
        const faults = parser.faults(body);
        const isTaken = faults.length === 0;
        expect(validate(body), `${contract.name} ${JSON.stringify([body, faults])}`).toBe(isTaken);
      }
    }
  });

  test('names the version in its path, and no host', () => {
    expect(document.servers.map(({ url }) => url)).toEqual(['/api/v1']);
  });

  test('closes what is sent to the service and leaves open what it answers', () => {
    for (const [route, { requestBody }] of operations) {
      const schema = requestBody?.content['application/json'].schema;
      if (schema !== undefined) expect(schema.additionalProperties, route).toBe(false);
    }
    for (const [name, schema] of Object.entries(document.components.schemas)) {
      expect((schema as Schema).additionalProperties, name).not.toBe(false);
    }
  });
});

/** Values at the limits of what members may be. */
const oddValues: readonly JsonValue[] = [
  ...[null, true, 0, 1.5, -1, 1e21, [], [1], {}, { a: 'b' }, { a: null }, { a: 1 }, { '': 'x' }],
  ...[
    '',
    ' ',
    '\u00a0',
    '\ufeff',
    ' a ',
    'a\nb',
    'a\u0085b',
    'a\u007f',
    '\u0000',
    '🙂',
    'ﬁ',
    'e\u0301',
  ],
  ...['0', '-0', '-1', '01', '1.', '.5', '1e3', '1.000000', '1.000001', '0.00001', '٣', '1,5'],
  ...['9'.repeat(12), '9'.repeat(13), `0.${'0'.repeat(62)}`, `0.${'0'.repeat(63)}`],
  ...['ada@example.com', 'ada@example', 'ädä@exämple.org', 'a@b@c.de', '+4930123456', '+0', '4930'],
  ...['UTC', 'Europe/Berlin', 'Mars/Base', 'stock_count', 'active', 'store', 'x'.repeat(64)],
  ...[1, 40, 41].map((length) => ({ ['k'.repeat(length)]: 'v' })),
  ...[500, 501].map((length) => ({ k: 'v'.repeat(length) })),
  ...[50, 51, 100, 101].map((count) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, 'v'])),
  ),
  ...[65, 100, 101, 254, 255, 256, 500, 501, 2000, 2001, 5000, 5001].map((n) => '🙂'.repeat(n)),
  ...[{ code: 'kg', precision: 6 }, { code: 'Kg', precision: 1 }, { code: 'k'.repeat(17) }],
  ...[{ code: 'kg', precision: 1, x: 1 }, { amount: '1', currency: 'EUR', x: 1 }, { amount: 1 }],
];

describe('the check of every answer', () => {
  const requestId = `req_${'0'.repeat(26)}`;
  const answerOf = (status: number, body: object, more: Record<string, string> = {}): Answer => ({
    status,
    body: { meta: { request_id: requestId }, ...body },
    code: undefined,
    headers: new Headers({
      'x-request-id': requestId,
      'cache-control': 'no-store',
      'content-type': 'application/json; charset=utf-8',
      ...more,
    }),
  });
  const refusal = (code: string, more: object = {}) => ({
    error: { code, message: 'x', retryable: false, doc_url: '/x', details: [], ...more },
  });
  const levels = '/inventory/levels?location_id=x';

  test('accepts what the document promises', () => {
    conforms('GET', levels, answerOf(200, { data: [] }));
    conforms('GET', levels, answerOf(403, refusal('location_not_granted')));
    conforms('PUT', levels, answerOf(405, refusal('method_not_allowed'), { allow: 'GET, HEAD' }));
    conforms('GET', '/nothing', answerOf(404, refusal('not_found')));
  });

  test('refuses statuses, codes, members and headers that it does not promise', () => {
    const bad: [Answer, RegExp][] = [
      [answerOf(202, { data: [] }), /does not document 202/],
      [answerOf(404, refusal('not_found')), /does not document 404/],
      [answerOf(403, refusal('not_found')), /allowed values/],
      [answerOf(403, refusal('insufficient_scope', { retryable: true })), /constant/],
      [answerOf(403, refusal('insufficient_scope', { trace: 'x' })), /additional properties/],
      [answerOf(200, { data: [], total: 1 }), /additional properties/],
      [answerOf(200, { data: [{ quantity: '1' }] }), /required property/],
      [answerOf(200, { data: [], meta: { request_id: 'req_x' } }), /not X-Request-Id/],
      [answerOf(200, { data: [] }, { 'cache-control': 'private' }), /Cache-Control/],
      [answerOf(401, refusal('invalid_token')), /WWW-Authenticate is missing/],
      [
        answerOf(503, refusal('service_unavailable', { retryable: true })),
        /Retry-After is missing/,
      ],
    ];
    for (const [answer, expected] of bad) {
      expect(() => conforms('GET', levels, answer)).toThrow(expected);
    }
    expect(() => conforms('GET', '/nothing', answerOf(200, { data: [] }))).toThrow(/expected 404/);
  });
});

describe.each([
  'docs/contribute/conformance.md',
  'docs/contribute/reliability.md',
  'docs/security.md',
])('%s', (path) => {
  test('names only tests that exist', async () => {
    const text = await read(path);
    const rows = text.matchAll(/`([\w./-]+\.(?:test|prove)\.ts)` › ([^|<]+)/g);
    const missing: string[] = [];
    let count = 0;
    for (const [, file = '', title = ''] of rows) {
      count += 1;
      const source = await read(file).catch(() => '');
      const name = title.trim();
      const isThere = [`'${name}'`, `"${name}"`, `\`${name}\``].some((one) => source.includes(one));
      if (!isThere) missing.push(`${file} › ${name}`);
    }
    expect(count).toBeGreaterThan(0);
    expect(missing).toEqual([]);
  });
});

/** The paths in the framework's printed tree: four characters of indentation per level. */
function routedPaths(tree: string): string[] {
  const parents: string[] = [];
  return tree.split('\n').flatMap((line) => {
    const [, indent = '', part = ''] = /^((?:[│ ] {3})*)[├└]── (\S+)/.exec(line) ?? [];
    if (part === '') return [];
    const depth = indent.length / 4;
    parents.splice(depth, parents.length, part);
    return line.includes('(') ? [parents.join('')] : [];
  });
}
