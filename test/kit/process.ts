// A service as a process of its own, started by the command line as an operator would.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Api } from './api.ts';
import { conforms } from './conformance.ts';
import type { TestDatabase } from './database.ts';
import { testSecret } from './environment.ts';

const program = fileURLToPath(new URL('../../bin/tallybook.js', import.meta.url));

export interface ServiceProcess {
  readonly api: Api;
  readonly child: ChildProcess;
  readonly greeting: { readonly base_url: string; readonly token: string | null };
  /** What it has written to its log so far. */
  log(): string;
  /** Ends it and waits until it has gone. */
  end(signal?: NodeJS.Signals): Promise<number | null>;
}

/** What a process is made of, where it is not the usual. */
export interface Means {
  /** How many files and sockets it may have open; otherwise as many as this one. */
  readonly descriptors?: number;
  /** The program of another version: its answers are not held against our document. */
  readonly bin?: string;
  /** The descriptor that its log goes to instead of here: `log()` stays empty. */
  readonly logTo?: number;
}

/** A node on a test's database. */
export function startProcess(
  db: TestDatabase,
  env: Readonly<Record<string, string>> = {},
  means: Means = {},
): Promise<ServiceProcess> {
  const own = { TALLYBOOK_MIGRATE_URL: db.ownerUrl, TALLYBOOK_SECRET: testSecret };
  return serveProcess(['--database-url', db.serviceUrl], { ...own, ...env }, means);
}

export async function serveProcess(
  flags: readonly string[],
  env: Readonly<Record<string, string>> = {},
  { descriptors, bin = program, logTo }: Means = {},
): Promise<ServiceProcess> {
  const command = [process.execPath, bin, 'serve', '--json', '--port', '0', ...flags];
  const limit = descriptors === undefined ? '' : `ulimit -n ${descriptors} && `;
  // The shell becomes the service: the process is its own.
  const child = spawn('/bin/sh', ['-c', `${limit}exec "$@"`, 'sh', ...command], {
    env: { PATH: process.env.PATH ?? '', TALLYBOOK_TRUSTED_PROXIES: '127.0.0.1', ...env },
    stdio: ['ignore', 'pipe', logTo ?? 'pipe'],
  });
  let output = '';
  let log = '';
  child.stderr?.on('data', (chunk) => {
    log += String(chunk);
  });
  const ready = new Promise<void>((resolve, reject) => {
    child.stdout?.on('data', (chunk) => {
      output += String(chunk);
      if (isComplete(output)) resolve();
    });
    child.once('exit', (code) => reject(new Error(`serve ended with ${code}: ${log}`)));
  });
  await ready;
  const greeting = JSON.parse(output);
  return {
    child,
    greeting,
    api: new Api(
      new URL(greeting.base_url).origin,
      undefined,
      bin === program ? conforms : () => undefined,
    ),
    log: () => log,
    end: async (signal = 'SIGTERM') => {
      if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
      const gone = once(child, 'exit');
      child.kill(signal);
      await gone;
      return child.exitCode;
    },
  };
}

function isComplete(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
