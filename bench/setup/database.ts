// The benchmark's own PostgreSQL: the private server that Tallybook brings along, with the settings
// it has in service, in a directory that is thrown away. The service and the raw figures share it.

import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbeddedServer } from '../../src/database/embedded/server.ts';
import { migrate } from '../../src/database/migrate.ts';

export interface BenchDatabase {
  readonly owner: pg.Client;
  readonly ownerUrl: string;
  /** As the role of the service. */
  readonly serviceUrl: string;
  /** The process that all other processes of the server are children of. */
  readonly postmaster: number | undefined;
  stop(): Promise<void>;
}

export async function startDatabase(
  directory: string,
  settings: Readonly<Record<string, string>>,
): Promise<BenchDatabase> {
  const dataDirectory = join(directory, 'data');
  await mkdir(dataDirectory);
  const server = await startEmbeddedServer({
    dataDirectory,
    stopWithParent: true,
    settings,
    log: () => undefined,
  });
  const owner = new pg.Client({ connectionString: server.ownerUrl, application_name: 'bench' });
  owner.on('error', () => undefined);
  try {
    await migrate({ owner: server.ownerUrl, service: server.serviceUrl });
    await owner.connect();
    const { rows } = await owner.query<{ pid: number }>('select pg_backend_pid() as pid');
    return {
      owner,
      ownerUrl: server.ownerUrl,
      serviceUrl: server.serviceUrl,
      postmaster: parentOf(rows[0]?.pid),
      stop: async () => {
        await owner.end().catch(() => undefined);
        await server.stop();
      },
    };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

/** Undefined where there is no /proc. */
function parentOf(pid: number | undefined): number | undefined {
  try {
    const [, parent] =
      /^PPid:\s*([0-9]+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return parent === undefined ? undefined : Number(parent);
  } catch {
    return undefined;
  }
}

/** The settings that figures depend on, as the server runs with them. */
export async function settingsOf(owner: pg.Client): Promise<Record<string, string>> {
  const { rows } = await owner.query<{ name: string; value: string }>(
    `select name, current_setting(name) as value from pg_settings
     where name = any ($1) order by name`,
    [
      [
        ...['server_version', 'fsync', 'synchronous_commit', 'full_page_writes', 'data_checksums'],
        ...['shared_buffers', 'max_wal_size', 'checkpoint_timeout', 'wal_compression'],
        ...['wal_buffers', 'effective_cache_size', 'effective_io_concurrency', 'io_method'],
        ...['random_page_cost', 'jit', 'plan_cache_mode', 'commit_delay', 'wal_sync_method'],
        ...['shared_preload_libraries', 'autovacuum_naptime', 'max_connections', 'work_mem'],
      ],
    ],
  );
  return Object.fromEntries(rows.map(({ name, value }) => [name, value]));
}
