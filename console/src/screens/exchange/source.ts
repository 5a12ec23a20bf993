// A chosen file: its rows, and what it is known by when it is chosen again.

import { type CsvError, parse } from 'csv-parse/browser/esm/sync';
import {
  breaksIn,
  delimiterOf,
  faultOfError,
  faultsOf,
  rowBytesMax,
} from '../../../../src/exchange/csv-text.ts';
import { faultText } from '../../../../src/exchange/fault.ts';
import type { SheetRow } from '../../../../src/exchange/sheet.ts';
import { texts } from '../../texts.ts';

export interface Source {
  readonly name: string;
  /** Of its bytes. */
  readonly mark: string;
  readonly delimiter: string;
  readonly header: readonly string[];
  readonly rows: readonly SheetRow[];
}

/** What all rows have, by the name of the field, because the file has no column of it. */
export type Constants = Readonly<Record<string, string>>;

/** As if the file had these columns. */
export function withConstants(source: Source, constants: Constants): Source {
  const values = Object.values(constants);
  if (values.length === 0) return source;
  return {
    ...source,
    header: [...source.header, ...Object.keys(constants)],
    rows: source.rows.map((row) => ({ ...row, cells: [...row.cells, ...values] })),
  };
}

interface Parsed {
  readonly info: { readonly lines: number };
  readonly record: readonly string[];
}

/** @throws Error that says what is wrong with the file as a whole. */
export async function readSource(file: File): Promise<Source> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const text = textOf(bytes);
  const delimiter = delimiterOf(text);
  const [first, ...others] = parsed(text, delimiter);
  if (first === undefined || others.length === 0) throw new Error(texts.exchange.empty);
  const header = first.record.map((name) => name.trim());
  const rows = others.map(({ record, info }, index): SheetRow => {
    const line = info.lines - breaksIn(record);
    const known = { isText: true, sha256: undefined };
    const faults = faultsOf(record, line, header, known);
    return { index, line, cells: record, object: undefined, faults };
  });
  return { name: file.name, mark: markOf(bytes), delimiter, header, rows };
}

function textOf(bytes: Uint8Array<ArrayBuffer>): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Error(texts.exchange.notText);
  }
}

function parsed(text: string, delimiter: string): readonly Parsed[] {
  try {
    return parse(text, {
      bom: true,
      info: true,
      delimiter,
      relax_column_count: true,
      skip_empty_lines: true,
      record_delimiter: ['\r\n', '\n', '\r'],
      max_record_size: rowBytesMax,
    }) as unknown as readonly Parsed[];
  } catch (error) {
    const { lines = 0 } = error as CsvError & { readonly lines?: number };
    const fault = faultOfError(error as CsvError, { line: lines - 1, header: [] });
    throw new Error(faultText(fault));
  }
}

/** Two hashes of 32 bits and the size: a page that came over http has no SHA-256. */
function markOf(bytes: Uint8Array): string {
  let one = 0x811c9dc5;
  let other = 0x9e3779b9;
  for (const byte of bytes) {
    one = Math.imul(one ^ byte, 0x01000193);
    other = Math.imul(other + byte, 0x85ebca6b) ^ (other >>> 13);
  }
  const hex = (value: number) => (value >>> 0).toString(16).padStart(8, '0');
  return `${bytes.length}-${hex(one)}${hex(other)}`;
}
