// The first reading of a file: everything that is wrong with it, before anything is sent.

import type { JsonObject } from '../contract/json.ts';
import { FileFaults, type RowFault, Unreadable } from './fault.ts';
import { SourceFile } from './file.ts';
import { type ColumnMap, headerFaults } from './header.ts';
import type { Noun } from './nouns.ts';
import { Lines } from './repetitions.ts';
import { RowReader, textAt } from './rows.ts';
import type { Bytes, FileFormat, SheetRow } from './sheet.ts';

export interface FileOptions {
  readonly noun: Noun;
  readonly map: ColumnMap;
  /** Rows that name no record make a new one. */
  readonly add: boolean;
  /** Of counts: the code of the location. */
  readonly location: string | undefined;
}

export interface Checked {
  readonly sha256: string;
  readonly rows: number;
  /** What the file can say of a row. */
  has(name: string): boolean;
}

/** @throws FileFaults when it cannot be what its name says. */
export async function openSource(
  path: string,
  format: FileFormat | undefined,
  tell: (fault: RowFault) => void,
): Promise<SourceFile> {
  try {
    return await SourceFile.open(path, format);
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    tell(error.fault);
    throw new FileFaults(`${path} has a fault; nothing was sent`);
  }
}

/**
 * @param tell hears of each fault at once: there may be a million.
 * @throws FileFaults when there was any.
 */
export async function checkFile(
  file: SourceFile,
  options: FileOptions,
  tell: (fault: RowFault) => void,
): Promise<Checked> {
  let faults = 0;
  const tellAll = (some: readonly RowFault[]) => {
    faults += some.length;
    for (const fault of some) tell(fault);
  };
  const checked = await checkRows(file, options, tellAll).catch((error: unknown) => {
    if (!(error instanceof Unreadable)) throw error;
    tellAll([error.fault]);
  });
  if (checked !== undefined && faults === 0) return checked;
  const count = faults === 1 ? 'a fault' : `${faults} faults`;
  throw new FileFaults(`${file.path} has ${count}; nothing was sent`);
}

async function checkRows(
  file: SourceFile,
  options: FileOptions,
  tell: (faults: readonly RowFault[]) => void,
): Promise<Checked> {
  const { noun, map } = options;
  const bytes: Bytes = { isText: true, sha256: undefined };
  const { header, rows } = await file.table(bytes);
  const wrong = header === undefined ? [] : headerFaults(noun, map, header);
  tell(wrong);
  const reader = new RowReader(noun, map, header);
  const placed = (fault: RowFault) => ({ ...fault, column: reader.place(fault.column) });
  const lines = new Lines();
  let count = 0;
  let unnamed: Unnamed = { rows: 0, line: 0 };
  for await (const row of rows) {
    count += 1;
    if (wrong.length > 0) continue;
    if (header === undefined && row.object === undefined) {
      tell(row.faults);
      continue;
    }
    const body = reader.read(row);
    tell(reader.faults(row, body));
    tell(repeated(noun, lines, row, body).map(placed));
    tell(misplaced(options, row, body).map(placed));
    if (noun.finders.some((name) => textAt(body, name) !== undefined)) continue;
    unnamed = { rows: unnamed.rows + 1, line: unnamed.line === 0 ? row.line : unnamed.line };
  }
  if (!options.add) tell(unnamedFaults(noun, unnamed));
  const { sha256 = '' } = bytes;
  return { sha256, rows: count, has: (name) => reader.has(name) };
}

/** What may be there once. */
function repeated(noun: Noun, lines: Lines, { line }: SheetRow, body: JsonObject): RowFault[] {
  return noun.unique.flatMap((name) => {
    const value = textAt(body, name);
    const before = value === undefined ? undefined : lines.lineOf(name, value, line);
    return before === undefined
      ? []
      : [{ line, column: name, message: `is that of line ${before}` }];
  });
}

/** A sheet of another location, which its export names. */
function misplaced({ location }: FileOptions, { line }: SheetRow, body: JsonObject): RowFault[] {
  const code = location === undefined ? undefined : textAt(body, 'location_code');
  if (code === undefined || code === location) return [];
  return [{ line, column: 'location_code', message: `is ${code}, and --location is ${location}` }];
}

interface Unnamed {
  readonly rows: number;
  /** The first. */
  readonly line: number;
}

function unnamedFaults(noun: Noun, { rows, line }: Unnamed): RowFault[] {
  if (rows === 0) return [];
  const names = noun.finders.join(' or ');
  const others = rows === 1 ? '' : `, nor have ${rows - 1} more rows`;
  const hint =
    noun.name === 'counts'
      ? 'which would name the product'
      : 'so that it would be made again by each import: --add makes it nevertheless';
  return [{ line, column: '', message: `has no ${names}${others}, ${hint}` }];
}
