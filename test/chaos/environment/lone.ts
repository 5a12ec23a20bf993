// The server of a run without a standby: the private one, kept alive by its own supervisor.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { layoutOf } from '../../../src/postgres/directory.ts';
import { startPrivateServer } from '../../../src/postgres/server.ts';
import { type ChaosServer, filesIn, type OneServer } from './database.ts';
import { SmallDisk } from './small-disk.ts';

/** @param diskSize in bytes. */
export async function startLone(directory: string, diskSize?: number): Promise<ChaosServer> {
  const disk = SmallDisk.make(join(directory, 'disk'), diskSize);
  try {
    const said: string[] = [];
    const { cluster } = layoutOf(disk.directory);
    const server = await startPrivateServer({
      dataDirectory: disk.directory,
      stopWithParent: true,
      settings: {
        ...{ max_connections: '200', max_wal_size: '256MB' },
        // A deadlock is told with the statements of both.
        log_error_verbosity: 'default',
      },
      log: (event, message) => {
        const { err } = event;
        const more = err instanceof Error ? err.message : JSON.stringify(event);
        said.push(`${new Date().toISOString()} ${message}: ${more}`);
      },
    });
    const one: OneServer = {
      ownerUrl: server.ownerUrl,
      get postmaster() {
        return Number(readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')[0]);
      },
    };
    return {
      ...{ disk, said, ownerUrl: server.ownerUrl, serviceUrl: server.serviceUrl },
      entry: server,
      servers: [one],
      logs: () => filesIn([join(cluster, 'log')]),
      isWhole: async () => true,
      restart: async () => void process.kill(one.postmaster, 'SIGINT'),
      async stop() {
        try {
          await server.stop();
        } finally {
          disk.unmount();
        }
      },
    };
  } catch (error) {
    disk.unmount();
    throw error;
  }
}
