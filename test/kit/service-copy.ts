// A copy of the built service with something broken in it, as the mutants say: what `npm run
// mutants` shows of tests, this shows of programs that look at a service from outside.

import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { transformSync } from 'esbuild';
import { type Mutant, mutated } from '../mutants/mutant.ts';
import { thisCheckout } from './program.ts';

export interface ServiceCopy {
  /** The program that `serveProcess` starts. */
  readonly bin: string;
  remove(): void;
}

export function copyOfService(mutant: Pick<Mutant, 'name' | 'edits'>): ServiceCopy {
  const folder = mkdtempSync(join(tmpdir(), 'tallybook-copy-'));
  for (const part of ['bin', 'db', 'dist', 'package.json', 'openapi.json']) {
    cpSync(join(thisCheckout, part), join(folder, part), { recursive: true });
  }
  symlinkSync(join(thisCheckout, 'node_modules'), join(folder, 'node_modules'));
  for (const [file, text] of mutated({ breaks: '', suites: [], ...mutant })) {
    const built = join('dist', relative('src', file)).replace(/\.ts$/, '.js');
    writeFileSync(join(folder, built), compiled(text, built));
  }
  return {
    bin: join(folder, 'bin/tallybook.js'),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** As `scripts/build.mjs` leaves it. */
function compiled(text: string, built: string): string {
  const { code } = transformSync(text, { loader: 'ts', format: 'esm', target: 'node20' });
  const up = relative(dirname(built), 'dist') || '.';
  return code
    .replaceAll(/(from |import\()"(\.[^"]*)\.ts"/g, '$1"$2.js"')
    .replaceAll(/(from |import\()"typebox(?:\/value)?"/g, `$1"${up}/typebox.js"`);
}
