// `tallybook audit`: shows, exports and verifies the audit trail. It only reads, so that it works
// on a copy and on a standby as well. It shows altered lines as well.

import { type Command, InvalidArgumentError, Option } from 'commander';
import type { AuditFilter } from '../access/audit/read.ts';
import type { AuditRecord } from '../access/audit/store.ts';
import type { ChainFault, ChainReport } from '../access/audit/verify.ts';
import { formats } from '../contract/format.ts';
import { type CommonFlags, define, durationOf, group, idOf, withStore } from './command.ts';
import type { DocumentedCommand } from './help.ts';
import { count, members, show, table, timeText } from './output.ts';

interface FilterFlags extends CommonFlags {
  readonly since?: string;
  readonly until?: string;
  readonly merchant?: string;
  readonly credential?: string;
  readonly action?: string;
  readonly denied?: boolean;
}

const limitDefault = 20;
const limitMax = 10_000;
const denied = 'request.denied';

export function defineAudit(program: DocumentedCommand): void {
  const audit = group(program, {
    name: 'audit',
    description: 'Show, export and verify what operators did and which requests were denied.',
    example: 'tallybook audit list --since 24h',
  });
  const list = define(audit, {
    name: 'list',
    description: 'List the newest records of the audit trail, the newest last.',
    example: 'tallybook audit list --denied --since 24h --limit 50',
  });
  addFilters(list)
    .addOption(
      new Option('--limit <number>', `how many at most, up to ${limitMax}`)
        .argParser(limitOf)
        .default(limitDefault),
    )
    .action(listRecords);
  const all = define(audit, {
    name: 'export',
    description:
      'Print the audit trail as lines of JSON, the oldest first. Each is the line as it is ' +
      'stored, with its hash as the last member: SHA-256 of the hash before and the line.',
    example: 'tallybook audit export --since 2026-01-01 > audit.jsonl',
  });
  addFilters(all).action(exportRecords);
  define(audit, {
    name: 'verify',
    description:
      'Recompute the chain of the audit trail. Exit code 1 when a record was altered, removed or ' +
      'inserted, and which is the first.',
    example: 'tallybook audit verify --json',
  })
    .option('--expect <hash>', 'a hash that this command has shown before', hashOf)
    .action(verify);
}

function addFilters(command: Command): Command {
  return command
    .option('--since <time>', 'from then on: 2026-01-31, 2026-01-31T08:00:00Z, or 24h ago', timeOf)
    .option('--until <time>', 'before then, in the same forms', timeOf)
    .option('--merchant <merchant>', 'only of this merchant, mer_…', idOf('mer_'))
    .option('--credential <credential>', 'only of this credential, cred_…', idOf('cred_'))
    .option('--action <action>', 'only this action, such as token.create or token', actionOf)
    .addOption(new Option('--denied', 'only requests that were denied').conflicts('action'));
}

/** A time as RFC 3339; a day means its first moment in UTC. */
function timeOf(text: string): string {
  const time = /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(text) ? `${text}T00:00:00Z` : text;
  if (formats['date-time'](time) === undefined) return new Date(time).toISOString();
  if (/^[0-9]+[dhm]$/.test(text)) {
    return new Date(Date.now() - durationOf(text) * 1_000).toISOString();
  }
  throw new InvalidArgumentError('It must be a day, a time with its zone, or such as 24h.');
}

function actionOf(text: string): string {
  if (/^[a-z_]+(\.[a-z_]+)*$/.test(text)) return text;
  throw new InvalidArgumentError('It must be an action such as token.create, or its first word.');
}

function limitOf(text: string): number {
  const limit = /^[0-9]{1,5}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= limitMax) return limit;
  throw new InvalidArgumentError(`It must be a number from 1 to ${limitMax}.`);
}

function hashOf(text: string): string {
  if (/^[0-9a-f]{64}$/i.test(text)) return text.toLowerCase();
  throw new InvalidArgumentError('It must be a hash of 64 hexadecimal digits.');
}

async function listRecords(flags: FilterFlags & { readonly limit: number }): Promise<void> {
  const records = await withStore(flags, async ({ database }) => {
    const { newestRecords } = await import('../access/audit/read.ts');
    return newestRecords(database.reader, filterOf(flags), flags.limit);
  });
  await show(flags, records.map(shown), (all) =>
    all.length === 0
      ? 'There is no such record.'
      : table(['Time', 'Action', 'Who', 'What'], all.map(rowOf)),
  );
}

/** With --json they are one array. */
async function exportRecords(flags: FilterFlags): Promise<void> {
  const isArray = flags.json === true;
  const separator = isArray ? ',\n' : '\n';
  const print = printer();
  await withStore(flags, async ({ database }) => {
    const { allRecords, exportedLine } = await import('../access/audit/read.ts');
    let lead = isArray ? '[' : '';
    for await (const records of allRecords(database.reader, filterOf(flags))) {
      const isRead = await print(lead + records.map(exportedLine).join(separator));
      if (!isRead) return;
      lead = separator;
    }
    const isEmpty = lead !== separator;
    if (isArray) await print(isEmpty ? '[]\n' : ']\n');
    else if (!isEmpty) await print('\n');
  });
}

/** Writes as fast as the reader reads. The result says whether there still is a reader. */
function printer(): (text: string) => Promise<boolean> {
  const stdout = process.stdout;
  let isRead = true;
  const gone = new Promise<void>((resolve) => {
    stdout.once('error', () => {
      isRead = false;
      resolve();
    });
  });
  return async (text) => {
    if (!stdout.write(text)) {
      await Promise.race([gone, new Promise((resolve) => stdout.once('drain', resolve))]);
    }
    return isRead;
  };
}

async function verify(flags: CommonFlags & { readonly expect?: string }): Promise<void> {
  const report = await withStore(flags, async ({ database }) => {
    const { verifyChain } = await import('../access/audit/verify.ts');
    return verifyChain(database.reader, { expect: flags.expect });
  });
  await show(flags, report, describe);
  if (!report.ok) process.exitCode = 1;
}

function describe({ records, last, fault }: ChainReport): string {
  const texts: string[] = [];
  if (fault === null) texts.push(`The audit trail is sound: ${count(records, 'record')}.`);
  else texts.push(faultText(fault), `Sound before it: ${count(records, 'record')}.`);
  if (last !== null) {
    texts.push(
      members([
        ['Last sound', `record ${last.number} of ${last.day}`],
        ['Hash', last.hash],
      ]),
    );
  }
  if (fault === null && last !== null) {
    texts.push(
      'Keep the hash elsewhere: with --expect, this command then finds even a trail that\n' +
        'somebody has made anew.',
    );
  }
  return texts.join('\n\n');
}

function faultText(fault: ChainFault): string {
  return (
    `${faultName(fault)}: ${fault.message}.\nSomebody changed the table, or its disk is damaged. ` +
    'Keep what is there ("tallybook audit\nexport"), and compare it with the trail in a backup.'
  );
}

/** The fault, with the record that has it, if there is one. */
export function faultName({ kind, day, number }: ChainFault): string {
  if (day === null) return 'The audit trail is altered';
  return `Record ${number} of ${day} ${kind === 'missing' ? 'is' : 'was'} ${kind}`;
}

function filterOf(flags: FilterFlags): AuditFilter {
  const { since, until, merchant, credential } = flags;
  const action = flags.denied === true ? denied : flags.action;
  return { since, until, merchant, credential, action };
}

type Shown = Readonly<Record<string, unknown>>;

/** The members of the line and its hash. An altered line may be anything. */
function shown({ day, number, line, hash }: AuditRecord): Shown {
  try {
    return { ...JSON.parse(line), hash };
  } catch {
    return { day, number, line, hash };
  }
}

function rowOf(record: Shown): string[] {
  const { at, action, operator, credential_id, application_id, merchant_id, address } = record;
  const caller = [credential_id, application_id, merchant_id, address];
  const who = operator === undefined ? caller : [operator];
  return [
    typeof at === 'string' ? plain(timeText(at)) : '-',
    textOf(action),
    who
      .filter((one) => one !== undefined)
      .map(textOf)
      .join('\n') || 'unknown',
    action === denied ? denialText(record) : operatorText(record),
  ];
}

function denialText(record: Shown): string {
  const { method, route, status, code, scope, count: times, request_id } = record;
  const request =
    route === undefined ? 'requests without a line of their own' : `${method} ${route}`;
  const why = [status, code, scope].filter((one) => one !== undefined).join(' ');
  const id = request_id === undefined ? '' : `\nrequest ${request_id}`;
  return plain(`${request}\n${why}${times === 1 ? '' : `, ${times} times`}${id}`);
}

function operatorText(record: Shown): string {
  return Object.entries(record)
    .filter(([name]) => !shownElsewhere.includes(name))
    .map(([name, value]) =>
      plain(`${name.replace(/_id$/, '').replaceAll('_', ' ')} ${wordsOf(value)}`),
    )
    .join('\n');
}

function wordsOf(value: unknown): string {
  if (value === null) return 'none';
  if (Array.isArray(value)) return value.map(wordsOf).join(', ') || 'none';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** Members with a column of their own, and those that only `verify` needs. */
const shownElsewhere = ['day', 'number', 'follows', 'at', 'action', 'operator', 'hash'];

function textOf(value: unknown): string {
  return value === undefined ? '-' : plain(String(value));
}

/** Without control characters, which a terminal would execute. */
function plain(text: string): string {
  return text.replaceAll(/[^\P{Cc}\n]/gu, '\uFFFD');
}
