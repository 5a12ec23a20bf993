// The service as an operator runs it: its own process, from what `npm run build` has made.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { runProgram } from './program.ts';
import { RequestLog } from './request-log.ts';

const program = fileURLToPath(new URL('../../bin/tallybook.js', import.meta.url));
const startLimitMs = 30_000;
const stopLimitMs = 30_000;
const verifyLimitMs = 600_000;

export interface BenchService {
  readonly pid: number;
  readonly origin: string;
  /** The end of its log: warnings and failures. */
  log(): string;
  stop(): Promise<void>;
}

/** As an operator has it, requests logged at the default level, unless the run says otherwise. */
const environmentOf = (isLogged: boolean) => ({
  PATH: process.env.PATH ?? '',
  ...(isLogged ? {} : { TALLYBOOK_LOG_LEVEL: 'warn' }),
  TALLYBOOK_SECRET: 'a benchmark has no secrets: all is thrown away',
});

export interface ServiceOptions {
  readonly databaseUrl: string;
  /** Where its log goes. */
  readonly directory: string;
  readonly isLogged: boolean;
  readonly nodeFlags: readonly string[];
  /** Otherwise any that is free. */
  readonly port?: number;
}

/**
 * The shell becomes the service, so the process is its own. What it leaves behind waits at the
 * pipe on descriptor 3: a line lets it go; without one this process is gone, however it went, and
 * the service shall go as well.
 */
const launchWatched = `
(read -r line <&3 || kill -TERM $$) >/dev/null 2>&1 &
exec "$@" 3<&-`;

/** @throws Error with the service's own words when it does not start. */
export async function startService(options: ServiceOptions): Promise<BenchService> {
  const { databaseUrl, directory, isLogged, nodeFlags, port = 0 } = options;
  const serve = ['serve', '--json', '--port', String(port), '--database-url', databaseUrl];
  const command = ['-c', launchWatched, 'sh', process.execPath, ...nodeFlags, program, ...serve];
  const log = new RequestLog(join(directory, 'service.log'));
  const child = spawn('/bin/sh', command, {
    env: environmentOf(isLogged),
    stdio: ['ignore', 'pipe', log.descriptor, 'pipe'],
  });
  const isGone = () => child.exitCode !== null || child.signalCode !== null;
  const watcher = child.stdio[3] as Writable;
  child.once('exit', () => watcher.end('gone\n'));
  const stop = async () => {
    if (isGone()) return log.close();
    const patience = setTimeout(() => child.kill('SIGKILL'), stopLimitMs);
    const gone = once(child, 'exit');
    child.kill('SIGTERM');
    await gone;
    clearTimeout(patience);
    log.close();
  };
  try {
    const greeting = await greetingOf(child);
    const { origin } = new URL(greeting.base_url);
    return { pid: child.pid ?? 0, origin, log: () => log.rest(), stop };
  } catch (error) {
    await stop();
    throw new Error(`the service did not start: ${log.rest()}`, { cause: error });
  }
}

async function greetingOf(child: ReturnType<typeof spawn>): Promise<{ base_url: string }> {
  let output = '';
  const printed = new Promise<{ base_url: string }>((resolve) => {
    child.stdout?.on('data', (chunk) => {
      output += String(chunk);
      if (output.endsWith('\n')) resolve(JSON.parse(output));
    });
  });
  const abort = AbortSignal.timeout(startLimitMs);
  const ended = once(child, 'exit', { signal: abort }).then(([code]) => {
    throw new Error(`it ended with ${code}`);
  });
  return Promise.race([printed, ended]);
}

export interface Verification {
  readonly ok: boolean;
  readonly levels: number;
  readonly movements: number;
  readonly differences: readonly unknown[];
}

/** What `tallybook verify` says of the ledger. */
export async function verifyLedger(databaseUrl: string): Promise<Verification> {
  const args = [program, 'verify', '--json', '--database-url', databaseUrl];
  const output = await runProgram(process.execPath, args, {
    limitMs: verifyLimitMs,
    alsoGood: [1],
  });
  return JSON.parse(output) as Verification;
}
