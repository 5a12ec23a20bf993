// A file as rows: opened once, and read as often as needed. What it is is said by its name, and
// has to be true.

import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { csvRows } from './csv.ts';
import { delimiterOf } from './csv-text.ts';
import { Unreadable } from './fault.ts';
import { jsonRows } from './ndjson.ts';
import type { Bytes, FileFormat, Sheet } from './sheet.ts';

export class SourceFile {
  readonly path: string;
  readonly format: FileFormat;
  readonly delimiter: string;
  readonly size: number;
  readonly #handle: FileHandle;
  readonly #changedAt: number;

  private constructor(path: string, handle: FileHandle, known: Known) {
    this.path = path;
    this.#handle = handle;
    this.format = known.format;
    this.delimiter = known.delimiter;
    this.size = known.size;
    this.#changedAt = known.changedAt;
  }

  /** @throws Unreadable when it cannot be what its name says. */
  static async open(path: string, asked: FileFormat | undefined): Promise<SourceFile> {
    const handle = await open(path, 'r');
    try {
      const { size, mtimeMs } = await handle.stat();
      const head = Buffer.alloc(Math.min(size, headBytes));
      await handle.read(head, 0, head.length, 0);
      const format = asked ?? formatNamed(path);
      const text = head.toString('utf8').replace(/^\uFEFF/, '');
      const message = faultOfHead(head, text, format);
      if (message !== undefined) throw new Unreadable({ ...start, message });
      const delimiter = delimiterOf(text);
      return new SourceFile(path, handle, { format, delimiter, size, changedAt: mtimeMs });
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  table(bytes: Bytes = { isText: true, sha256: undefined }): Promise<Sheet> {
    const chunks = this.#chunks(bytes);
    return this.format === 'csv' ? csvRows(chunks, bytes, this.delimiter) : jsonRows(chunks);
  }

  /** @throws Error when somebody has written to it since it was opened. */
  async mustBeUnchanged(): Promise<void> {
    const { size, mtimeMs } = await this.#handle.stat();
    if (size === this.size && mtimeMs === this.#changedAt) return;
    throw new Error(`${this.path} was changed meanwhile: import it again`);
  }

  close(): Promise<void> {
    return this.#handle.close();
  }

  async *#chunks(bytes: Bytes): AsyncGenerator<Buffer> {
    const hash = createHash('sha256');
    let left = Buffer.alloc(0);
    for (let at = 0; ; ) {
      // One for each, because a parser may keep slices of it.
      const chunk = Buffer.allocUnsafe(chunkBytes);
      const { bytesRead } = await this.#handle.read(chunk, 0, chunk.length, at);
      if (bytesRead === 0) break;
      at += bytesRead;
      const read = chunk.subarray(0, bytesRead);
      hash.update(read);
      const known = left.length === 0 ? read : Buffer.concat([left, read]);
      const whole = wholeCharacters(known);
      bytes.isText &&= isUtf8(known.subarray(0, whole));
      left = known.subarray(whole);
      yield read;
    }
    bytes.isText &&= left.length === 0;
    bytes.sha256 = hash.digest('hex');
  }
}

interface Known {
  readonly format: FileFormat;
  readonly delimiter: string;
  readonly size: number;
  readonly changedAt: number;
}

const start = { line: 1, column: 'column 1' };
const headBytes = 64 * 1024;
const chunkBytes = 16 * 1024;

/** Without a character at the end whose other bytes are still to come. */
function wholeCharacters(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) break;
    const length = sizes.find(([from]) => byte >= from)?.[1];
    if (length !== undefined) return bytes.length - (length > back ? back : 0);
  }
  return bytes.length;
}

/** How long a character is, by its first byte. */
const sizes = [
  [0xf0, 4],
  [0xe0, 3],
  [0xc0, 2],
] as const;

function formatNamed(path: string): FileFormat {
  const [, extension = ''] = /\.(\w+)$/.exec(path.toLowerCase()) ?? [];
  if (extension === 'csv') return 'csv';
  if (extension === 'ndjson' || extension === 'jsonl') return 'ndjson';
  throw new Error(`${path} ends neither with .csv nor with .ndjson: add --format`);
}

function faultOfHead(head: Buffer, text: string, format: FileFormat): string | undefined {
  if (text.trim() === '') return 'the file is empty';
  if (head.subarray(0, 4).toString('latin1') === 'PK\u0003\u0004') {
    return 'this is a spreadsheet (such as .xlsx) or a ZIP file: save it as CSV in UTF-8';
  }
  const isUtf16 = head[0] === 0xff && head[1] === 0xfe;
  if (isUtf16 || (head[0] === 0xfe && head[1] === 0xff)) {
    return 'the file is in UTF-16: save it as CSV in UTF-8';
  }
  const isJson = /^\s*[{[]/.test(text);
  if (format === 'csv' && isJson)
    return 'this is JSON and not CSV: call it .ndjson, or say --format ndjson';
  if (format === 'ndjson' && !isJson) return 'this is no JSON: each line must be one object in { }';
  return undefined;
}
