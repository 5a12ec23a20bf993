// The yardsticks of reads, each a process of its own. `route`: Fastify, one route that answers a
// constant, the service's request ID and line in the log. `list`: `node:http` and `pg`, which send
// the bytes of the service's own answer, by its own statement and presenter, without
// authentication, limits, fairness, log or metrics.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fastify } from 'fastify';
import pg from 'pg';
import { mintId } from '../src/core/id.ts';
import type { Reader, Statement } from '../src/core/statement.ts';
import { readConnections } from '../src/database/server-connections.ts';
import { createLog, LogWriter, logRequest } from '../src/log.ts';
import { type PageQuestion, runList } from './statements.ts';

interface ListTask {
  readonly kind: 'list';
  /** Of the database, as the role of the service. */
  readonly url: string;
  readonly page: PageQuestion;
  /** What the service answers to the same question. */
  readonly answer: string;
}

export type BareTask = { readonly kind: 'route'; readonly answer: string } | ListTask;

const jsonType = 'application/json; charset=utf-8';

async function serveRoute(answer: string): Promise<string> {
  const log = createLog('info', LogWriter.toStandardError());
  const app = fastify({ logger: false, genReqId: () => mintId('req_') });
  app.decorateRequest('startedAt', 0);
  app.addHook('onRequest', async (request, reply) => {
    request.startedAt = performance.now();
    void reply.header('X-Request-Id', request.id);
  });
  app.addHook('onResponse', async (request, reply) => {
    logRequest(log, {
      requestId: request.id,
      method: request.method,
      route: request.routeOptions.url ?? 'unknown',
      status: reply.statusCode,
      seconds: (performance.now() - request.startedAt) / 1_000,
      merchantId: undefined,
      credentialId: undefined,
      address: undefined,
      replayed: false,
      problem: undefined,
      itemProblems: [],
      oauthError: undefined,
      applicationId: undefined,
    });
  });
  app.get('/api/v1/products/:id', async (_request, reply) => reply.type(jsonType).send(answer));
  return app.listen({ host: '127.0.0.1', port: 0 });
}

async function serveList({ url, page, answer }: ListTask): Promise<string> {
  const pool = new pg.Pool({ connectionString: url, max: readConnections });
  const { meta } = JSON.parse(answer) as { meta: object };
  const reader: Reader = {
    query: async <Row>({ name, text, values }: Statement<Row>) =>
      (await pool.query({ name, text, values: [...values] })).rows as Row[],
  };
  const read = async () => {
    const { items } = await runList(reader, page);
    return JSON.stringify({ data: items, meta });
  };
  if ((await read()) !== answer) throw new Error(`not what the service sends: ${await read()}`);
  const server = createServer((_request, response) => {
    void read().then((text) => {
      const length = Buffer.byteLength(text);
      response.writeHead(200, { 'Content-Type': jsonType, 'Content-Length': length });
      response.end(text);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

process.once('message', (task: BareTask) => {
  const origin = task.kind === 'route' ? serveRoute(task.answer) : serveList(task);
  void origin.then((text) => process.send?.(text));
});
process.on('disconnect', () => process.exit(0));
