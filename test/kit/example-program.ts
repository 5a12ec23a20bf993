// A program of a document's reader: blocks marked `ts` that follow each other, as one module,
// compiled strictly and run with the client as it was built.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { runProgram, thisCheckout } from './program.ts';

export interface Example {
  readonly code: string;
  /** What the document says that it prints. */
  expected?: string;
}

/** What the examples import: the client as it was built, and what a reader installs beside it. */
export function installFor(folder: string): void {
  const packages = {
    '@tallybook/client': 'sdk',
    '@types/node': 'node_modules/@types/node',
    'openid-client': 'node_modules/openid-client',
  };
  for (const [name, place] of Object.entries(packages)) {
    const link = join(folder, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(thisCheckout, place), link);
  }
}

const mark = (index: number) => `--- example ${index} ---`;

/** Runs them until all has been printed, in the parts where it should be. `hear` may act on it. */
export async function runExamples(
  folder: string,
  examples: readonly Example[],
  judge: (expected: string, output: string) => void,
  hear: (output: string) => void = () => undefined,
): Promise<string> {
  const path = join(folder, 'example.mts');
  const marked = examples.map(({ code }, at) => `${code}console.log('${mark(at)}');\n`);
  writeFileSync(path, marked.join(''));
  await compile(path);
  const child = spawn(process.execPath, [path.replace('.mts', '.mjs')], { cwd: folder });
  const gone = once(child, 'exit');
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += String(chunk);
      hear(output);
    });
  }
  const isDone = () => {
    if (child.exitCode !== null) expect(child.exitCode, output).toBe(0);
    expect(output).toContain(mark(examples.length - 1));
    // What is printed later than the next block began counts for it as well.
    examples.forEach(({ expected }, at) => {
      const from = at === 0 ? 0 : output.indexOf(mark(at - 1));
      if (expected !== undefined) judge(expected, output.slice(from));
    });
  };
  try {
    await expect.poll(isDone).toBeUndefined();
  } catch (error) {
    throw new Error(`the examples printed: ${output}`, { cause: error });
  } finally {
    child.kill();
    await gone;
  }
  return output;
}

/** As its reader would who is strict. */
async function compile(path: string): Promise<void> {
  const strict = ['--strict', '--noUncheckedIndexedAccess', '--exactOptionalPropertyTypes'];
  const target = [
    '--target',
    'es2022',
    '--module',
    'nodenext',
    '--types',
    'node',
    '--skipLibCheck',
  ];
  const compiler = join(thisCheckout, 'node_modules/typescript/bin/tsc');
  const words = [compiler, ...strict, ...target, path];
  const options = { limitMs: 60_000, cwd: dirname(path), alsoGood: [1, 2] };
  expect(await runProgram(process.execPath, words, options)).toBe('');
}
