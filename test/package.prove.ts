// What `npm pack` makes, installed into an empty folder outside of the repository.

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmod,
  chown,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  writeFile,
} from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { guidePages } from '../src/http/document/guide-pages.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('..', import.meta.url));
const isRoot = process.getuid?.() === 0;
/** The account `nobody`. */
const ordinary = 65_534;

let scratch: string;
let installed: string;
let packed: readonly string[];

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'tallybook-package-'));
  await chmod(scratch, 0o755);
  // Packed from a copy, without its scripts: they would build again under the tests that run now.
  const stage = join(scratch, 'stage');
  for (const name of ['bin', 'db', 'dist', 'src', 'test', 'package.json', 'LICENSE', 'README.md']) {
    await cp(join(root, name), join(stage, name), { recursive: true });
  }
  const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts'], { cwd: stage });
  const [{ filename, files }] = JSON.parse(stdout);
  packed = files.map((file: { path: string }) => file.path).sort();
  installed = join(scratch, 'installed');
  await mkdir(installed);
  await writeFile(join(installed, 'package.json'), '{ "private": true }');
  // No install script runs: the links between the libraries of PostgreSQL are made at first use.
  const words = ['install', '--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts'];
  await run('npm', [...words, join(stage, filename)], { cwd: installed });
}, 300_000);
afterAll(() => rm(scratch, { recursive: true, force: true }));

test('holds the program, the console, the migrations and the documents, no more', async () => {
  const files = async (folder: string) =>
    (await readdir(join(root, folder), { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(root.length));
  const sources = (await files('src')).filter((path) => /(?<!\.(?:test|prove))\.ts$/.test(path));
  const expected = [
    'LICENSE',
    'README.md',
    'bin/tallybook.js',
    ...(await files('db')),
    ...sources.map((path) => path.replace(/^src\/(.*)\.ts$/, 'dist/$1.js')),
    'dist/client.js',
    // Named by their contents.
    ...(await files('dist/console')),
    'dist/http/redoc.js',
    ...Object.keys(guidePages).map((name) => `dist/http/docs/${name}.html`),
    'dist/typebox.js',
    'package.json',
  ];
  expect(packed).toEqual(expected.sort());
});

test.runIf(isRoot)('serves as root', () => serves(undefined), 120_000);

test('serves as an ordinary user', () => serves(isRoot ? ordinary : undefined), 120_000);

/** The service starts with a PostgreSQL of its own, shows its pages, and stops. */
async function serves(uid: number | undefined): Promise<void> {
  const home = await mkdtemp(join(scratch, 'home-'));
  if (uid !== undefined) await chown(home, uid, uid);
  const port = await freePort();
  const env = { PATH: process.env.PATH, HOME: home, npm_config_update_notifier: 'false' };
  const options = { cwd: installed, env, ...(uid === undefined ? {} : { uid, gid: uid }) };
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  const shown = await run('npx', ['--no-install', 'tallybook', '--version'], options);
  expect(shown.stdout.trim()).toBe(version);

  const words = ['--no-install', 'tallybook', 'serve', '--port', `${port}`];
  const child = spawn('npx', [...words, '--data', join(home, 'data')], {
    ...options,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout?.on('data', (data) => {
    output += data;
  });
  child.stderr?.on('data', (data) => {
    output += data;
  });
  const url = `http://127.0.0.1:${port}`;
  try {
    const isReady = async () => child.exitCode ?? (await statusOf(`${url}/readyz`));
    await expect.poll(isReady, { timeout: 90_000, message: output }).toBe(200);
    expect(await statusOf(`${url}/docs`)).toBe(200);
    expect(await statusOf(`${url}/docs/redoc.js`)).toBe(200);
    expect(await statusOf(`${url}/docs/guide`)).toBe(200);
    expect(await statusOf(`${url}/console`)).toBe(200);
    const document = await (await fetch(`${url}/openapi.json`)).json();
    expect(document).toMatchObject({ info: { version } });
    expect(await statusOf(`${url}/api/v1/products`)).toBe(401);
  } finally {
    await stop(child);
  }
}

/** npx does not always forward signals, so the whole process group gets it. */
async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.pid === undefined) return;
  const closed = once(child, 'close');
  process.kill(-child.pid, 'SIGTERM');
  await closed;
}

async function statusOf(url: string): Promise<number | undefined> {
  return fetch(url).then(
    ({ status }) => status,
    () => undefined,
  );
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  return typeof address === 'object' && address !== null ? address.port : 0;
}
