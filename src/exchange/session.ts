// One import from its file to its report: checked as a whole, then a run that goes on or begins.

import { randomBytes } from 'node:crypto';
import type { Credential, Tallybook } from '@tallybook/client';
import { type Checked, checkFile } from './check.ts';
import { firstBudgetMs } from './client.ts';
import type { RowFault } from './fault.ts';
import type { SourceFile } from './file.ts';
import { locationByCode } from './find.ts';
import type { ColumnMap } from './header.ts';
import { isRecordNoun, type Noun } from './nouns.ts';
import { type Preview, preview } from './preview.ts';
import { carryOut } from './run.ts';
import { lockRun, type Run, RunFile, type Totals } from './run-file.ts';
import { CountSender, countMoment } from './send-counts.ts';
import { RecordSender } from './send-records.ts';

export interface ImportOptions {
  readonly noun: Noun;
  readonly map: ColumnMap;
  /** The column that records are found by; otherwise the first that there is. */
  readonly by: string | undefined;
  readonly add: boolean;
  /** Of counts. */
  readonly location: string | undefined;
  readonly reference: string | undefined;
  readonly note: string | undefined;
}

export interface Surroundings {
  readonly tb: Tallybook;
  readonly signal: AbortSignal;
  tell(fault: RowFault): void;
  /** Hears once how many rows there are, and how many are done already. */
  begin(rows: number, done: number): void;
  progress(rows: number): void;
  /** No more of it will come. */
  end(): void;
  /** Hears what a person should know. */
  say(sentence: string): void;
  /** @throws Error unless another run is wanted. */
  confirmAnother(reason: string): Promise<void>;
}

export interface Report {
  readonly rows: number;
  readonly totals: Totals;
  readonly refusedPath: string | undefined;
}

interface Target {
  readonly credential: Credential;
  readonly location_id: string | undefined;
}

/** Sends what the file says. @throws FileFaults when something is wrong with it. */
export async function importFile(
  file: SourceFile,
  options: ImportOptions,
  around: Surroundings,
): Promise<Report> {
  const checked = await checkFile(file, options, around.tell);
  const target = await reach(options, around);
  const path = `${file.path}.import`;
  const unlock = await lockRun(path);
  try {
    const run = await runOf(path, { checked, target, options }, around);
    const runFile = new RunFile(path, run);
    await runFile.save();
    around.begin(run.rows, run.rows_done);
    const refusedPath = await carryOut({
      ...{ file, noun: options.noun, map: options.map, runFile },
      sender: senderOf(options, target, checked, run, around),
      signal: around.signal,
      progress: around.progress,
    });
    around.end();
    return { rows: run.rows, totals: run.totals, refusedPath };
  } finally {
    await unlock();
  }
}

/** What an import would change. It writes nothing anywhere. */
export async function previewFile(
  file: SourceFile,
  options: ImportOptions,
  around: Surroundings,
  show: (line: string) => void,
): Promise<Preview> {
  const checked = await checkFile(file, options, around.tell);
  const { location_id } = await reach(options, around);
  around.begin(checked.rows, 0);
  const finders = findersOf(options, checked);
  const asked = { file, noun: options.noun, map: options.map, finders, location_id };
  const seen = await preview(asked, around, show);
  around.end();
  return seen;
}

/** @throws Error when the credential may not do it, or there is no such location. */
async function reach(
  { noun, location }: ImportOptions,
  { tb, signal }: Surroundings,
): Promise<Target> {
  const { data: credential } = await tb.credential.get({ signal, budgetMs: firstBudgetMs });
  const missing = noun.scopes.filter((scope) => !credential.scopes.some((one) => one === scope));
  if (missing.length > 0) throw new Error(`the token lacks the scope ${missing.join(' and ')}`);
  const location_id = location && (await locationByCode(tb, location, signal));
  return { credential, location_id };
}

/** The columns that records are found by, the first first. */
function findersOf({ noun, by }: ImportOptions, checked: Checked): string[] {
  const there = noun.finders.filter((name) => checked.has(name));
  if (by !== undefined && !there.includes(by)) throw new Error(`the file has no column ${by}`);
  return by === undefined ? there : [by, ...there.filter((name) => name !== by)];
}

interface Asked {
  readonly checked: Checked;
  readonly target: Target;
  readonly options: ImportOptions;
}

/** The run that is not finished yet, or another one. */
async function runOf(path: string, asked: Asked, around: Surroundings): Promise<Run> {
  const { checked, target, options } = asked;
  const { noun, map, by = null, add, reference = null, note = null } = options;
  const command = {
    import: noun.name,
    map,
    by,
    add,
    location_id: target.location_id ?? null,
    reference,
    note,
  };
  const found = await RunFile.read(path);
  if (found !== undefined) {
    const other = differenceOf(found, asked, command);
    if (!found.isFinished && other === undefined) {
      around.say(`going on at row ${found.rows_done + 1} of ${found.rows}`);
      return found;
    }
    const left = `${path} is of a run that is not finished, ${other ?? ''}`;
    if (!found.isFinished) await around.confirmAnother(left);
    else if (found.sha256 === checked.sha256)
      await around.confirmAnother('this file was imported already');
  }
  return {
    run: randomBytes(16).toString('hex'),
    credential_id: target.credential.id,
    sha256: checked.sha256,
    rows: checked.rows,
    command,
    // The moment when the run began, however long it takes: sales since then stay.
    counted_at: isRecordNoun(noun)
      ? null
      : await countMoment(around.tb, target.location_id ?? '', around.signal),
    isFinished: false,
    rows_done: 0,
    totals: { created: 0, changed: 0, unchanged: 0, refused: 0 },
    refused_bytes: 0,
    plans: {},
  };
}

/** Why a run is not the one that is asked for. */
function differenceOf(
  found: Run,
  { checked, target }: Asked,
  command: Run['command'],
): string | undefined {
  if (found.sha256 !== checked.sha256) return 'and the file was changed since';
  if (found.credential_id !== target.credential.id) {
    return `with another credential (${found.credential_id}), under which alone it can go on`;
  }
  const isSame = JSON.stringify(found.command) === JSON.stringify(command);
  return isSame ? undefined : 'with other options';
}

function senderOf(
  options: ImportOptions,
  { location_id = '' }: Target,
  checked: Checked,
  run: Run,
  connection: Surroundings,
) {
  const { noun, reference, note } = options;
  const finders = findersOf(options, checked);
  return isRecordNoun(noun)
    ? new RecordSender(connection, noun, finders, run.run)
    : new CountSender(connection, { location_id, reference, note }, finders, run);
}
