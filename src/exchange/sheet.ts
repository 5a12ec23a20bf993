// What a file is to whoever reads it: rows with the number of their line, whatever its format.

import type { JsonObject } from '../contract/json.ts';
import type { RowFault } from './fault.ts';

export type FileFormat = 'csv' | 'ndjson';

export interface SheetRow {
  /** From 0, without the header. */
  readonly index: number;
  readonly line: number;
  /** Of CSV. */
  readonly cells: readonly string[];
  /** Of lines of JSON; undefined where the line is none, or of CSV. */
  readonly object: JsonObject | undefined;
  readonly faults: readonly RowFault[];
}

export interface Sheet {
  /** The first line; of lines of JSON nothing. */
  readonly header: readonly string[] | undefined;
  readonly rows: AsyncIterable<SheetRow>;
}

/** What is known of the bytes once they were read. */
export interface Bytes {
  /** Whether what was read so far is UTF-8. */
  isText: boolean;
  sha256: string | undefined;
}
