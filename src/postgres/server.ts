// The private PostgreSQL server of a data directory, which Tallybook uses when no DATABASE_URL is
// set. It is a real server with full durability. It keeps running when Tallybook is killed: the
// next start joins it, and the last process that uses it stops it.

import { existsSync } from 'node:fs';
import { chooseAccount } from './account.ts';
import { prepareCluster } from './cluster.ts';
import { ownerUrl, serviceUrl } from './connection.ts';
import { explainingFull, keptSecret, layoutOf, makeRoot } from './directory.ts';
import { joinServer, type ServerLog } from './join.ts';
import { withLock } from './lock.ts';
import { Supervisor } from './supervisor.ts';

export interface PrivateServer {
  /** The owner of the database `tallybook`, over the Unix socket. */
  readonly ownerUrl: string;
  /** The role `tallybook_service` with its password; the migrations create it. */
  readonly serviceUrl: string;
  /** Whether a server already ran on this data directory and was joined. */
  readonly wasRunning: boolean;
  /** The secret of the data directory, the same at every start, made at its first use. */
  secret(): Promise<string>;
  /**
   * Stops the server, unless others are connected: then it is left running for them. Close your
   * own connections first. May be called again.
   */
  stop(): Promise<void>;
  /** Signals the server to stop, unless other processes use it, and does not wait for it. */
  requestStop(): Promise<void>;
}

interface PrivateServerOptions {
  readonly dataDirectory: string;
  /** The bin folder of another PostgreSQL than the packaged one. */
  readonly binDirectory?: string | undefined;
  /** Refuse a directory without a database instead of making one: its name was mistyped. */
  readonly mustExist?: boolean | undefined;
  readonly log: ServerLog;
  /** Ends the waiting for a server or for the lock; a server that was started for it is stopped. */
  readonly signal?: AbortSignal | undefined;
  /** For tests: the server stops when this process ends, also when it is killed. */
  readonly stopWithParent?: boolean;
  /** PostgreSQL settings on top; those that protect data and privacy cannot be changed. */
  readonly settings?: Readonly<Record<string, string>>;
  /** How many connections it has room for at least, when this starts it. */
  readonly connectionsMin?: number;
}

export async function startPrivateServer(options: PrivateServerOptions): Promise<PrivateServer> {
  const { dataDirectory, binDirectory, mustExist, log } = options;
  const { stopWithParent = false, settings = {}, connectionsMin = 0 } = options;
  const { signal = new AbortController().signal } = options;
  const layout = layoutOf(dataDirectory);
  if (mustExist && !existsSync(layout.cluster)) {
    throw new Error(
      `there is no database in ${layout.root}: name the directory with --data, or make one ` +
        'with "tallybook migrate", or restore a backup with "tallybook restore"',
    );
  }
  // Before the lock, which cannot be made in a directory of another user.
  chooseAccount(layout.cluster);
  makeRoot(layout.root);
  const launchOptions = { log, stopWithParent, settings, connectionsMin };
  const notice = (message: string) => log({}, message);
  const underLock = <T>(work: () => Promise<T>) =>
    explainingFull(layout.root, () => withLock(layout.lock, { notice, signal }, work));
  const joined = await underLock(async () =>
    joinServer(await prepareCluster(layout, binDirectory), { ...launchOptions, signal }),
  );
  const supervisor = new Supervisor(joined, launchOptions);
  const wasRunning = joined.launch === undefined;
  log({ wasRunning, dataDirectory: layout.root }, 'PostgreSQL is ready');
  return {
    ownerUrl: ownerUrl(joined.cluster),
    serviceUrl: serviceUrl(joined.cluster),
    wasRunning,
    secret: () => underLock(async () => keptSecret(layout)),
    stop: () => supervisor.stop(),
    requestStop: () => supervisor.requestStop(),
  };
}
