// What all commands have in common: the options that name the database, `--json`, an example in the
// help, the forms of option values, and opening and closing the database. A private server that a
// command started is stopped again, also when the command fails or is interrupted.

import { InvalidArgumentError } from 'commander';
import { type Config, type LogLevel, readConfig, type SettingName } from '../config.ts';
import { formats } from '../contract/format.ts';
import { type IdPrefix, lookupId } from '../core/id.ts';
import { limits } from '../core/limits.ts';
import type { Scope } from '../core/principal.ts';
import type { OpenOptions, Server, Store } from '../database/open.ts';
import type { Log } from '../database/reach.ts';
import { scopes } from '../resources.ts';
import { type DocumentedCommand, sources } from './help.ts';

/** The options of every command. */
export interface CommonFlags {
  readonly data?: string;
  readonly databaseUrl?: string;
  readonly json?: boolean;
}

export interface Definition {
  /** With its arguments, such as `show <credential>`. */
  readonly name: string;
  readonly description: string;
  readonly example: string;
  /** The settings whose variables matter for it, beside those that name the database. */
  readonly variables?: readonly SettingName[];
}

/** They name the database. */
const databaseVariables = ['databaseUrl', 'migrateUrl', 'data', 'postgresBin', 'logLevel'] as const;

/** A command that does something. */
export function define(parent: DocumentedCommand, definition: Definition): DocumentedCommand {
  const { variables = [] } = definition;
  const command = group(parent, definition)
    .option(
      '--data <directory>',
      'the data directory (default: ./data, as root /var/lib/tallybook)',
    )
    .option(
      '--database-url <url>',
      'a PostgreSQL server instead of a data directory. Everybody on this machine sees a ' +
        'password in it while the command runs (ps): the variable DATABASE_URL hides it',
    )
    .option('--json', 'print one JSON value and nothing else');
  command.variables = [...new Set([...databaseVariables, ...variables])];
  return command;
}

/** A command that only holds others. */
export function group(parent: DocumentedCommand, definition: Definition): DocumentedCommand {
  const command = parent.command(definition.name) as DocumentedCommand;
  command.description(definition.description);
  command.example = definition.example;
  return command;
}

/**
 * Opens the database that the flags name, does the work, and closes it. The data directory must
 * hold a database already unless `options` says otherwise.
 */
export async function withStore<Result>(
  flags: CommonFlags,
  work: (store: Store) => Promise<Result>,
  options: Partial<OpenOptions> = {},
): Promise<Result> {
  return withConfig(readConfig(flags), work, options);
}

/** The same, where no flags name the database. */
export async function withConfig<Result>(
  config: Config,
  work: (store: Store) => Promise<Result>,
  options: Partial<OpenOptions> = {},
): Promise<Result> {
  const { openStore } = await import('../database/open.ts');
  const { startPrivateServer } = await import('../postgres/server.ts');
  const { migrationLine } = await import('../access/audit/operator-entry.ts');
  const defaults = {
    startPrivateServer,
    purpose: 'command',
    mustExist: true,
    migrationLine,
  } as const;
  const log = logOf(config.logLevel);
  return withOpened((signal) => openStore(config, log, { ...defaults, signal, ...options }), work);
}

/** The same, for work on a database with a schema of any version. */
export async function withServer<Result>(
  flags: CommonFlags,
  work: (server: Server, signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const config = readConfig(flags);
  const { openServer } = await import('../database/open.ts');
  const { startPrivateServer } = await import('../postgres/server.ts');
  const options = { startPrivateServer, purpose: 'command', mustExist: true } as const;
  const log = logOf(config.logLevel);
  return withOpened((signal) => openServer(config, log, { ...options, signal }), work);
}

interface Closable {
  close(): Promise<void>;
  abandon(): Promise<void>;
}

async function withOpened<Opened extends Closable, Result>(
  open: (signal: AbortSignal) => Promise<Opened>,
  work: (opened: Opened, signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const interruption = new AbortController();
  const { signal } = interruption;
  // Opens after this function has set its handlers.
  const opening = Promise.resolve(signal).then(open);
  const leave = (how: keyof Closable) => {
    const leaving = opening.then((opened) => opened[how]());
    void leaving.catch(() => undefined).then(() => process.exit(130));
  };
  let isOpen = false;
  let firstAt: number | undefined;
  const onSignal = () => {
    if (firstAt === undefined) {
      firstAt = performance.now();
      interruption.abort();
      // A server that is just starting is stopped first.
      leave('close');
    } else if (performance.now() - firstAt > limits.sameSignalTime) {
      if (!isOpen) process.exit(130);
      leave('abandon');
    }
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  try {
    const opened = await opening;
    isOpen = true;
    return await work(opened, signal).finally(() => opened.close());
  } catch (error) {
    // The database was closed meanwhile, so the failure says nothing.
    if (signal.aborted) return await new Promise(() => undefined);
    throw error;
  } finally {
    process.removeListener('SIGINT', onSignal).removeListener('SIGTERM', onSignal);
  }
}

/** Warnings, and with the log level debug also the steps of the command. */
function logOf(level: LogLevel): Log {
  const isVerbose = level === 'debug' || level === 'trace';
  const print = (event: Record<string, unknown>, text: string) => {
    const isBare = Object.keys(event).length === 0;
    process.stderr.write(`${text}${isBare ? '' : ` ${JSON.stringify(event)}`}\n`);
  };
  return {
    info: (event, message) => {
      if (isVerbose) print(event, message);
    },
    warn: (event, message) => print(event, `warning: ${message}`),
  };
}

/** An ID of one kind. It need not exist. */
export const idOf =
  (prefix: IdPrefix) =>
  (text: string): string => {
    if (text.startsWith(prefix) && lookupId(text) !== '') return text;
    const source = Object.entries(sources).find(([kind]) => kind === prefix)?.[1];
    const hint = source === undefined ? '' : `; ${source} shows them`;
    throw new InvalidArgumentError(`It must be an ID such as ${sampleOf(prefix)}${hint}.`);
  };

const sampleOf = (prefix: IdPrefix) => `${prefix}01k9x3v7c2e4r8t1m5n6p0q9sa`;

/** A name of 1 to 255 characters. */
export function nameOf(text: string): string {
  const fault = formats.name(text);
  if (fault !== undefined) throw new InvalidArgumentError(`It ${fault.message}.`);
  const length = [...text].length;
  if (length >= 1 && length <= 255) return text;
  throw new InvalidArgumentError('It must have 1 to 255 characters.');
}

/** `all` becomes every scope there is today. */
export function scopesOf(text: string): readonly Scope[] {
  if (text === 'all') return scopes;
  const wanted = new Set(entriesOf(text));
  const unknown = [...wanted].filter((name) => !scopes.some((scope) => scope === name));
  if (unknown.length > 0 || wanted.size === 0) {
    throw new InvalidArgumentError(`It must be "all" or some of ${scopes.join(', ')}, by comma.`);
  }
  return scopes.filter((scope) => wanted.has(scope));
}

export function locationsOf(text: string): 'all' | readonly string[] {
  if (text === 'all') return 'all';
  if (text === 'none') return [];
  const ids = entriesOf(text).map(idOf('loc_'));
  if (ids.length > 0) return [...new Set(ids)];
  throw new InvalidArgumentError('It must be "all", "none", or IDs of locations, by comma.');
}

const secondsPer = { d: 86_400, h: 3_600, m: 60 } as const;

/** A time such as `90d`, `24h` or `30m`, in seconds. */
export function durationOf(text: string): number {
  const [, count = '', unit = ''] = /^([0-9]{1,6})([dhm])$/.exec(text) ?? [];
  if (unit === 'd' || unit === 'h' || unit === 'm') return Number(count) * secondsPer[unit];
  throw new InvalidArgumentError('It must be a number of days, hours or minutes: 90d, 24h, 30m.');
}

function entriesOf(text: string): string[] {
  return text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
}
