// `tallybook import`: sends what files say over HTTP. A run that was interrupted goes on where it
// was: the same command sends the same requests with the same keys.

import { rm } from 'node:fs/promises';
import { setFlagsFromString } from 'node:v8';
import { InvalidArgumentError, Option } from 'commander';
import { UsageError } from '../config.ts';
import { faultText, type RowFault } from '../exchange/fault.ts';
import type { NounName } from '../exchange/nouns.ts';
import type { Preview } from '../exchange/preview.ts';
import type { Totals } from '../exchange/run-file.ts';
import type { ImportOptions, Report, Surroundings } from '../exchange/session.ts';
import type { FileFormat } from '../exchange/sheet.ts';
import { group } from './command.ts';
import { asked } from './confirm.ts';
import type { DocumentedCommand } from './help.ts';
import { count, show } from './output.ts';
import { clientOf, defineOverHttp, type HttpFlags, untilInterrupted } from './over-http.ts';
import { progressOf } from './progress.ts';

/** Of a preview in JSON. */
const linesKept = 10_000;

interface ImportFlags extends HttpFlags {
  readonly map: Readonly<Record<string, string>>;
  readonly by?: string;
  readonly format?: FileFormat;
  readonly add?: boolean;
  readonly dryRun?: boolean;
  readonly again?: boolean;
  readonly location?: string;
  readonly reference?: string;
  readonly note?: string;
}

const recordFinders = {
  products: ['external_id', 'sku'],
  customers: ['external_id'],
  locations: ['external_id', 'code'],
} as const;

export function defineImport(program: DocumentedCommand): void {
  const parent = group(program, {
    name: 'import',
    description: 'Send products, customers, locations or counts from a file, over HTTP.',
    example: 'tallybook import products products.csv --dry-run',
  });
  for (const [noun, finders] of Object.entries(recordFinders)) {
    const command = one(
      parent,
      noun as NounName,
      `Create and change ${noun} as the rows of a file say: found by ${finders.join(' or ')}, ` +
        'created if there is none. An empty cell clears; a column that is missing changes nothing.',
      '',
    ).option('--add', `make a new one of each row without ${finders.join(' or ')}`);
    if (finders.length > 1) {
      command.addOption(
        new Option('--by <column>', 'what they are found by, where a row has both').choices(
          finders,
        ),
      );
    }
  }
  one(
    parent,
    'counts',
    'Set levels at a location to what was counted: the column counted_quantity, products by ' +
      'external_id, sku or product_id. What moves after the import has begun is kept.',
    ' --location BER-1',
  )
    .requiredOption('--location <code>', 'where it was counted, by its code')
    .option('--reference <text>', 'what the count is called in your own system')
    .option('--note <text>', 'words for whoever reads the movements later');
}

function one(
  parent: DocumentedCommand,
  noun: NounName,
  description: string,
  options: string,
): DocumentedCommand {
  return defineOverHttp(parent, {
    name: noun,
    description,
    example: `tallybook import ${noun} ${noun}.csv${options} --dry-run`,
  })
    .argument('<file>', 'ends with .csv or .ndjson; "-" is standard input, with --format')
    .option(
      '--map <columns>',
      'what columns are: "Artikelnr=sku,Lager=" (nothing: left out)',
      mapOf,
      {},
    )
    .addOption(new Option('--format <format>', 'whatever the name says').choices(['csv', 'ndjson']))
    .option('--dry-run', 'show what would change, and change nothing')
    .option('--again', 'import a file once more that was imported already')
    .action((path: string, flags: ImportFlags) => run(noun, path, flags));
}

/** May be repeated. */
function mapOf(text: string, before: ImportFlags['map']): ImportFlags['map'] {
  const pairs = text.split(',').map((pair) => {
    const at = pair.lastIndexOf('=');
    if (at <= 0) throw new InvalidArgumentError('It must be COLUMN=MEMBER, several by comma.');
    return [pair.slice(0, at), pair.slice(at + 1).trim()] as const;
  });
  return { ...before, ...Object.fromEntries(pairs) };
}

async function run(noun: NounName, file: string, flags: ImportFlags): Promise<void> {
  const tb = await clientOf(flags);
  const { nouns } = await import('../exchange/nouns.ts');
  const progress = await progressOf('rows');
  // What a preview shows stands where the bar would be.
  const isQuiet = flags.dryRun === true && process.stdout.isTTY;
  let hasBegun = false;
  const { map, by, add = false, location, reference, note } = flags;
  const options = { noun: nouns[noun], map, by, add, location, reference, note };
  const faults: RowFault[] = [];
  const around = {
    tb,
    tell: (fault: RowFault) => tellOf(file, faults, fault),
    begin(rows: number, done: number) {
      hasBegun = flags.dryRun !== true;
      if (!isQuiet) progress.begin(rows, done);
    },
    progress: progress.update,
    end: progress.end,
    say,
    confirmAnother: (reason: string) => confirmAnother(reason, flags),
  };
  try {
    const done = await untilInterrupted((signal) =>
      perform(file, options, { ...around, signal }, flags).finally(progress.end),
    );
    if (done === 'interrupted') say(hasBegun ? `interrupted. ${goOn}` : 'interrupted');
  } catch (error) {
    if (hasBegun) say(goOn);
    if (faults.length === 0) throw error;
    if (flags.json === true) await show(flags, { faults }, () => '');
    throw new UsageError(Object(error).message);
  }
}

const goOn = 'The same command goes on where it was.';
const say = (sentence: string) => void process.stderr.write(`${sentence}\n`);

/** As many as a JSON value of a few megabytes has. */
const faultsKept = 10_000;

function tellOf(file: string, faults: RowFault[], fault: RowFault): void {
  if (faults.length < faultsKept) faults.push(fault);
  say(`${file === '-' ? 'standard input' : file}: ${faultText(fault)}`);
}

async function perform(
  file: string,
  options: ImportOptions,
  around: Surroundings,
  flags: ImportFlags,
): Promise<void> {
  // A million rows took 157 MB without it, and 122 MB with it, as fast.
  setFlagsFromString('--optimize-for-size');
  const { openSource } = await import('../exchange/check.ts');
  const path = file === '-' ? await spooled(flags) : file;
  const source = await openSource(path, flags.format, around.tell);
  try {
    const { importFile, previewFile } = await import('../exchange/session.ts');
    if (flags.dryRun === true) {
      const lines: string[] = [];
      const showLine = (line: string) => {
        if (flags.json !== true) process.stdout.write(`${line}\n`);
        else if (lines.length < linesKept) lines.push(line);
      };
      const preview = await previewFile(source, options, around, showLine);
      await show(flags, { ...preview, changes: lines }, previewText);
    } else {
      const report = await importFile(source, options, around);
      if (file === '-') await rm(path);
      await showReport(report, flags);
    }
  } finally {
    await source.close();
  }
}

async function spooled({ format }: ImportFlags): Promise<string> {
  if (format === undefined) throw new UsageError('standard input has no name: add --format');
  if (process.stdin.isTTY) throw new UsageError('standard input is a terminal: name a file');
  const { spool } = await import('../exchange/spool.ts');
  return spool(process.stdin, format);
}

async function confirmAnother(reason: string, { again = false }: ImportFlags): Promise<void> {
  if (again) return;
  const question = `${reason}: import it as another run?`;
  const answer = await asked(question);
  if (answer === undefined) throw new UsageError(`${reason}; --again imports it as another run`);
  if (!answer) throw new Error('nothing was sent');
}

async function showReport(report: Report, flags: ImportFlags): Promise<void> {
  const { rows, totals, refusedPath = null } = report;
  await show(flags, { rows, ...totals, refused_file: refusedPath }, (shown) =>
    [
      `${count(rows, 'row')}: ${totalsText(shown)}.`,
      ...(refusedPath === null
        ? []
        : [`${refusedPath} has those, with the reasons, to be mended and imported.`]),
    ].join('\n'),
  );
  if (totals.refused > 0) process.exitCode = 1;
}

const previewText = (preview: Preview) =>
  `${count(preview.rows, 'row')}: ${totalsText(preview)}. Nothing was sent.`;

function totalsText({ created, changed, unchanged, refused }: Totals): string {
  const refusals = refused === 0 ? '' : `, ${refused} refused`;
  return `${created} created, ${changed} changed, ${unchanged} unchanged${refusals}`;
}
