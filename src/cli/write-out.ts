// Writes what a command exports: to a file, which is whole or not there, or to standard output.

import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { openDraft } from '../database/backup/file.ts';
import { codeOf } from '../database/find.ts';

/** @param file `-` is standard output. */
export async function writeOut(texts: AsyncIterable<string>, file: string): Promise<void> {
  if (file === '-') return writeTo(process.stdout, texts);
  const draft = openDraft(file);
  try {
    await writeTo(draft.stream, texts);
    draft.stream.end();
    await once(draft.stream, 'finish');
    draft.finish();
    draft.keep();
  } finally {
    draft.discard();
  }
}

/** As fast as the reader reads. One that closes the pipe has read enough. */
async function writeTo(stream: Writable, texts: AsyncIterable<string>): Promise<void> {
  const failed = once(stream, 'error').then(([error]) => Promise.reject(error));
  failed.catch(() => undefined);
  try {
    for await (const text of texts) {
      const isFull = !stream.write(text);
      if (isFull) await Promise.race([once(stream, 'drain'), failed]);
    }
  } catch (error) {
    if (codeOf(error) !== 'EPIPE') throw error;
  }
}
