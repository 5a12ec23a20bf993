// Standard input as a file, because it is read twice, and once more by whoever goes on. Its name
// is made of what it holds, so that the same input finds its run again.

import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { FileFormat } from './sheet.ts';

/** Into the working directory. */
export async function spool(input: Readable, format: FileFormat): Promise<string> {
  const draft = `tallybook-import-${process.pid}.new`;
  const hash = createHash('sha256');
  try {
    await pipeline(
      input,
      async function* hashed(chunks: AsyncIterable<Buffer>) {
        for await (const chunk of chunks) {
          hash.update(chunk);
          yield chunk;
        }
      },
      createWriteStream(draft, { mode: 0o600, flush: true } as object),
    );
    const path = `tallybook-import-${hash.digest('hex').slice(0, 16)}.${format}`;
    await rename(draft, path);
    return path;
  } finally {
    await rm(draft, { force: true });
  }
}
