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

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const directory = await mkdtemp(join(tmpdir(), 'tallybook-test-'));
  const server = await startEmbeddedServer({
    dataDirectory: directory,
    stopWithParent: true,
    settings: { max_connections: '300' },
    log: () => undefined,
  });
  const admin = new pg.Client({ connectionString: server.ownerUrl });
  await admin.connect();
  await admin.query(`create database ${templateName}`);
  await admin.end();
  await migrate({
    owner: withDatabase(server.ownerUrl, templateName),
    service: withDatabase(server.serviceUrl, templateName),
  });
  project.provide('ownerUrl', server.ownerUrl);
  project.provide('serviceUrl', server.serviceUrl);
  return async () => {
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  };
}

/** The same server and role, another database. */
export function withDatabase(url: string, database: string): string {
  const parsed = new URL(url);
  parsed.pathname = `/${database}`;
  return parsed.toString();
}
