// The server that a configuration names: the operator's own, or the private one of a data
// directory, which is started, or joined where it runs.

import { randomBytes } from 'node:crypto';
import { namesOf, type Storage } from '../config.ts';
import type { Address } from './find.ts';

export interface Log {
  info(event: Record<string, unknown>, message: string): void;
  warn(event: Record<string, unknown>, message: string): void;
}

/** A running private server. */
interface PrivateServer {
  readonly ownerUrl: string;
  readonly serviceUrl: string;
  /** Of its data directory, the same at every start. */
  secret(): Promise<string>;
  /** Stops the server if nobody else uses it. */
  stop(): Promise<void>;
  /** Tells the server to end unless others use it; waits for nothing. */
  requestStop(): Promise<void>;
}

interface PrivateServerOptions {
  readonly dataDirectory: string;
  readonly binDirectory: string | undefined;
  readonly mustExist: boolean | undefined;
  readonly signal: AbortSignal | undefined;
  /** As many as its own settings say when these are more. */
  readonly connectionsMin: number;
  readonly log: (event: Record<string, unknown>, message: string) => void;
}

export interface ReachOptions {
  /** Starts the server of a data directory, or joins the one that runs there. */
  readonly startPrivateServer: (options: PrivateServerOptions) => Promise<PrivateServer>;
  /** Refuse a data directory without a database instead of making one: it was mistyped. */
  readonly mustExist?: boolean;
  /** Ends the waiting. */
  readonly signal?: AbortSignal | undefined;
  /** How many a private server has to have room for; otherwise its settings say it. */
  readonly connections?: number;
}

/** Of commands, and of PostgreSQL itself, beside those of a node. */
const otherConnections = 15;

/** A running server: the operator's own, or the private one. */
export interface ReachedServer {
  readonly owner: Address;
  readonly service: Address;
  readonly isPrivate: boolean;
  /** For when the configuration names none. */
  secret(): Promise<string>;
  close(): Promise<void>;
  requestStop(): Promise<void>;
}

export async function reachServer(
  storage: Storage,
  log: Log,
  { startPrivateServer, mustExist, signal, connections = 0 }: ReachOptions,
): Promise<ReachedServer> {
  if (storage.kind === 'external') {
    const { databaseUrl, migrateUrl } = storage;
    const close = async () => undefined;
    // For a command, which seals no cursor that anybody else has to open.
    const secret = async () => randomBytes(32).toString('base64url');
    const service = { url: databaseUrl, setting: namesOf('databaseUrl') };
    const owner =
      migrateUrl === undefined ? service : { url: migrateUrl, setting: namesOf('migrateUrl') };
    return { owner, service, isPrivate: false, secret, close, requestStop: close };
  }
  const { dataDirectory, binDirectory } = storage;
  const server = await startPrivateServer({
    dataDirectory,
    binDirectory,
    mustExist,
    signal,
    connectionsMin: connections === 0 ? 0 : connections + otherConnections,
    log: (event, message) => ('err' in event ? log.warn(event, message) : log.info(event, message)),
  });
  return {
    owner: { url: server.ownerUrl, setting: undefined },
    service: { url: server.serviceUrl, setting: undefined },
    isPrivate: true,
    secret: server.secret,
    close: server.stop,
    requestStop: server.requestStop,
  };
}
