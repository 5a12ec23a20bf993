// One PostgreSQL server for the whole test run, with the schema in a template database that each
// test file clones. It watches this process and ends with it, however that ends.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { startEmbeddedServer } from '../../src/database/embedded/server.ts';
import { migrate } from '../../src/database/migrate.ts';

declare module 'vitest' {
  interface ProvidedContext {
    ownerUrl: string;
    serviceUrl: string;
  }
}

export const templateName = 'tallybook_template';

interface TestServer {
  readonly ownerUrl: string;
  readonly serviceUrl: string;
  stop(): Promise<void>;
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = (await givenServer()) ?? (await ownServer());
  const admin = new pg.Client({ connectionString: server.ownerUrl });
  await admin.connect();
  await admin.query(`drop database if exists ${templateName}`);
  await admin.query(`create database ${templateName}`);
  await admin.end();
  await migrate({
    owner: withDatabase(server.ownerUrl, templateName),
    service: withDatabase(server.serviceUrl, templateName),
  });
  project.provide('ownerUrl', server.ownerUrl);
  project.provide('serviceUrl', server.serviceUrl);
  return () => server.stop();
}

/** A superuser's URL of another server, to run the suite on, such as an older PostgreSQL. */
async function givenServer(): Promise<TestServer | undefined> {
  const ownerUrl = process.env.TALLYBOOK_TEST_DATABASE_URL;
  if (ownerUrl === undefined) return undefined;
  const service = new URL(ownerUrl);
  service.username = 'tallybook_test_service';
  service.password = 'of-no-value';
  return { ownerUrl, serviceUrl: service.toString(), stop: async () => undefined };
}

async function ownServer(): Promise<TestServer> {
  const directory = await mkdtemp(join(tmpdir(), 'tallybook-test-'));
  const server = await startEmbeddedServer({
    dataDirectory: directory,
    stopWithParent: true,
    settings: { max_connections: '300' },
    log: () => undefined,
  });
  const { ownerUrl, serviceUrl } = server;
  return {
    ownerUrl,
    serviceUrl,
    stop: async () => {
      await server.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** The same server and role, another database. */
export function withDatabase(url: string, database: string): string {
  const parsed = new URL(url);
  parsed.pathname = `/${database}`;
  return parsed.toString();
}
