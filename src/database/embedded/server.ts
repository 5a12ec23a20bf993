// The private PostgreSQL server of a data directory: what Tallybook runs on when no DATABASE_URL
// is set. It is a real server with nothing about durability turned off; it survives a killed
// Tallybook, the next start joins it, and the last process that uses it stops it.

import { chooseAccount } from './account.ts';
import { type Cluster, makeRoot, preparedCluster } from './cluster.ts';
import { makeDatabase, ownerUrl, serviceUrl } from './connection.ts';
import { explainingFull, layoutOf } from './directory.ts';
import { type Joined, type JoinOptions, joinServer, type Log } from './join.ts';
import { withLock } from './lock.ts';
import { Supervisor } from './supervisor.ts';

export interface EmbeddedServer {
  /** The owner of the database `tallybook`, over the Unix socket. */
  readonly ownerUrl: string;
  /** The role `tallybook_service` with its password; the migrations create it. */
  readonly serviceUrl: string;
  /** Whether a server already ran on this data directory and was joined. */
  readonly adopted: boolean;
  /**
   * Stops the server, unless others are connected: then it is left running for them. Close your
   * own connections first. May be called again.
   */
  stop(): Promise<void>;
  /** Tells the server to end, unless other processes use it, and does not wait for its end. */
  dismiss(): Promise<void>;
}

interface EmbeddedServerOptions {
  readonly dataDirectory: string;
  /** The bin folder of another PostgreSQL than the packaged one. */
  readonly binDirectory?: string | undefined;
  readonly log: Log;
  /** Ends the waiting for a server or for the lock; a server that was started for it is stopped. */
  readonly signal?: AbortSignal | undefined;
  /** For tests: the server stops when this process ends, also when it is killed. */
  readonly stopWithParent?: boolean;
  /** PostgreSQL settings on top; those that protect data and privacy cannot be changed. */
  readonly settings?: Readonly<Record<string, string>>;
}

export async function startEmbeddedServer(options: EmbeddedServerOptions): Promise<EmbeddedServer> {
  const { dataDirectory, binDirectory, log, stopWithParent = false, settings = {} } = options;
  const layout = layoutOf(dataDirectory);
  // Before the lock, which could not be made in a directory of somebody else's.
  chooseAccount(layout.cluster);
  makeRoot(layout.root);
  const { signal = new AbortController().signal } = options;
  const joinOptions = { log, stopWithParent, settings, signal };
  const notice = (message: string) => log({}, message);
  const join = async () =>
    joinWithDatabase(await preparedCluster(layout, binDirectory), joinOptions);
  const joined = await explainingFull(layout.root, () =>
    withLock(layout.lock, { notice, signal }, join),
  );
  const supervisor = new Supervisor(joined, joinOptions);
  const adopted = joined.launch === undefined;
  log({ adopted, dataDirectory: layout.root }, 'PostgreSQL is ready');
  return {
    ownerUrl: ownerUrl(joined.cluster),
    serviceUrl: serviceUrl(joined.cluster),
    adopted,
    stop: () => supervisor.stop(),
    dismiss: () => supervisor.dismiss(),
  };
}

async function joinWithDatabase(cluster: Cluster, options: JoinOptions): Promise<Joined> {
  const joined = await joinServer(cluster, options);
  try {
    await makeDatabase(joined.keeper.client);
    return joined;
  } catch (error) {
    void joined.keeper.client.end().catch(() => undefined);
    await joined.launch?.end();
    throw error;
  }
}
