// How this program was called, so that a command it prints works when it is pasted.

import { basename, isAbsolute, relative } from 'node:path';

/** Such as `node bin/tallybook.js`, `npx tallybook` or `tallybook`. */
export function programCalled(path = process.argv[1] ?? '', directory = process.cwd()): string {
  if (path.includes('/node_modules/.bin/')) return 'npx tallybook';
  if (basename(path) === 'tallybook') return 'tallybook';
  const near = relative(directory, path);
  return `node ${quoted(near.startsWith('..') || isAbsolute(near) ? path : near)}`;
}

/** A word as a shell reads it. */
export function quoted(word: string): string {
  return /^[\w./@%+=,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
