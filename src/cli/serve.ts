// `tallybook serve`: runs the service until a signal, and prints where it listens.
// With --demo a new data directory gets a merchant to try things on. The log goes to stderr.

import cluster from 'node:cluster';
import { type Config, readConfig, type SettingName, settings } from '../config.ts';
import { limits } from '../core/limits.ts';
import type { Reader } from '../core/statement.ts';
import type { Demo, InvitedOwner } from '../demo/demo.ts';
import type { Running } from '../node/running.ts';
import { programCalled, quoted } from './call.ts';
import { type CommonFlags, define } from './command.ts';
import type { DocumentedCommand } from './help.ts';
import { members, show } from './output.ts';

interface ServeFlags extends CommonFlags {
  readonly host?: string;
  readonly port?: string;
  readonly workers?: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly backupDir?: string;
  readonly backupAt?: string;
  readonly keep?: string;
  readonly demo?: boolean;
}

export function defineServe(program: DocumentedCommand): void {
  define(program, {
    name: 'serve',
    description: 'Run the service until it gets a signal.',
    example: 'tallybook serve --host 127.0.0.1 --port 8080 --data ./data',
    variables: Object.keys(settings) as SettingName[],
  })
    .option('--host <host>', 'the address to listen on (default: 127.0.0.1)')
    .option('--port <port>', 'the port to listen on, 0 for a free one (default: 8080)')
    .option(
      '--workers <count>',
      'how many processes serve, or auto: one per processor (default: 1)',
    )
    .option('--tls-cert <file>', 'a certificate (PEM), to speak HTTPS; read again when it changes')
    .option('--tls-key <file>', 'the key of that certificate (PEM)')
    .option('--backup-dir <folder>', 'take a backup into it each day, restore it and verify it')
    .option('--backup-at <time>', 'when, by the clock of this machine (default: 03:00)')
    .option('--keep <count>', 'how many of these backups stay (default: 14)')
    .option('--demo', 'fill a new data directory with a demo merchant')
    .action(serve);
}

async function serve(flags: ServeFlags): Promise<void> {
  const config = readConfig(flags);
  const { endOnUnexpected, runUntilSignal, stopAwake } = await import('../node/signals.ts');
  const { createLog, LogWriter } = await import('../log.ts');
  const writer = LogWriter.toStandardError();
  const log = createLog(config.logLevel, writer);
  endOnUnexpected(log);
  if (cluster.isWorker) {
    const { serveAsWorker } = await import('../node/worker.ts');
    return serveAsWorker(config, log, () => writer.linesLost);
  }
  const early = holdSignals(config);
  const linesLost = () => writer.linesLost;
  const { signal } = early;
  const beforeReady = async (running: Running) => {
    if (signal.aborted) return;
    const demo = flags.demo === true && running.store.isNew ? await demoOf(running) : undefined;
    const owner = demo?.owner ?? (flags.demo === true ? await ownerToCome(running) : undefined);
    const greeting = greetingOf(running, demo, owner);
    await show(flags, greeting, () => welcome(greeting, running, config));
  };
  const options = { linesLost, writer, signal, beforeReady };
  const starting = (await startOf(config))(config, log, options);
  const running = await starting.catch((error: unknown) => {
    early.release();
    if (early.signal.aborted) process.exit(0);
    throw error;
  });
  if (early.signal.aborted) {
    await stopAwake(running);
    return;
  }
  const stopped = runUntilSignal(running, log);
  if (early.isToReplace()) process.kill(process.pid, 'SIGUSR2');
  // This comes last, because a signal without a handler is lost, and this process would run on.
  early.release();
  if (early.signal.aborted) process.kill(process.pid, 'SIGTERM');
  await stopped;
  // A database that does not answer could hold a connection open, and with it this process.
  process.exit(0);
}

/** With one process the main one serves, and there is no other. */
async function startOf({ workers }: Config) {
  if (workers === 1) return (await import('../main.ts')).start;
  return (await import('../node/workers.ts')).startWorkers;
}

/**
 * A signal while the private server starts ends the process only when that server is stopped,
 * because it would be left running otherwise. Without a private server there is nothing to clean
 * up. A second signal waits for nothing.
 */
function holdSignals({ storage }: Config) {
  const interruption = new AbortController();
  let firstAt: number | undefined;
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  const onSignal = () => {
    if (storage.kind === 'external') process.exit(0);
    if (firstAt !== undefined && performance.now() - firstAt > limits.sameSignalTime) {
      process.exit(1);
    }
    firstAt ??= performance.now();
    interruption.abort();
  };
  for (const signal of signals) process.on(signal, onSignal);
  // Without a listener it would end the process. It stays, beside what obeys it later.
  let isToReplace = false;
  process.on('SIGUSR2', () => {
    isToReplace = true;
  });
  return {
    signal: interruption.signal,
    isToReplace: () => isToReplace,
    release: () => {
      for (const signal of signals) process.removeListener(signal, onSignal);
    },
  };
}

async function demoOf(running: Running): Promise<Demo> {
  const { createDemo } = await import('../demo/demo.ts');
  return createDemo(running.service, running.store.database);
}

/** Who was invited to the demo, and has not used the link: it may have ended. */
async function ownerToCome({ service, store }: Running): Promise<InvitedOwner | undefined> {
  const { database } = store;
  const [merchant, another] = await firstMerchants(database.reader);
  if (merchant === undefined || another !== undefined) return undefined;
  const { everyPage } = await import('./listing.ts');
  const [only, somebody] = await everyPage<{ readonly id: string; readonly status: string }>(
    database,
    merchant,
    'people.list',
  );
  if (only?.status !== 'invited' || somebody !== undefined) return undefined;
  const { inviteOwner } = await import('../demo/demo.ts');
  return inviteOwner(service, merchant, only.id);
}

type Greeting = ReturnType<typeof greetingOf>;

function greetingOf({ url }: Running, demo: Demo | undefined, owner: InvitedOwner | undefined) {
  const link = owner === undefined ? null : `${url}/console/invitation#${owner.invitation}`;
  return {
    console_url: `${url}/console`,
    sign_in_url: link,
    base_url: `${url}/api/v1`,
    docs_url: `${url}/docs`,
    merchant_id: demo?.merchant_id ?? null,
    token: demo?.token ?? null,
    expires_at: demo?.expires_at ?? null,
  };
}

async function welcome(greeting: Greeting, running: Running, config: Config): Promise<string> {
  const { console_url, sign_in_url, base_url, docs_url, token, expires_at } = greeting;
  const places = [
    ['Console', console_url],
    ['API', base_url],
    ['Docs', docs_url],
  ] as const;
  const entrance =
    sign_in_url === null ? '' : `\n\nSign in, once, in ten minutes:\n\n${sign_in_url}`;
  if (token === null) {
    const next = sign_in_url === null ? `\n\n${await nextCommand(running, config)}` : '';
    return `Tallybook is ready.\n\n${members(places)}${entrance}${next}\n`;
  }
  return `Tallybook is ready, with a demo merchant.

${members([...places, ['Token', `${token}  (until ${expires_at})`]])}${entrance}

Or call it:

curl -H 'Authorization: Bearer ${token}' '${base_url}/products?limit=3'
`;
}

/** Two at most: there is none, one, or several. */
async function firstMerchants(reader: Reader): Promise<readonly string[]> {
  const { allMerchants } = await import('../access/operator/merchants.ts');
  const merchants: string[] = [];
  for await (const { id } of allMerchants(reader)) {
    if (merchants.push(id) === 2) break;
  }
  return merchants;
}

/** What leads to a token, each command on a line of its own that can be pasted. */
async function nextCommand({ store }: Running, { storage }: Config): Promise<string> {
  const merchants = await firstMerchants(store.database.reader);
  const isPrivate = storage.kind === 'private';
  const where = isPrivate ? ` --data ${quoted(storage.dataDirectory)}` : '';
  const line = (command: string, options = '') => `${programCalled()} ${command}${where}${options}`;
  const [only, another] = merchants;
  const rest = ' --name till --scopes all --locations all';
  const hint = isPrivate ? '' : ' (the variable DATABASE_URL must name the database)';
  if (only === undefined) {
    return `Make a merchant${hint}:\n\n${line('merchant create', ' --name "Corner Shop"')}`;
  }
  if (another === undefined) {
    return `Make a token${hint}:\n\n${line('token create', ` --merchant ${only}${rest}`)}`;
  }
  const lines = [line('merchant list'), line('token create', ' --help')];
  return `Make a token for one of the merchants${hint}:\n\n${lines.join('\n')}`;
}
