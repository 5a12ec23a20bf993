// The whole service inside the test process, as `tallybook serve` starts it: with the pages outside
// of the version, and behind a trusted proxy, so that each request can come from an address of its
// own. No caller is limited, as tests of access ask more in a second than anyone may in a minute.

import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import { readConfig } from '../../src/config.ts';
import { start } from '../../src/main.ts';
import type { Running } from '../../src/node/running.ts';
import { Api } from './api.ts';
import { conforms } from './conformance.ts';
import { createTestDatabase, withoutLimits } from './database.ts';
import { type Environment, testSecret } from './environment.ts';
import { Given } from './given.ts';

export interface WholeEnvironment extends Omit<Environment, 'connections'> {
  readonly origin: string;
  /** Every path that the server has a route for, wildcards among them. */
  readonly paths: ReadonlySet<string>;
}

/** `reach` may put something between the service and its database. */
export async function startWholeEnvironment(
  reach: (serviceUrl: string) => Promise<string> = async (url) => url,
): Promise<WholeEnvironment> {
  const db = await createTestDatabase();
  await withoutLimits(db);
  const paths = new Set<string>();
  const databaseUrl = await reach(db.serviceUrl);
  const running = await notingRoutes(paths, () => startOn(databaseUrl, db.ownerUrl));
  const origin = new URL(running.url).origin;
  return {
    db,
    origin,
    paths,
    given: new Given(db),
    api: new Api(origin, undefined, conforms),
    service: running.service,
    records: [],
    stop: async () => {
      await running.stop();
      await db.drop();
    },
  };
}

function startOn(databaseUrl: string, ownerUrl: string): Promise<Running> {
  const config = readConfig(
    { databaseUrl, port: '0' },
    {
      TALLYBOOK_MIGRATE_URL: ownerUrl,
      TALLYBOOK_SECRET: testSecret,
      TALLYBOOK_TRUSTED_PROXIES: '127.0.0.1',
    },
  );
  return start(config, pino({ level: 'silent' }));
}

/** The framework announces each server before it has any route. */
async function notingRoutes(paths: Set<string>, work: () => Promise<Running>): Promise<Running> {
  const onServer = (message: unknown) => {
    const { fastify } = message as { fastify: FastifyInstance };
    fastify.addHook('onRoute', ({ url }) => {
      paths.add(url);
    });
  };
  subscribe('fastify.initialization', onServer);
  try {
    return await work();
  } finally {
    unsubscribe('fastify.initialization', onServer);
  }
}
