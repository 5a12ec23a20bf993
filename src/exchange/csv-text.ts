// What is known of CSV without reading it: which sign divides cells, and what is wrong with rows.

import type { RowFault } from './fault.ts';
import type { Bytes } from './sheet.ts';

/** No valid row is longer: its body could not be sent. */
export const rowBytesMax = 1_000_000;

/** What the first line has most of, outside of quotes: spreadsheets write what a country uses. */
export function delimiterOf(text: string): string {
  const [line = ''] = text.replace(/"[^"]*"/g, '').split(/\r?\n|\r/, 1);
  const counted = [',', ';', '\t'].map((sign) => [line.split(sign).length, sign] as const);
  return counted.reduce((most, one) => (one[0] > most[0] ? one : most))[1];
}

export interface Reading {
  /** The last one of what was read. */
  line: number;
  header: readonly string[];
}

/** As the parser throws it. */
interface ParserError extends Error {
  readonly code: string;
  readonly column?: unknown;
}

/** A cell of several lines ends later than it begins. */
export function breaksIn(record: readonly string[]): number {
  let breaks = 0;
  for (const cell of record) {
    if (/[\r\n]/.test(cell)) breaks += cell.split(/\r\n|\n|\r/).length - 1;
  }
  return breaks;
}

export function faultsOf(
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
export function faultOfError(error: ParserError, { line, header }: Reading): RowFault {
  const { code, column } = error;
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
