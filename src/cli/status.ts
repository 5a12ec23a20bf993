// `tallybook status`: what needs a person. It asks the service that runs on this machine, and looks
// into the database and the folder of backups. Exit code 1 when anything needs somebody.

import { get as getHttp, type RequestOptions } from 'node:http';
import { get as getHttps } from 'node:https';
import type { Credential } from '../access/operator/credentials.ts';
import { type Config, readConfig, UsageError } from '../config.ts';
import { limits } from '../core/limits.ts';
import { systemMessage } from '../core/system-failure.ts';
import type { Database } from '../database/connect.ts';
import { type CommonFlags, define, withStore } from './command.ts';
import type { DocumentedCommand } from './help.ts';
import { count, show } from './output.ts';

interface StatusFlags extends CommonFlags {
  readonly backupDir?: string;
  readonly url?: string;
}

/** What somebody has to do. */
interface Need {
  readonly about: 'service' | 'database' | 'backup' | 'token' | 'webhook' | 'certificate' | 'log';
  readonly what: string;
  readonly remedy: string;
}

export function defineStatus(program: DocumentedCommand): void {
  define(program, {
    name: 'status',
    description:
      'List what needs a person: a service or a database that does not answer, a backup that ' +
      'failed or is old, tokens and a certificate that end within 14 days, webhooks that failed ' +
      'until they were paused, lost lines of the log. Exit code 1 when there is anything.',
    example: 'tallybook status --data ./data --url http://127.0.0.1:8080',
    variables: ['host', 'port', 'tlsCert', 'tlsKey', 'backupDir'],
  })
    .option('--url <url>', 'where the service answers (default: http://127.0.0.1:8080)')
    .option('--backup-dir <folder>', 'the folder of "serve --backup-dir", if there is one')
    .action(status);
}

async function status(flags: StatusFlags): Promise<void> {
  const config = readConfig(flags);
  const service = await askService(flags.url ?? urlOf(config));
  const needs = [
    ...serviceNeeds(service),
    ...(await backupNeeds(config, service)),
    ...(await databaseNeeds(flags)),
  ];
  const { url, ready } = service;
  await show(flags, { ok: needs.length === 0, service: { url, ready }, needs }, describe);
  if (needs.length > 0) process.exitCode = 1;
}

interface Service {
  readonly url: string;
  /** Null: it does not answer. */
  readonly ready: boolean | null;
  /** As `/readyz` says it. */
  readonly details: Details;
}

interface Details {
  readonly log_lines_lost?: number;
  readonly certificate_ends?: string;
  readonly backup?: { readonly last: string | null; readonly failed: boolean };
}

/** Its own address: what a proxy before it says is not asked. */
export function urlOf({ host, port, tls }: Config): string {
  const everywhere: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };
  const address = everywhere[host] ?? host;
  const name = address.includes(':') ? `[${address}]` : address;
  return `${tls === undefined ? 'http' : 'https'}://${name}:${port}`;
}

async function askService(url: string): Promise<Service> {
  if (!/^https?:\/\/[^/]+$/.test(url)) {
    throw new UsageError('--url must be an origin such as https://127.0.0.1:8443');
  }
  try {
    const { status: code, body } = await readiness(`${url}/readyz`, url.startsWith('https:'));
    return { url, ready: code === 200, details: code === 200 ? JSON.parse(body) : {} };
  } catch {
    return { url, ready: null, details: {} };
  }
}

const answerWithinMs = 5_000;

function readiness(url: string, isSecure: boolean): Promise<{ status?: number; body: string }> {
  // Its certificate names another host, and nothing secret is sent to it.
  const options = { rejectUnauthorized: false, timeout: answerWithinMs };
  const get: (url: string, options: RequestOptions) => ReturnType<typeof getHttp> = isSecure
    ? getHttps
    : getHttp;
  return new Promise((resolve, reject) => {
    const request = get(url, options);
    request.on('error', reject);
    request.on('timeout', () => request.destroy(new Error('it does not answer')));
    request.on('response', async (response) => {
      let body = '';
      for await (const chunk of response) body += String(chunk);
      resolve({ ...(response.statusCode && { status: response.statusCode }), body });
    });
  });
}

function serviceNeeds({ url, ready, details }: Service): Need[] {
  if (ready === null) {
    const remedy = 'start it, or name its address with --url';
    return [{ about: 'service', what: `nothing answers at ${url}`, remedy }];
  }
  if (!ready) {
    const remedy =
      'its log says why; it becomes ready by itself when its database answers (or --url names ' +
      'another service)';
    return [{ about: 'service', what: `it is not ready at ${url}`, remedy }];
  }
  const { log_lines_lost: lost = 0, certificate_ends: ends } = details;
  const needs: Need[] = [];
  if (lost > 0) {
    const remedy = 'see what reads the log, and whether its disk is full';
    needs.push({ about: 'log', what: `${count(lost, 'line')} of the log were lost`, remedy });
  }
  if (ends !== undefined && Date.parse(ends) - Date.now() < soonSeconds * 1_000) {
    const remedy = 'renew it: the service uses the new files by itself';
    needs.push({ about: 'certificate', what: `it ends at ${ends}`, remedy });
  }
  return needs;
}

const soonSeconds = limits.needsDays * 86_400;
const oldBackupMs = limits.backupOldHours * 3_600_000;

async function backupNeeds(
  { backups, storage }: Config,
  { ready, details }: Service,
): Promise<Need[]> {
  const { BackupFolder } = await import('../backups/folder.ts');
  const found = backups && new BackupFolder(backups.directory).state();
  const shown = details.backup;
  if (found === undefined && shown === undefined) {
    // A service that does not answer cannot say whether it takes them. A database of the operator's
    // own has backups of its own.
    if (ready !== true || storage.kind === 'external') return [];
    const what = 'the service takes none';
    return [{ about: 'backup', what, remedy: 'let it: serve --backup-dir <folder>' }];
  }
  if (found?.failure !== undefined || shown?.failed) {
    const { at, reason = 'the log of the service says why' } = found?.failure ?? {};
    const when = at === undefined ? '' : ` at ${at.toISOString()}`;
    return [{ about: 'backup', what: `the last one failed${when}`, remedy: reason }];
  }
  const last = found === undefined && shown?.last ? new Date(shown.last) : found?.last;
  const isOld = last === undefined || Date.now() - +last > oldBackupMs;
  if (!isOld) return [];
  const what =
    last === undefined ? 'there is none yet' : `the last one is of ${last.toISOString()}`;
  const remedy = 'see in the log whether the service takes them: it does so while it runs';
  return [{ about: 'backup', what, remedy }];
}

async function databaseNeeds(flags: StatusFlags): Promise<Need[]> {
  try {
    return await withStore(flags, ({ database }) => merchantNeeds(database));
  } catch (error) {
    const what = error instanceof Error ? systemMessage(error) : String(error);
    return [{ about: 'database', what, remedy: 'the service cannot write before this is mended' }];
  }
}

async function merchantNeeds(database: Database): Promise<Need[]> {
  const { reader } = database;
  const { allMerchants } = await import('../access/operator/merchants.ts');
  const { endingCredentials } = await import('../access/operator/credentials.ts');
  const { countPaused } = await import('../webhooks/store.ts');
  const needs: Need[] = [];
  const readerIn = (cell: string) => database.inCell(cell).reader;
  for await (const { id, cell, disabled_at } of allMerchants(reader)) {
    if (disabled_at !== null) continue;
    const ending = await endingCredentials(reader, id, soonSeconds);
    needs.push(...ending.filter(isNearEnd).map(tokenNeed));
    for (const { pause_reason: why, webhooks } of await readerIn(cell).query(countPaused(id))) {
      const verb = webhooks === 1 ? 'is' : 'are';
      const what = `${count(webhooks, 'webhook')} of ${id} ${verb} paused: ${why}`;
      needs.push({ about: 'webhook', what, remedy: remedyOfPaused });
    }
  }
  return needs;
}

const remedyOfPaused =
  'whoever made it resumes it, once its receiver answers: PATCH /webhooks/{id} with ' +
  '"status": "active"';

const hasEnded = (time: string | null): boolean => time !== null && Date.parse(time) <= Date.now();

/** A token of a week is named in its last days, not from its first on. */
function isNearEnd({ tokens: [newest] }: Credential): boolean {
  if (newest === undefined) return true;
  const end = Date.parse(newest.expires_at);
  return end - Date.now() < (end - Date.parse(newest.created_at)) / 3;
}

function tokenNeed({ id, name, merchant_id, expires_at }: Credential): Need {
  return {
    about: 'token',
    what: `"${name}" of ${merchant_id} ${hasEnded(expires_at) ? 'ended' : 'ends'} at ${expires_at}`,
    remedy: `tallybook token rotate ${id}, or revoke it`,
  };
}

function describe({
  ok,
  needs,
}: {
  readonly ok: boolean;
  readonly needs: readonly Need[];
}): string {
  if (ok) return 'Nothing needs you.';
  const lines = needs.map(
    ({ about, what, remedy }, n) => `${n + 1}. ${about}: ${what}\n   ${remedy}`,
  );
  return lines.join('\n');
}
