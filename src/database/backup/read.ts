// Reads a backup once, from its first byte to its last. It is good only when its trailer was
// reached and every sum in it agrees with what was read. Rows are passed on before that is known,
// so the caller commits nothing until `end` has returned.

import { createHash } from 'node:crypto';
import { pipeline, type Readable } from 'node:stream';
import { createGunzip, type Gunzip } from 'node:zlib';
import { systemReason } from '../../core/system-failure.ts';
import {
  damaged,
  endOfTable,
  type Manifest,
  placed,
  readManifest,
  readTrailer,
  type TableSum,
  type Trailer,
} from './format.ts';

/** Far more than the names of all tables and columns. */
const lineBytesMax = 4 * 1024 * 1024;

export class BackupReader {
  readonly manifest: Manifest;
  readonly #bytes: Bytes;
  readonly #hashes: string[] = [];

  private constructor(manifest: Manifest, bytes: Bytes) {
    this.manifest = manifest;
    this.#bytes = bytes;
  }

  /** @throws Error when what comes is not the beginning of a backup. */
  static async open(source: Readable): Promise<BackupReader> {
    const bytes = new Bytes(source);
    try {
      return new BackupReader(readManifest(await bytes.line()), bytes);
    } catch (error) {
      bytes.close();
      throw error;
    }
  }

  /** The rows of the next table of the manifest, cut anywhere. To be read to the end. */
  async *rows(): AsyncGenerator<Buffer> {
    const hash = createHash('sha256');
    for await (const rows of this.#bytes.untilEndOfTable()) {
      hash.update(rows);
      yield rows;
    }
    this.#hashes.push(hash.digest('hex'));
  }

  /**
   * @param counts how many rows of each table were loaded, in the order of the manifest.
   * @throws Error when the backup is not what was written.
   */
  async end(counts: readonly number[]): Promise<Trailer> {
    const sha256 = this.#bytes.sum();
    const trailer = readTrailer(await this.#bytes.line());
    await this.#bytes.end();
    const read = this.manifest.tables.map(
      (table, index): TableSum => ({
        ...placed(table),
        rows: counts[index] ?? 0,
        sha256: this.#hashes[index] ?? '',
      }),
    );
    const other = read.find((one, index) => !isSame(one, trailer.tables[index]));
    if (other !== undefined || read.length !== trailer.tables.length) {
      throw damaged(`${other?.name ?? 'a table'} is not as it was written`);
    }
    if (sha256 !== trailer.sha256) throw damaged('it is not as it was written');
    return trailer;
  }

  /** Closes the source as well: a pipe that goes on would keep the process waiting. */
  close(): void {
    this.#bytes.close();
  }
}

function isSame(one: TableSum, other: TableSum | undefined): boolean {
  if (one.name !== other?.name || one.cell !== other.cell) return false;
  return one.rows === other.rows && one.sha256 === other.sha256;
}

const lineEnd = 0x0a;
const lineAndEndOfTable = Buffer.concat([Buffer.of(lineEnd), endOfTable]);

/** What is in the compressed stream, taken bit by bit. */
class Bytes {
  readonly #gunzip: Gunzip;
  readonly #chunks: AsyncIterator<Buffer>;
  readonly #hash = createHash('sha256');
  #ahead: Buffer = Buffer.alloc(0);

  constructor(source: Readable) {
    this.#gunzip = createGunzip({ chunkSize: 64 * 1024 });
    // What fails on the way comes out at its end.
    pipeline(source, this.#gunzip, () => undefined);
    this.#chunks = this.#gunzip[Symbol.asyncIterator]();
  }

  async line(): Promise<string> {
    let seen = 0;
    for (;;) {
      const end = this.#ahead.indexOf(lineEnd, seen);
      if (end >= 0) return this.#take(end + 1).toString('utf8');
      seen = this.#ahead.length;
      if (seen > lineBytesMax) throw damaged('it has no lines');
      await this.#fill(seen + 1);
    }
  }

  async *untilEndOfTable(): AsyncGenerator<Buffer> {
    await this.#fill(endOfTable.length);
    if (!this.#ahead.subarray(0, endOfTable.length).equals(endOfTable)) {
      for (;;) {
        await this.#fill(lineAndEndOfTable.length);
        const end = this.#ahead.indexOf(lineAndEndOfTable);
        if (end >= 0) {
          yield this.#take(end + 1);
          break;
        }
        // The last bytes may be the beginning of the end.
        yield this.#take(this.#ahead.length - lineAndEndOfTable.length + 1);
      }
    }
    this.#take(endOfTable.length);
  }

  /** Of all that was taken so far. */
  sum(): string {
    return this.#hash.copy().digest('hex');
  }

  /** Nothing follows; only then the sum of the compression has been compared. */
  async end(): Promise<void> {
    if (this.#ahead.length > 0 || (await this.#next()) !== undefined) {
      throw damaged('there is more after its trailer');
    }
  }

  close(): void {
    this.#gunzip.destroy();
  }

  #take(length: number): Buffer {
    const taken = this.#ahead.subarray(0, length);
    this.#ahead = this.#ahead.subarray(length);
    this.#hash.update(taken);
    return taken;
  }

  async #fill(length: number): Promise<void> {
    while (this.#ahead.length < length) {
      const next = await this.#next();
      if (next === undefined) throw damaged('it ends too early');
      this.#ahead = Buffer.concat([this.#ahead, next]);
    }
  }

  async #next(): Promise<Buffer | undefined> {
    try {
      const { done, value } = await this.#chunks.next();
      return done === true ? undefined : value;
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : '';
      if (code === 'ENOENT') throw new Error('there is no such file', { cause: error });
      if (!code.startsWith('Z_')) throw new Error(systemReason(error), { cause: error });
      throw damaged(error instanceof Error ? error.message : code, error);
    }
  }
}
