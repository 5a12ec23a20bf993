// A whole service inside the test process: its own database, a real HTTP server on a free port.

import { denialOf } from '../../src/access/audit/denials.ts';
import { createService, endpoints, type Service } from '../../src/app.ts';
import type { Endpoint } from '../../src/core/endpoint.ts';
import { limits } from '../../src/core/limits.ts';
import { connectDatabase, type Database } from '../../src/database/connect.ts';
import { oauthMounts } from '../../src/http/oauth.ts';
import { createServer, type RequestRecord } from '../../src/http/server.ts';
import { Api } from './api.ts';
import { conforms } from './conformance.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { Given } from './given.ts';

export interface TestService {
  readonly db: TestDatabase;
  readonly given: Given;
  readonly api: Api;
  readonly service: Service;
  /** One line per finished request, as the log has it. */
  readonly records: RequestRecord[];
  /** How many there are at this moment. */
  connections(): Promise<number>;
  stop(): Promise<void>;
}

export const testSecret = 'a secret for tests, of no value anywhere else';

/** `watch` may stand between the service and its database. It drops `own` when it stops. */
export async function startService(
  watch?: (database: Database) => Database,
  own?: TestDatabase,
): Promise<TestService> {
  const db = own ?? (await createTestDatabase());
  const node = await startNode(db.serviceUrl, watch);
  const given = new Given(db);
  return {
    db,
    given,
    ...node,
    stop: async () => {
      await node.stop();
      await db.drop();
    },
  };
}

/** One more node on a database that is there already; of another version, with other endpoints. */
export async function startNode(
  serviceUrl: string,
  watch: (database: Database) => Database = (database) => database,
  served: readonly Endpoint[] = endpoints,
) {
  const database = watch(connectDatabase({ url: serviceUrl, writers: limits.writeWorkers }));
  const service = createService({ database, secret: testSecret });
  const records: RequestRecord[] = [];
  let origin = '';
  const server = createServer({
    edge: service.edge,
    endpoints: served,
    sites: [],
    mounts: oauthMounts({
      issuer: () => origin,
      server: (issuer) => service.oauthServer(issuer),
      failures: service.edge.failures,
    }),
    // Requests say where they come from: see Api.
    trustedProxies: ['127.0.0.1'],
    onRequest: (record) => {
      records.push(record);
      const denial = denialOf(record);
      if (denial !== undefined) service.denials.note(denial);
    },
  });
  origin = await server.fastify.listen({ host: '127.0.0.1', port: 0 });
  return {
    service,
    records,
    api: new Api(origin, undefined, conforms),
    connections: () =>
      new Promise<number>((resolve, reject) =>
        server.fastify.server.getConnections((error, count) =>
          error === null ? resolve(count) : reject(error),
        ),
      ),
    stop: async () => {
      await server.fastify.close();
      await service.close();
      await database.close();
    },
  };
}
