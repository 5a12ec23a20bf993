// The yardstick of reads: Fastify with one route that returns a constant, a request ID as the
// service mints it, and the service's own line in the log. A process of its own.

import { fastify } from 'fastify';
import { mintId } from '../../src/core/id.ts';
import { createLog, LogWriter, logRequest } from '../../src/log.ts';

const [, , answer = '', level = 'info'] = process.argv;

async function serve(): Promise<void> {
  const log = createLog(level, LogWriter.toStandardError());
  const app = fastify({ logger: false, genReqId: () => mintId('request') });
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
      problem: undefined,
      oauthError: undefined,
      applicationId: undefined,
    });
  });
  app.get('/api/v1/products/:id', async (_request, reply) =>
    reply.type('application/json; charset=utf-8').send(answer),
  );
  process.send?.({ origin: await app.listen({ host: '127.0.0.1', port: 0 }) });
  process.on('disconnect', () => process.exit(0));
}

await serve();
