// `tallybook import` and `tallybook export` as they were built, against a service of a test.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { served } from './again.ts';
import type { Api } from './api.ts';
import { type Environment, startEnvironment } from './environment.ts';
import { thisCheckout } from './program.ts';

const program = join(thisCheckout, 'bin/tallybook.js');

interface Printed {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A merchant, with a token for everything. */
export interface Shop {
  readonly merchant: string;
  readonly api: Api;
  readonly token: string;
}

export class Exchange {
  readonly service: Environment;
  readonly directory: string;

  private constructor(service: Environment, directory: string) {
    this.service = service;
    this.directory = directory;
  }

  static async start(): Promise<Exchange> {
    const directory = await mkdtemp(join(tmpdir(), 'tallybook-exchange-'));
    return new Exchange(await startEnvironment(), directory);
  }

  async stop(): Promise<void> {
    await this.service.stop();
    await rm(this.directory, { recursive: true, force: true });
  }

  async shop(scopes?: readonly string[]): Promise<Shop> {
    const { given, api } = this.service;
    const merchant = await given.merchant();
    const { token } = await given.credential(merchant, scopes === undefined ? {} : { scopes });
    return { merchant, token, api: api.as(token) };
  }

  path(name: string): string {
    return join(this.directory, name);
  }

  write(name: string, content: string | Uint8Array): Promise<void> {
    return writeFile(this.path(name), content);
  }

  read(name: string): Promise<string> {
    return readFile(this.path(name), 'utf8');
  }

  /** In the folder of the test. */
  start(
    { token }: Pick<Shop, 'token'>,
    args: readonly string[],
    url = this.service.api.origin,
  ): ChildProcess {
    const env = { PATH: process.env.PATH ?? '', TALLYBOOK_URL: url, TALLYBOOK_TOKEN: token };
    const words = ['--max-semi-space-size=8', program, ...args];
    return spawn(process.execPath, words, { cwd: this.directory, env });
  }

  async run(shop: Pick<Shop, 'token'>, args: readonly string[], input = ''): Promise<Printed> {
    const child = this.start(shop, args);
    child.stdin?.on('error', () => undefined).end(input);
    return printedBy(child);
  }

  /** The same on a pseudo-terminal. */
  onTerminal({ token }: Pick<Shop, 'token'>, line: string): Promise<Printed> {
    const env = { PATH: process.env.PATH ?? '', TALLYBOOK_TOKEN: token };
    const words = [process.execPath, program, line, '--url', this.service.api.origin];
    const typed = `stty cols 100; ${words.join(' ')}`;
    const child = spawn('script', ['-qec', typed, '/dev/null'], { cwd: this.directory, env });
    return printedBy(child);
  }

  /** What a command with `--json` prints. */
  async json(shop: Pick<Shop, 'token'>, args: readonly string[], input = '') {
    const { stdout, stderr } = await this.run(shop, [...args, '--json'], input);
    if (stdout === '') throw new Error(stderr);
    return JSON.parse(stdout);
  }
}

export async function printedBy(child: ChildProcess): Promise<Printed> {
  let [stdout, stderr] = ['', ''];
  child.stdout?.on('data', (chunk) => {
    stdout += String(chunk);
  });
  child.stderr?.on('data', (chunk) => {
    stderr += String(chunk);
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout, stderr };
}

/** All records of a list, without what no file can say. */
export async function recordsOf(api: Api, path: string): Promise<Record<string, unknown>[]> {
  const records: Record<string, unknown>[] = [];
  for (let cursor = ''; ; ) {
    const separator = path.includes('?') ? '&' : '?';
    const { status, body } = await served(() => api.get(`${path}${separator}limit=200${cursor}`));
    if (status !== 200) throw new Error(JSON.stringify(body));
    for (const { id: _, created_at: __, updated_at: ___, ...rest } of body.data) records.push(rest);
    if (body.meta.next_cursor === undefined) return records;
    cursor = `&cursor=${body.meta.next_cursor}`;
  }
}
