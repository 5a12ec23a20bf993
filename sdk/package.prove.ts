// What `npm pack` makes of the client, installed into an empty folder outside of the repository.

import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Environment, startEnvironment } from '../test/kit/environment.ts';

const run = promisify(execFile);
const here = fileURLToPath(new URL('.', import.meta.url));
const compiler = join(
  dirname(createRequire(import.meta.url).resolve('typescript/package.json')),
  'bin/tsc',
);

let service: Environment;
let scratch: string;
let installed: string;

beforeAll(async () => {
  service = await startEnvironment();
  scratch = await mkdtemp(join(tmpdir(), 'tallybook-client-'));
  const stage = join(scratch, 'stage');
  await mkdir(stage);
  for (const name of ['package.json', 'README.md', 'LICENSE']) {
    await cp(join(here, name), join(stage, name));
  }
  await tsc('-p', join(here, 'tsconfig.json'), '--outDir', join(stage, 'dist'));
  await run('npm', ['pack'], { cwd: stage });
  const archive = (await readdir(stage)).find((name) => name.endsWith('.tgz')) ?? '';
  installed = join(scratch, 'installed');
  await mkdir(installed);
  await writeFile(join(installed, 'package.json'), '{ "private": true, "type": "module" }');
  const words = ['install', '--offline', '--no-audit', '--no-fund', join(stage, archive)];
  await run('npm', words, { cwd: installed });
}, 120_000);
afterAll(async () => {
  await service.stop();
  await rm(scratch, { recursive: true, force: true });
});

/** @throws Error with what the compiler says. */
async function tsc(...args: readonly string[]): Promise<void> {
  await run(process.execPath, [compiler, ...args], { cwd: scratch }).catch((error) => {
    throw new Error(error.stdout);
  });
}

const shared = ['--strict', '--noUncheckedIndexedAccess', '--exactOptionalPropertyTypes'];

/** Compiles a program as its user would, without the types of Node, and every declaration too. */
async function compile(path: string, ...more: readonly string[]): Promise<void> {
  const target = ['--target', 'es2022', '--lib', 'es2022,dom,dom.iterable', '--types', ''];
  await tsc(...shared, ...target, '--skipLibCheck', 'false', ...more, path);
}

async function runProgram(path: string): Promise<string> {
  return (await run(process.execPath, [path], { cwd: installed })).stdout;
}

async function token(): Promise<string> {
  return (await service.given.credential(await service.given.merchant())).token;
}

/** The examples of README.md, with what they name and do not make, and an end of the feed. */
async function examples(): Promise<string> {
  const text = await readFile(join(here, 'README.md'), 'utf8');
  const blocks = [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, block = '']) => block);
  expect(blocks).toHaveLength(3);
  const [first = '', second = '', third = ''] = blocks;
  const isImport = (line: string) => line.startsWith('import ');
  const body = (block: string) =>
    block
      .split('\n')
      .filter((line) => !isImport(line))
      .join('\n');
  const lines = [
    ...blocks.flatMap((block) => block.split('\n').filter(isImport)),
    "import { Quantity, type Event } from '@tallybook/client';",
    'declare const process: { exit(code: number): never };',
    body(first),
    'const product = data.id;',
    "const location = (await tb.locations.create({ name: 'Main Street' })).data.id;",
    body(second),
    'await outbox.idle();',
    "const place = { position: '0', journal: undefined };",
    'await tb.inventory.adjust({ product_id: product, location_id: location,',
    "  target_quantity: Quantity.add('0.5', '1.5'), reason: 'stock_count' });",
    'const handle = async (event: Event) => console.log(event.type, operationId, position);',
    'const store = async (to: object) => (console.log(to), process.exit(0));',
    body(third),
  ];
  return lines
    .join('\n')
    .replace('http://127.0.0.1:8080', service.api.origin)
    .replace('tb_pat_…', await token());
}

describe('the package', () => {
  test('holds the compiled client and its documents, and needs no other package', async () => {
    const folder = join(installed, 'node_modules/@tallybook/client');
    const files = (await readdir(folder, { recursive: true })).filter((path) => path.includes('.'));
    const kinds = new Set(files.map((path) => path.replace(/^dist\/.*?(\.d\.ts|\.\w+)$/, '*$1')));
    expect([...kinds].sort()).toEqual(['*.d.ts', '*.js', 'README.md', 'package.json']);
    expect(files.filter((path) => /test|till/.test(path))).toEqual([]);
    const manifest = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
    expect(manifest.dependencies).toBeUndefined();
    expect(manifest.engines).toEqual({ node: '>=20' });
    expect(await readdir(join(installed, 'node_modules'))).toEqual(
      expect.arrayContaining(['@tallybook']),
    );
  });

  test('compiles under strict, and the examples of its README run, also bundled', async () => {
    await writeFile(join(installed, 'examples.ts'), await examples());
    await compile(join(installed, 'examples.ts'), '--module', 'nodenext');
    const printed = await runProgram(join(installed, 'examples.js'));
    expect(printed).toContain('Rye 1 kg');
    expect(printed).toMatch(/op_\w+/);
    expect(printed).toMatch(/inventory\.adjusted op_\w+ 1/);
    await writeFile(join(installed, 'examples.ts'), await examples());
    await compile(
      ...([join(installed, 'examples.ts'), '--module', 'esnext'] as const),
      ...['--moduleResolution', 'bundler', '--noEmit'],
    );
    const outfile = join(installed, 'bundle.mjs');
    const entryPoints = [join(installed, 'examples.ts')];
    await build({ entryPoints, outfile, bundle: true, format: 'esm', platform: 'node' });
    await rm(join(installed, 'sales.outbox'), { force: true });
    expect(await runProgram(outfile)).toContain('Rye 1 kg');
  });

  test('refuses wrong bodies, queries and names when it is compiled', async () => {
    const wrong = [
      "tb.products.create({ sku: 'A' })",
      "tb.products.create({ name: 'A', colour: 'red' })",
      "tb.products.list({ status: 'gone' })",
      'tb.products.get()',
      "outbox.put('products.list', {})",
      'tb.inventory.levels.list()',
    ];
    for (const line of wrong) {
      const path = join(installed, 'wrong.ts');
      const head = "import { MemoryStore, Tallybook } from '@tallybook/client';";
      const made = "const tb = new Tallybook({ baseUrl: 'http://x', token: '' });";
      const more = 'const outbox = tb.outbox(new MemoryStore());';
      await writeFile(path, `${head}\n${made}\n${more}\nvoid outbox;\nvoid ${line};\n`);
      const compiled = compile(path, '--module', 'nodenext', '--noEmit');
      await expect(compiled, line).rejects.toThrow('wrong.ts(5,');
    }
  });

  test('has at most 12 kB, bundled, minified and compressed, with every store', async () => {
    const parts = ['./main.ts', './file-store.ts', './indexeddb-store.ts'];
    const contents = parts.map((part) => `export * from '${part}';`).join('\n');
    const { outputFiles } = await build({
      ...{ stdin: { contents, resolveDir: here }, bundle: true, minify: true, write: false },
      ...{ format: 'esm', platform: 'neutral', target: 'es2022', external: ['node:*'] },
    });
    const [file] = outputFiles;
    expect(gzipSync(file?.contents ?? '').length).toBeLessThanOrEqual(12_000);
  });
});
