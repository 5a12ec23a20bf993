// The rows that were refused, each with the reason, as they stood in the file: to be mended there
// and imported with the same command. What a run wrote after the rows that it knows to be done is
// cut off when it goes on, and written again.

import { type FileHandle, open, rm } from 'node:fs/promises';
import { stringify } from 'csv-stringify/sync';
import { reasonColumn } from './nouns.ts';
import type { FileFormat, Sheet, SheetRow } from './sheet.ts';

interface Refused {
  readonly row: SheetRow;
  readonly reason: string;
}

export class RefusedRows {
  readonly path: string;
  readonly #header: Sheet['header'];
  readonly #delimiter: string;
  #file: FileHandle | undefined;
  #bytes: number;

  private constructor(path: string, header: Sheet['header'], delimiter: string, bytes: number) {
    this.path = path;
    this.#header = header;
    this.#delimiter = delimiter;
    this.#bytes = bytes;
  }

  /** @param bytes so much of it is known to be right. */
  static async open(
    path: string,
    format: { readonly header: Sheet['header']; readonly delimiter: string },
    bytes: number,
  ): Promise<RefusedRows> {
    const rows = new RefusedRows(path, format.header, format.delimiter, bytes);
    if (bytes === 0) await rm(path, { force: true });
    else {
      rows.#file = await open(path, 'r+');
      await rows.#file.truncate(bytes);
    }
    return rows;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** On the disk before it resolves. */
  async add(refused: readonly Refused[]): Promise<void> {
    if (refused.length === 0) return;
    const isNew = this.#file === undefined;
    this.#file ??= await open(this.path, 'w', 0o600);
    const header = this.#header;
    const lines = refused.map((one) => this.#textOf(one)).join('');
    const first =
      isNew && header !== undefined ? this.#line([...header.filter(isKept), reasonColumn]) : '';
    const bytes = Buffer.from(first + lines);
    await this.#file.write(bytes, 0, bytes.length, this.#bytes);
    await this.#file.datasync();
    this.#bytes += bytes.length;
  }

  async close(): Promise<void> {
    await this.#file?.close();
  }

  #textOf({ row, reason }: Refused): string {
    const header = this.#header;
    if (header === undefined)
      return `${JSON.stringify({ ...row.object, [reasonColumn]: reason })}\n`;
    const cells = row.cells.filter((_, index) => isKept(header[index] ?? ''));
    return this.#line([...cells, reason]);
  }

  #line(cells: readonly string[]): string {
    return stringify([[...cells]], { delimiter: this.#delimiter });
  }
}

/** Of a file of refused rows the reasons of before. */
const isKept = (name: string) => name !== reasonColumn;

export const refusedPath = (path: string, format: FileFormat): string =>
  `${path}.refused.${format === 'csv' ? 'csv' : 'ndjson'}`;
