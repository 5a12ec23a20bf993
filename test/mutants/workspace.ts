// Where mutants are tried: a copy of the working tree in a temporary folder, with a PostgreSQL of
// its own that all runs share. A run is one file of tests, in a process of its own, up to its first
// failure.

import { type ChildProcess, spawn } from 'node:child_process';
import {
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import pg from 'pg';
import { type PrivateServer, startPrivateServer } from '../../src/postgres/server.ts';
import { templateName } from '../kit/postgres.ts';
import { type Mutant, mutated, repository } from './mutant.ts';

/** Not of the working tree, or of no use to the tests. */
const left = new Set(['.git', '.mutants', 'node_modules', 'dist', 'data', 'coverage', 'results']);

function isWanted(path: string): boolean {
  return path === repository || !left.has(basename(path));
}

/** A file of tests takes seconds; one that takes longer than this hangs. */
const patience = 300_000;

/** SQLSTATEs of a statement that is none: such a mutant proves nothing. */
const invalid = new Set(['42601', '42702', '42703', '42804', '42883', '42P01', '42P08', '42P18']);

export interface Run {
  /** The first test that failed; none when all passed. */
  readonly failed: string | undefined;
  /** What it said. */
  readonly said: string;
  /** Why there is no judgement: the file could not be run, or not to its end. */
  readonly broken: string | undefined;
  /** SQLSTATEs of statements that the database could not make sense of. */
  readonly invalid: readonly string[];
  readonly tests: number;
  readonly seconds: number;
}

export class Workspace {
  readonly #folder: string;
  readonly #tree: string;
  readonly #data: string;
  readonly #server: PrivateServer;
  #child: ChildProcess | undefined;

  private constructor(folder: string, data: string, server: PrivateServer) {
    this.#folder = folder;
    this.#tree = join(folder, 'tree');
    this.#data = data;
    this.#server = server;
  }

  static async open(): Promise<Workspace> {
    const folder = mkdtempSync(join(tmpdir(), 'tallybook-mutants-'));
    const tree = join(folder, 'tree');
    cpSync(repository, tree, { recursive: true, filter: isWanted });
    symlinkSync(join(repository, 'node_modules'), join(tree, 'node_modules'));
    // The server may run under an account of its own, which must reach its folder.
    const data = mkdtempSync(join(tmpdir(), 'tallybook-mutants-data-'));
    const server = await startPrivateServer({
      dataDirectory: data,
      stopWithParent: true,
      settings: { max_connections: '300', log_line_prefix: '%e ' },
      log: () => undefined,
    });
    return new Workspace(folder, data, server);
  }

  async close(): Promise<void> {
    this.#child?.kill('SIGKILL');
    await this.#server.stop();
    for (const folder of [this.#folder, this.#data]) {
      rmSync(folder, { recursive: true, force: true });
    }
  }

  /** Does something with the mutant in place of the product. */
  async with<T>(mutant: Mutant, act: () => Promise<T>): Promise<T> {
    // Of the copy: the working tree may go on changing.
    const whole = new Map<string, string>();
    const files = mutated(mutant, (file) => {
      const text = readFileSync(join(this.#tree, file), 'utf8');
      whole.set(file, text);
      return text;
    });
    for (const [file, text] of files) writeFileSync(join(this.#tree, file), text);
    try {
      return await act();
    } finally {
      for (const [file, text] of whole) writeFileSync(join(this.#tree, file), text);
    }
  }

  async run(suite: string): Promise<Run> {
    const started = performance.now();
    const report = join(this.#folder, 'report.json');
    rmSync(report, { force: true });
    const before = this.#complaints().length;
    const ending = await this.#vitest(suite, report);
    await this.#dropLeftovers();
    const complaints = new Set(this.#complaints().slice(before));
    return {
      ...judged(report, ending),
      invalid: [...complaints].filter((code) => invalid.has(code)).sort(),
      seconds: (performance.now() - started) / 1_000,
    };
  }

  /** How it ended, in words. */
  #vitest(suite: string, report: string): Promise<string> {
    const program = join(this.#tree, 'node_modules', 'vitest', 'vitest.mjs');
    const flags = ['--bail=1', '--reporter=json', `--outputFile=${report}`];
    if (suite.endsWith('.prove.ts')) flags.push('--config', 'vitest.prove.config.ts');
    const child = spawn(process.execPath, [program, 'run', ...flags, suite], {
      cwd: this.#tree,
      env: {
        ...process.env,
        NO_COLOR: '1',
        TALLYBOOK_PROVE: 'everything',
        TALLYBOOK_TEST_DATABASE_URL: this.#server.ownerUrl,
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#child = child;
    let said = '';
    child.stderr.on('data', (chunk) => {
      said += String(chunk);
    });
    const timer = setTimeout(() => child.kill('SIGKILL'), patience);
    return new Promise((resolve) => {
      child.once('close', (code, signal) => {
        clearTimeout(timer);
        resolve(`ended with ${code ?? signal}: ${said.slice(-2_000)}`);
      });
    });
  }

  /** A process that was killed leaves its databases. */
  async #dropLeftovers(): Promise<void> {
    const admin = new pg.Client({ connectionString: this.#server.ownerUrl });
    await admin.connect();
    const { rows } = await admin.query<{ name: string }>(
      `select datname as name from pg_database where datname like 'test\\_%' or datname = $1`,
      [templateName],
    );
    for (const { name } of rows) await admin.query(`drop database ${name} with (force)`);
    await admin.end();
  }

  /** The SQLSTATE of each error that the server has logged so far. */
  #complaints(): string[] {
    const files = readdirSync(this.#data, { recursive: true, encoding: 'utf8' });
    const logs = files.filter((file) => /server-[\d-]+\.log$/.test(file)).sort();
    return logs.flatMap((file) => {
      const text = readFileSync(join(this.#data, file), 'utf8');
      return [...text.matchAll(/^(\w{5}) ERROR: /gm)].map(([, code = '']) => code);
    });
  }
}

interface Report {
  readonly numTotalTests: number;
  readonly testResults: readonly {
    readonly status: string;
    readonly message: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

function judged(path: string, ending: string): Pick<Run, 'failed' | 'said' | 'broken' | 'tests'> {
  let report: Report;
  try {
    report = JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return { failed: undefined, said: '', broken: ending, tests: 0 };
  }
  const results = report.testResults.flatMap((file) => file.assertionResults);
  const first = results.find(({ status }) => status === 'failed');
  const failed = first?.fullName;
  const [said = ''] = first?.failureMessages[0]?.split('\n') ?? [];
  const red = report.testResults.find(({ status }) => status !== 'passed');
  const tests = results.filter(({ status }) => status === 'passed').length;
  const isBroken = failed === undefined && (red !== undefined || tests === 0);
  return {
    failed,
    said,
    broken: isBroken ? (red?.message ?? 'no test was run') : undefined,
    tests,
  };
}
