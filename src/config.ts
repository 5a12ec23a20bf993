// The configuration, and the only place that reads the environment. A flag overrides its variable,
// and an empty variable counts as unset. Every setting is one entry of `settings`, from which the
// operator's documentation is made. A wrong setting is refused before anything has started.

import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { type AllowedDestination, readDestination } from './core/destination.ts';
import { entriesOf, isAddressRange, originIn, timeOfDay, wholeNumber } from './core/entries.ts';

/** One setting, as the documentation lists it. */
export interface Setting {
  readonly variable: string;
  readonly flag?: string;
  readonly default: string;
  readonly meaning: string;
}

export const settings = {
  databaseUrl: {
    variable: 'DATABASE_URL',
    flag: '--database-url',
    default: 'the private PostgreSQL in the data directory',
    meaning: 'The PostgreSQL (15 or newer) to use, as the role of the service.',
  },
  data: {
    variable: 'TALLYBOOK_DATA',
    flag: '--data',
    default: '`./data`, or `/var/lib/tallybook` when root',
    meaning: 'The data directory. Not used with `DATABASE_URL`; the flag is refused then.',
  },
  host: {
    variable: 'TALLYBOOK_HOST',
    flag: '--host',
    default: '127.0.0.1',
    meaning: 'The address to listen on.',
  },
  port: {
    variable: 'TALLYBOOK_PORT',
    flag: '--port',
    default: '8080',
    meaning: 'The port to listen on; 0 takes a free one.',
  },
  tlsCert: {
    variable: 'TALLYBOOK_TLS_CERT',
    flag: '--tls-cert',
    default: 'none: HTTP',
    meaning: 'A certificate with its chain (PEM), to speak HTTPS without a proxy.',
  },
  tlsKey: {
    variable: 'TALLYBOOK_TLS_KEY',
    flag: '--tls-key',
    default: 'none',
    meaning: 'The key of that certificate (PEM). Both files are read again when they change.',
  },
  workers: {
    variable: 'TALLYBOOK_WORKERS',
    flag: '--workers',
    default: '1',
    meaning: 'How many processes serve as this node: a number, or auto for one per processor.',
  },
  publicUrl: {
    variable: 'TALLYBOOK_PUBLIC_URL',
    default: 'the listening address',
    meaning: 'The origin under which clients reach the service: issuer and links.',
  },
  secret: {
    variable: 'TALLYBOOK_SECRET',
    default: 'made and kept in the data directory',
    meaning:
      'Keys for cursors and for the secrets of webhooks, the same on every node. Required with ' +
      '`DATABASE_URL`.',
  },
  trustedProxies: {
    variable: 'TALLYBOOK_TRUSTED_PROXIES',
    default: 'none',
    meaning: 'Addresses and CIDR ranges, by comma, whose `X-Forwarded-For` is believed.',
  },
  webhookAllow: {
    variable: 'TALLYBOOK_WEBHOOK_ALLOW',
    default: 'none: public addresses over HTTPS',
    meaning:
      'Hosts, addresses and CIDR ranges, by comma, that webhooks may call although they are ' +
      'private, and without TLS; `host:port` for one port.',
  },
  webhooks: {
    variable: 'TALLYBOOK_WEBHOOKS',
    default: 'on',
    meaning: 'on or off: whether this node calls the receivers of webhooks. Off for a copy.',
  },
  backupDir: {
    variable: 'TALLYBOOK_BACKUP_DIR',
    flag: '--backup-dir',
    default: 'off',
    meaning: 'A folder for a backup each day, each restored and verified. On one node only.',
  },
  backupAt: {
    variable: 'TALLYBOOK_BACKUP_AT',
    flag: '--backup-at',
    default: '03:00',
    meaning: 'When, by the clock and the time zone of the machine.',
  },
  backupKeep: {
    variable: 'TALLYBOOK_BACKUP_KEEP',
    flag: '--keep',
    default: '14',
    meaning: 'How many of these backups stay.',
  },
  logLevel: {
    variable: 'TALLYBOOK_LOG_LEVEL',
    default: 'info',
    meaning: 'trace, debug, info, warn, error, fatal or silent.',
  },
  logAddresses: {
    variable: 'TALLYBOOK_LOG_ADDRESSES',
    default: 'on',
    meaning: 'on or off: whether the line of a request has the address of the client.',
  },
  metricsPort: {
    variable: 'TALLYBOOK_METRICS_PORT',
    default: 'off',
    meaning: 'The port that serves `/metrics`.',
  },
  postgresBin: {
    variable: 'TALLYBOOK_POSTGRES_BIN',
    default: 'the packaged PostgreSQL 18',
    meaning: 'The bin folder of another PostgreSQL, 17 or newer, for the data directory.',
  },
  migrateUrl: {
    variable: 'TALLYBOOK_MIGRATE_URL',
    default: '`DATABASE_URL`',
    meaning: 'The same database as the owner of the schema, for migrations. Needs `DATABASE_URL`.',
  },
} as const satisfies Record<string, Setting>;

export type SettingName = keyof typeof settings;

const workersMax = 64;

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

export type LogLevel = (typeof logLevels)[number];

/** Where the database is: private to a data directory, or on the operator's own server. */
export type Storage =
  | {
      readonly kind: 'private';
      /** Absolute. */
      readonly dataDirectory: string;
      readonly binDirectory: string | undefined;
    }
  | {
      readonly kind: 'external';
      readonly databaseUrl: string;
      readonly migrateUrl: string | undefined;
    };

/** The backups that the service takes by itself. */
export interface Backups {
  /** Absolute. */
  readonly directory: string;
  readonly at: { readonly hour: number; readonly minute: number };
  readonly keep: number;
}

export interface Config {
  readonly storage: Storage;
  readonly host: string;
  readonly port: number;
  /** Processes that serve; with one there is no other process. */
  readonly workers: number;
  /** Undefined: HTTP. */
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  /** An origin without a slash at its end; undefined: the listening address. */
  readonly publicUrl: string | undefined;
  readonly secret: string | undefined;
  readonly trustedProxies: readonly string[];
  /** Whether receivers of webhooks are called. */
  readonly webhooks: boolean;
  /** What webhooks may call beside public addresses. */
  readonly webhookAllow: readonly AllowedDestination[];
  /** Undefined: the service takes none. */
  readonly backups: Backups | undefined;
  readonly logLevel: LogLevel;
  /** Whether the log has the addresses of clients. */
  readonly logAddresses: boolean;
  /** Undefined: no metrics are served. */
  readonly metricsPort: number | undefined;
}

/** The flags of the command line, as typed. */
export interface Flags {
  readonly data?: string | undefined;
  readonly databaseUrl?: string | undefined;
  readonly host?: string | undefined;
  readonly port?: string | undefined;
  readonly workers?: string | undefined;
  readonly tlsCert?: string | undefined;
  readonly tlsKey?: string | undefined;
  readonly backupDir?: string | undefined;
  readonly backupAt?: string | undefined;
  readonly keep?: string | undefined;
}

/** A wrong flag, argument or setting: exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

type Environment = Readonly<Record<string, string | undefined>>;

/** @throws UsageError naming the setting and what it may be. */
export function readConfig(flags: Flags, environment: Environment = process.env): Config {
  const variable = (name: SettingName) => {
    const value = environment[settings[name].variable];
    return value === '' ? undefined : value;
  };
  const port = flags.port ?? variable('port');
  const publicUrl = variable('publicUrl');
  const metricsPort = variable('metricsPort');
  return {
    storage: storageOf(flags, variable),
    host: flags.host ?? variable('host') ?? settings.host.default,
    port: portOf('port', port ?? settings.port.default),
    workers: workersOf(flags.workers ?? variable('workers') ?? settings.workers.default),
    tls: tlsOf(flags.tlsCert ?? variable('tlsCert'), flags.tlsKey ?? variable('tlsKey')),
    publicUrl: publicUrl === undefined ? undefined : originOf(publicUrl),
    secret: variable('secret'),
    trustedProxies: proxiesOf(variable('trustedProxies') ?? ''),
    webhooks: isOn('webhooks', variable('webhooks') ?? settings.webhooks.default),
    webhookAllow: destinationsOf(variable('webhookAllow') ?? ''),
    backups: backupsOf(flags, variable),
    logLevel: logLevelOf(variable('logLevel') ?? settings.logLevel.default),
    logAddresses: isOn('logAddresses', variable('logAddresses') ?? settings.logAddresses.default),
    metricsPort: metricsPort === undefined ? undefined : portOf('metricsPort', metricsPort),
  };
}

/** Where the commands that work over HTTP find the service. @throws UsageError */
export function clientSettings(flags: { readonly url?: string; readonly token?: string }) {
  const { url = process.env.TALLYBOOK_URL ?? '', token = process.env.TALLYBOOK_TOKEN ?? '' } =
    flags;
  if (url === '') throw new UsageError('--url or TALLYBOOK_URL must say where the service is');
  if (token === '') throw new UsageError('--token or TALLYBOOK_TOKEN must say who calls');
  if (!/^https?:/.test(url) || !URL.canParse(url)) {
    throw new UsageError(`--url must be an address such as http://127.0.0.1:8080, not ${url}`);
  }
  const base = url.replace(/(\/api\/v1)?\/*$/, '');
  return { baseUrl: `${base}/api/v1`, token };
}

/** Of a private server in a directory, whatever database the environment names. */
export function privateConfig(directory: string): Config {
  const { variable } = settings.postgresBin;
  return readConfig({ data: directory }, { [variable]: process.env[variable] });
}

function storageOf(flags: Flags, variable: (name: SettingName) => string | undefined): Storage {
  if (flags.data !== undefined && flags.databaseUrl !== undefined) {
    throw new UsageError('give either --data or --database-url, not both');
  }
  if (flags.data === '') throw new UsageError('--data must name a directory');
  const databaseUrl = flags.databaseUrl ?? variable('databaseUrl');
  if (flags.data !== undefined && (databaseUrl ?? variable('migrateUrl')) !== undefined) {
    const { variable: name } = databaseUrl ? settings.databaseUrl : settings.migrateUrl;
    throw new UsageError(
      `--data and ${name} name two databases: leave out --data, or unset ${name}`,
    );
  }
  if (databaseUrl !== undefined) {
    const migrateUrl = variable('migrateUrl');
    return {
      kind: 'external',
      databaseUrl: postgresUrl('databaseUrl', databaseUrl),
      migrateUrl: migrateUrl === undefined ? undefined : postgresUrl('migrateUrl', migrateUrl),
    };
  }
  // Otherwise a private server would be made, and nothing done in the database that is named.
  if (variable('migrateUrl') !== undefined) {
    throw new UsageError(
      `${settings.migrateUrl.variable} needs ${namesOf('databaseUrl')}, the same database as the ` +
        'role of the service',
    );
  }
  const isRoot = process.getuid?.() === 0;
  const directory = flags.data ?? variable('data') ?? (isRoot ? '/var/lib/tallybook' : './data');
  return {
    kind: 'private',
    dataDirectory: resolve(directory),
    binDirectory: variable('postgresBin'),
  };
}

/**
 * For a command on this storage, as a process of its own. Settings of `serve` are left out: half of
 * a pair, such as a variable whose other half is a flag, would be refused there.
 */
export function environmentFor(storage: Storage): Environment {
  const isPrivate = storage.kind === 'private';
  const { secret, logLevel } = settings;
  const unset = Object.values(settings).filter((one) => one !== secret && one !== logLevel);
  return {
    ...process.env,
    ...Object.fromEntries(unset.map(({ variable }) => [variable, ''])),
    [settings.data.variable]: isPrivate ? storage.dataDirectory : '',
    [settings.postgresBin.variable]: (isPrivate && storage.binDirectory) || '',
    [settings.databaseUrl.variable]: isPrivate ? '' : storage.databaseUrl,
    [settings.migrateUrl.variable]: (!isPrivate && storage.migrateUrl) || '',
  };
}

/** The value is not repeated in the message: it holds a password. */
function postgresUrl(name: SettingName, value: string): string {
  const protocol = URL.canParse(value) ? new URL(value).protocol : '';
  if (protocol === 'postgres:' || protocol === 'postgresql:') return value;
  throw wrong(name, 'a URL such as postgres://user:password@host:5432/database');
}

function portOf(name: SettingName, value: string): number {
  const port = wholeNumber(value);
  if (port >= 0 && port <= 65_535) return port;
  throw wrong(name, 'a number from 0 to 65535');
}

function backupsOf(
  flags: Flags,
  variable: (name: SettingName) => string | undefined,
): Backups | undefined {
  const directory = flags.backupDir ?? variable('backupDir');
  const at = flags.backupAt ?? variable('backupAt');
  const keep = flags.keep ?? variable('backupKeep');
  if (directory === undefined) {
    if (at === undefined && keep === undefined) return undefined;
    throw new UsageError(`${namesOf('backupDir')} is missing: without it there are no backups`);
  }
  const time = timeOfDay(at ?? settings.backupAt.default);
  if (time === undefined) throw wrong('backupAt', 'a time of day such as 03:00');
  const count = wholeNumber(keep ?? settings.backupKeep.default);
  if (!(count >= 1 && count <= 9_999)) throw wrong('backupKeep', 'from 1 to 9999');
  return {
    directory: resolve(directory),
    at: time,
    keep: count,
  };
}

function tlsOf(cert: string | undefined, key: string | undefined): Config['tls'] {
  if (cert === undefined && key === undefined) return undefined;
  if (cert !== undefined && key !== undefined) return { cert: resolve(cert), key: resolve(key) };
  const missing = cert === undefined ? 'tlsCert' : 'tlsKey';
  throw new UsageError(`${namesOf(missing)} is missing: a certificate and its key go together`);
}

function originOf(value: string): string {
  const origin = originIn(value);
  if (origin !== undefined) return origin;
  throw wrong('publicUrl', 'an origin such as https://books.example.com, without a path');
}

function proxiesOf(value: string): string[] {
  const proxies = entriesOf(value);
  if (proxies.every(isAddressRange)) return proxies;
  throw wrong('trustedProxies', 'addresses or CIDR ranges, such as 10.0.0.0/8,::1');
}

function destinationsOf(value: string): AllowedDestination[] {
  return entriesOf(value).map((entry) => {
    const destination = readDestination(entry);
    if (destination !== undefined) return destination;
    const examples = 'hooks.internal,localhost:8080,10.0.0.0/8';
    const expected = `hosts, addresses or CIDR ranges, such as ${examples}; ${entry} is none`;
    throw wrong('webhookAllow', expected);
  });
}

function workersOf(value: string): number {
  const count = value === 'auto' ? availableParallelism() : wholeNumber(value);
  if (count >= 1 && count <= workersMax) return count;
  throw wrong('workers', `a number from 1 to ${workersMax}, or auto`);
}

function logLevelOf(value: string): LogLevel {
  const level = logLevels.find((known) => known === value);
  if (level === undefined) throw wrong('logLevel', `one of ${logLevels.join(', ')}`);
  return level;
}

function isOn(name: SettingName, value: string): boolean {
  if (value !== 'on' && value !== 'off') throw wrong(name, 'on or off');
  return value === 'on';
}

function wrong(name: SettingName, expected: string): UsageError {
  return new UsageError(`${namesOf(name)} must be ${expected}`);
}

/** As a message names it: the flag, if there is one, or the variable. */
export function namesOf(name: SettingName): string {
  const setting: Setting = settings[name];
  return setting.flag === undefined ? setting.variable : `${setting.flag} or ${setting.variable}`;
}
