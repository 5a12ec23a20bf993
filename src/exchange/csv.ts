// CSV as rows with the number of their line. Where its quotes are wrong nothing that follows can
// be trusted, so that reading ends there.

import { pipeline } from 'node:stream';
import { type CsvError, parse } from 'csv-parse';
import { breaksIn, faultOfError, faultsOf, type Reading, rowBytesMax } from './csv-text.ts';
import { Unreadable } from './fault.ts';
import type { Bytes, Sheet, SheetRow } from './sheet.ts';

interface Parsed {
  readonly info: { readonly lines: number };
  readonly record: readonly string[];
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
