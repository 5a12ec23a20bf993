// One PostgreSQL server for the whole test run, with the schema in a template database that each
// test file clones. It watches this process and ends with it, however that ends.

import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { migrate } from '../../src/database/migrate.ts';
import { startPrivateServer } from '../../src/postgres/server.ts';
import { toldAgain } from './again.ts';
import { addCells, cells, homeCell } from './cells.ts';
import { clusterUrl } from './citus.ts';
import { makeRunDirectory, removeWithMounts } from './run-directory.ts';

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

/**
 * Each project of the run calls `setup`, and has this module for itself: what all of them share is
 * kept by the process.
 */
const shared = globalThis as { testServer?: Promise<TestServer> };

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  shared.testServer ??= start();
  const server = await shared.testServer;
  project.provide('ownerUrl', server.ownerUrl);
  project.provide('serviceUrl', server.serviceUrl);
  return () => server.stop();
}

async function start(): Promise<TestServer> {
  const directory = makeRunDirectory();
  // The processes of the tests start later and take it from here.
  process.env.TMPDIR = directory;
  const { ownerUrl, serviceUrl, stop } = (await givenServer()) ?? (await ownServer());
  if (clusterUrl === undefined) await makeTemplate(ownerUrl, serviceUrl);
  let stopped: Promise<void> | undefined;
  return {
    ownerUrl,
    serviceUrl,
    stop: () => {
      stopped ??= stop().then(() => {
        process.stderr.write(toldAgain(directory));
        removeWithMounts(directory);
      });
      return stopped;
    },
  };
}

async function makeTemplate(ownerUrl: string, serviceUrl: string): Promise<void> {
  const admin = new pg.Client({ connectionString: ownerUrl });
  await admin.connect();
  await admin.query(`drop database if exists ${templateName}`);
  await admin.query(`create database ${templateName}`);
  await admin.end();
  const owner = withDatabase(ownerUrl, templateName);
  await migrate({ owner, service: withDatabase(serviceUrl, templateName) });
  await makeCells(owner);
}

/** Those of this run, behind the first. */
export async function makeCells(owner: string): Promise<void> {
  await addCells(owner, cells.slice(1));
  const client = new pg.Client({ connectionString: owner });
  await client.connect();
  await client.query(`alter table merchants alter column cell set default '${homeCell}'`);
  await client.end();
}

/** A superuser's URL of another server, to run the suite on, such as an older PostgreSQL. */
async function givenServer(): Promise<TestServer | undefined> {
  const ownerUrl = process.env.TALLYBOOK_TEST_DATABASE_URL ?? clusterUrl;
  if (ownerUrl === undefined) return undefined;
  const service = new URL(ownerUrl);
  service.username = 'tallybook_test_service';
  service.password = 'of-no-value';
  return { ownerUrl, serviceUrl: service.toString(), stop: async () => undefined };
}

/**
 * Of the server of a run, which is in memory and has a dozen databases for some seconds each.
 * Statistics of a table that is new matter where it is large, and whoever fills one asks for them.
 */
const serverSettings = {
  max_connections: '300',
  // It begins a process in each database in this time: with the 5 s of a private server that are
  // two each second.
  autovacuum_naptime: '1min',
  // Each new database is a checkpoint, and the first change of a page after it a compressed page.
  wal_compression: 'off',
};

async function ownServer(): Promise<TestServer> {
  const directory = await mkdtemp(join(tmpdir(), 'tallybook-test-'));
  const server = await startPrivateServer({
    dataDirectory: directory,
    stopWithParent: true,
    settings: serverSettings,
    log: () => undefined,
  });
  const { ownerUrl, serviceUrl } = server;
  return {
    ownerUrl,
    serviceUrl,
    stop: () => server.stop(),
  };
}

/** The same server and role, another database. */
export function withDatabase(url: string, database: string): string {
  const parsed = new URL(url);
  parsed.pathname = `/${database}`;
  return parsed.toString();
}
