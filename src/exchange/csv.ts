// CSV as rows with the number of their line. Where its quotes are wrong nothing that follows can
// be trusted, so that reading ends there.

import { pipeline } from 'node:stream';
import { type CsvError, parse } from 'csv-parse';
import { type RowFault, Unreadable } from './fault.ts';
import type { Bytes, Sheet, SheetRow } from './sheet.ts';

/** No valid row is longer: its body could not be sent. */
const rowBytesMax = 1_000_000;

interface Parsed {
  readonly info: { readonly lines: number };
  readonly record: readonly string[];
}

/** What the first line has most of, outside of quotes: spreadsheets write what a country uses. */
export function delimiterOf(text: string): string {
  const [line = ''] = text.replace(/"[^"]*"/g, '').split(/\r?\n|\r/, 1);
  const counted = [',', ';', '\t'].map((sign) => [line.split(sign).length, sign] as const);
  return counted.reduce((most, one) => (one[0] > most[0] ? one : most))[1];
}

export async function csvRows(
  chunks: AsyncIterable<Buffer>,
  bytes: Bytes,
  delimiter: string,
): Promise<Sheet> {
  const parser = parse({
    bom: true,
    info: true,
    delimiter,
    relax_column_count: true,
    skip_empty_lines: true,
    record_delimiter: ['\r\n', '\n', '\r'],
    max_record_size: rowBytesMax,
  });
  // Its end is seen by whoever reads.
  pipeline(chunks, parser, () => undefined);
  const records = parser[Symbol.asyncIterator]() as AsyncIterator<Parsed>;
  const reading = { line: 0, header: [] as readonly string[] };
  const first = await nextOf(records, reading);
  const header = (first?.record ?? []).map((name) => name.trim());
  reading.header = header;
  return { header, rows: rowsOf(records, reading, bytes) };
}

interface Reading {
  /** The last one of what was read. */
  line: number;
  header: readonly string[];
}

async function* rowsOf(
  records: AsyncIterator<Parsed>,
  reading: Reading,
  bytes: Bytes,
): AsyncGenerator<SheetRow> {
  try {
    for (let index = 0; ; index += 1) {
      const next = await nextOf(records, reading);
      if (next === undefined) return;
      const { record, line } = next;
      const faults = faultsOf(record, line, reading.header, bytes);
      yield { index, line, cells: record, object: undefined, faults };
    }
  } finally {
    await records.return?.();
  }
}

async function nextOf(records: AsyncIterator<Parsed>, reading: Reading) {
  try {
    const { done, value } = await records.next();
    if (done === true) return undefined;
    const { info, record } = value;
    reading.line = info.lines;
    return { record, line: info.lines - breaksIn(record) };
  } catch (error) {
    throw new Unreadable(faultOfError(error as CsvError, reading));
  }
}

/** A cell of several lines ends later than it begins. */
function breaksIn(record: readonly string[]): number {
  let breaks = 0;
  for (const cell of record) {
    if (/[\r\n]/.test(cell)) breaks += cell.split(/\r\n|\n|\r/).length - 1;
  }
  return breaks;
}

function faultsOf(
  record: readonly string[],
  line: number,
  header: readonly string[],
  bytes: Bytes,
): RowFault[] {
  const faults: RowFault[] = [];
  if (record.length !== header.length) {
    const message = `has ${record.length} cells, and the header has ${header.length}`;
    faults.push({ line, column: '', message });
  }
  if (!bytes.isText) {
    for (const [index, cell] of record.entries()) {
      if (!cell.includes('\uFFFD')) continue;
      const message = 'is not UTF-8: save the file as CSV in UTF-8';
      faults.push({ line, column: placeOf(index, header), message });
    }
  }
  return faults;
}

export const placeOf = (index: number, header: readonly string[]): string =>
  `column ${index + 1}${header[index] === undefined ? '' : ` (${header[index]})`}`;

/** @throws the error itself when it is not the parser's. */
function faultOfError(error: CsvError, { line, header }: Reading): RowFault {
  const { code, column } = error as CsvError & { readonly column?: number };
  const texts: Readonly<Record<string, string>> = {
    CSV_QUOTE_NOT_CLOSED: 'a quote opens here and does not close',
    CSV_INVALID_CLOSING_QUOTE:
      'after a closing quote there is more: write "" for a quote in a cell',
    INVALID_OPENING_QUOTE: 'a quote stands in a cell without quotes around it: write "…""…"',
    CSV_MAX_RECORD_SIZE:
      `the row is longer than ${rowBytesMax / 1_000_000} MB with this cell: ` +
      'perhaps a quote opens here and does not close',
  };
  const message = texts[code];
  if (message === undefined) throw error;
  return { line: line + 1, column: placeOf(Number(column ?? 0), header), message };
}
