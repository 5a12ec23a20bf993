// The environment of a test: a database of its own, a service in the process of the test that
// listens on a free port, a client of it, and a way to arrange records.

import { denialsOf } from '../../src/access/audit/denials.ts';
import { createService, type Service, type ServiceOptions } from '../../src/app.ts';
import { readConfig } from '../../src/config.ts';
import type { Endpoint } from '../../src/contract/endpoint.ts';
import { limits } from '../../src/core/limits.ts';
import { connectDatabase, type Database } from '../../src/database/connect.ts';
import { createServer, type RequestRecord } from '../../src/http/server.ts';
import type { Site } from '../../src/http/site.ts';
import { oauthRoutes } from '../../src/oauth/routes.ts';
import { sessionRoutes } from '../../src/sessions/routes.ts';
import { Api } from './api.ts';
import { isOnCluster } from './citus.ts';
import { conforms } from './conformance.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { Given } from './given.ts';

export interface Environment {
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

interface EnvironmentOptions {
  /** Otherwise a new one. It is dropped when the environment stops. */
  readonly db?: TestDatabase | undefined;
  /** May put something between the service and its database. */
  readonly watch?: (database: Database) => Database;
  /** The page of the console, for tests that open it. */
  readonly pages?: readonly Site[];
}

export async function startEnvironment(options: EnvironmentOptions = {}): Promise<Environment> {
  const db = options.db ?? (await createTestDatabase());
  const { watch, pages } = options;
  const node = await startNode(db.serviceUrl, watch, undefined, testSecret, pages);
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

/** Receivers of webhooks that listen in the process of a test. */
const { webhookAllow } = readConfig({}, { TALLYBOOK_WEBHOOK_ALLOW: '127.0.0.1' });

/** As a program of ours connects, which has looked what the database is. */
export function connect(serviceUrl: string, writers: number): Database {
  const database = connectDatabase({ url: serviceUrl, writers });
  // Behind a proxy all goes to one server, which passes on what it has not got.
  if (isOnCluster(serviceUrl)) database.setSpread();
  return database;
}

/** One more node on a database that is there already; of another version, with other endpoints. */
export async function startNode(
  serviceUrl: string,
  watch: (database: Database) => Database = (database) => database,
  served?: readonly Endpoint[],
  secret = testSecret,
  pages: readonly Site[] = [],
  backups: NonNullable<ServiceOptions['backups']> = () => undefined,
) {
  const database = watch(connect(serviceUrl, limits.writeWorkers));
  const service = createService({ database, secret, webhookAllow, backups });
  const records: RequestRecord[] = [];
  let origin = '';
  const server = createServer({
    api: service.api,
    endpoints: served ?? service.endpoints,
    sites: [],
    console: {
      pages,
      publicUrl: undefined,
      routes: sessionRoutes({
        ...{ signIn: service.signIn, callers: service.api, publicUrl: undefined },
      }),
    },
    oauthRoutes: oauthRoutes({
      issuer: () => origin,
      server: (issuer) => service.oauthServer(issuer),
      failures: service.api.failures,
      consents: service.consents,
    }),
    // Requests say where they come from: see Api.
    trustedProxies: ['127.0.0.1'],
    onRequest: (record) => {
      records.push(record);
      for (const denial of denialsOf(record)) service.denials.note(denial);
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
