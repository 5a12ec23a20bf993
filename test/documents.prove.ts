// The examples in the documents: each block marked `sh` is run as its reader would run it, line by
// line, in an empty folder, before a demo merchant; blocks marked `ts` with no command between them
// are one program. Where a block `text` follows, its lines must be among what was printed. What
// cannot run here is listed, with what proves it instead.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { makeCertificate, writeCertificate } from './kit/certificates.ts';
import { type Example, installFor, runExamples } from './kit/example-program.ts';
import { sampleOf } from './kit/extent.ts';
import { Browser } from './kit/oauth.ts';
import { freePort } from './kit/port.ts';
import { withDatabase } from './kit/postgres.ts';
import { type ServiceProcess, serveProcess } from './kit/process.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'tallybook-documents-'));
const data = join(folder, 'data');
let service: ServiceProcess;
let servePort: number;
let metricsPort: number;
/** Where a reader's own program listens. */
let ownPort: number;
/** What a reader knows from the start: a customer of the demo, and what `serve` printed. */
let known: string;

beforeAll(async () => {
  for (const name of ['backups', 'etc', 'here']) mkdirSync(join(folder, name));
  const files = { cert: join(folder, 'etc/fullchain.pem'), key: join(folder, 'etc/key.pem') };
  writeCertificate(makeCertificate(), files);
  installFor(join(folder, 'here'));
  const own = { TALLYBOOK_WEBHOOK_ALLOW: '127.0.0.1' };
  service = await serveProcess(['--demo', '--data', data], own);
  servePort = await freePort();
  metricsPort = await freePort();
  ownPort = await freePort();
  const { api, greeting } = service;
  const page = await api.get('/customers?limit=1', { token: greeting.token ?? '' });
  known = JSON.stringify([page.body, greeting]);
});
afterAll(async () => {
  await service.end();
  rmSync(folder, { recursive: true, force: true });
});

/** What is not run here, and what proves it. */
const elsewhere: readonly (readonly [RegExp, string])[] = [
  [
    /^npm (ci|start|test|run|pack)\b/,
    'CI and contributors run them; `npm start` is a demo service',
  ],
  [/^npx (vitest|tsx|-p)\b/, 'CI and contributors run them'],
  [/^(useradd|systemctl|journalctl|install -d|cp \S+\.service)\b/, 'needs systemd as root'],
  [/^(git pull|echo TALLYBOOK_BACKUP_DIR=)/, 'changes the program or settings of the reader'],
  [/\bgpg\b/, 'needs a key of the reader; src/cli/backup.prove.ts pipes a backup'],
  [/\bpg_restore\b/, 'the packaged PostgreSQL has neither pg_dump nor pg_restore'],
];

/** Exit code 1 says that there is something to do. */
const findsSomething = /tallybook\.js status/;

/** The database that a document makes, on the server of this run: ours has its usual names. */
const ownName = (text: string) => text.replaceAll('tallybook', 'reader');
const password = 'of-no-value';

function urlOf(role: string): string {
  const url = new URL(withDatabase(inject('ownerUrl'), ownName('tallybook')));
  url.username = ownName(role);
  url.password = password;
  return url.href;
}

async function asSuperuser(statements: string): Promise<void> {
  const admin = new pg.Client({ connectionString: inject('ownerUrl') });
  await admin.connect();
  try {
    for (const statement of statements.split(';\n')) {
      if (statement !== '') await admin.query(statement);
    }
  } finally {
    await admin.end();
  }
}

interface Block {
  readonly kind: string;
  readonly text: string;
}

function documentsOf(path: string): string[] {
  return readdirSync(join(root, path))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(path, name));
}

const blocksOf = (path: string): Block[] =>
  Array.from(
    readFileSync(join(root, path), 'utf8').matchAll(/^```(\w*)\n(.*?)^```$/gms),
    ([, kind = '', text = '']) => ({ kind, text }),
  );

/** What a line ends with tells whether the next one belongs to it. */
function commandsOf(text: string): string[] {
  const commands: string[] = [];
  let open = '';
  for (const line of text.split('\n')) {
    open = open === '' ? line : `${open}\n${line}`;
    if (line.endsWith('\\') || (open.match(/["']/g) ?? []).length % 2 === 1) continue;
    if (open.trim() !== '') commands.push(open);
    open = '';
  }
  return commands;
}

/** One reader at work: a shell that keeps variables, and what was printed so far. */
class Reader {
  printed: string;
  readonly #state = join(folder, 'state');
  #server: ChildProcess | undefined;

  constructor() {
    this.printed = known;
    writeFileSync(this.#state, '');
  }

  async run(command: string): Promise<string> {
    const text = this.#pasted(command);
    if (/tallybook\.js serve\b/.test(text)) return this.#serve(text);
    const script = `set -a; . ${this.#state}; ${text}\ncode=$?
      { export -p; declare -f; } > ${this.#state}; exit $code`;
    const { child, output } = this.#spawn(script);
    const [code] = await once(child, 'close');
    const codes = findsSomething.test(command) ? [0, 1] : [0];
    expect(codes, `${command}\n${output()}`).toContain(code);
    // Of an application one keeps what it was created with. Some commands name other merchants, or
    // credentials of people, which have no token.
    const isOfOthers = / app (approve|revoke)| status$| --expiring | person /m.test(command);
    if (!isOfOthers) this.printed += output();
    return output();
  }

  /** One program of several blocks. The person who uses it consents to what it asks for. */
  async runProgram(examples: readonly Example[]): Promise<void> {
    const pasted = examples.map((one) => ({ ...one, code: this.#pasted(one.code) }));
    let asked: Promise<void> | undefined;
    this.printed += await runExamples(join(folder, 'here'), pasted, expectLines, (output) => {
      const [, url] = /Open (\S+)\n/.exec(output) ?? [];
      if (url !== undefined) asked ??= consent(url);
    });
    await asked;
  }

  async end(): Promise<void> {
    if (this.#server === undefined) return;
    const gone = once(this.#server, 'exit');
    this.#server.kill('SIGTERM');
    expect((await gone)[0]).toBe(0);
    this.#server = undefined;
  }

  /** A reader pastes what was printed last, or names what the demo has. */
  #pasted(command: string): string {
    const latest = (pattern: string) => {
      const found = this.printed.match(new RegExp(pattern, 'g'))?.at(-1);
      if (found === undefined) throw new Error(`nothing was printed for ${pattern}`);
      return found;
    };
    return (
      command
        .replaceAll(/\b(\w+)_\d?…/g, (_, kind) => latest(`${kind}_\\w{8,}`))
        .replaceAll(/\bHASH\b/g, () => latest('[0-9a-f]{64}'))
        .replaceAll(/postgres:\/\/(\w+):…@db\/tallybook/g, (_, role) => `'${urlOf(role)}'`)
        // It asks on a terminal, which a reader has.
        .replaceAll('customer erase', 'customer erase --yes')
        .replaceAll('http://127.0.0.1:8080', service.api.origin)
        .replaceAll('https://shop.example.com/', `http://127.0.0.1:${ownPort}/`)
        .replaceAll('8090', String(ownPort))
        .replaceAll(':9464', `:${metricsPort}`)
        .replaceAll('PORT=9464', `PORT=${metricsPort}`)
        .replaceAll('/var/lib/tallybook', data)
        .replaceAll('/var/backups', join(folder, 'backups'))
        .replaceAll('/etc/tallybook', join(folder, 'etc'))
        .replaceAll(/(node )?(?<![/\w])bin\/tallybook\.js/g, `node ${root}bin/tallybook.js`)
    );
  }

  /** Until the next one, or the end of the document. */
  async #serve(text: string): Promise<string> {
    await this.end();
    // The shell becomes the service: a signal to it is one to the service.
    const script = `. ${this.#state}; node() { exec "$(type -P node)" "$@"; }
      ${text.replace(/ --port \d+/, '')} --port ${servePort}`;
    const server = this.#spawn(script);
    this.#server = server.child;
    // Beside other tests, several processes start one after the other.
    const patience = { message: text, timeout: 90_000 };
    await expect.poll(server.output, patience).toMatch(/Tallybook is ready/);
    return server.output();
  }

  #spawn(script: string): { readonly child: ChildProcess; output(): string } {
    const { PATH, TMPDIR, HOME } = process.env;
    const { port: TALLYBOOK_PORT } = new URL(service.api.origin);
    const env = { PATH, TMPDIR, HOME, TALLYBOOK_PORT, TALLYBOOK_DATA: data };
    const child = spawn('bash', ['-c', script], { cwd: join(folder, 'here'), env });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => {
        output += String(chunk);
      });
    }
    return { child, output: () => output };
  }
}

/** What a person does with their own token, and the browser that then goes back. */
async function consent(url: string): Promise<void> {
  const browser = new Browser(service.api.origin);
  await browser.get(url);
  await browser.submit([
    ['decision', 'prove'],
    ['token', service.greeting.token ?? ''],
  ]);
  await browser.submit([
    ['decision', 'allow'],
    ['location', 'all'],
  ]);
  await fetch(browser.url);
}

/** `…` stands for any text within a line. */
function expectLines(expected: string, output: string): void {
  for (const line of expected.trim().split('\n')) {
    const parts = line.split('…').map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
    expect(output.replaceAll('\r', '')).toMatch(new RegExp(parts.join('.*?')));
  }
}

const documents = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'ARCHITECTURE.md',
  ...['docs/integrate', 'docs/operate', 'docs/contribute', 'docs/decisions'].flatMap(documentsOf),
  'docs/security.md',
  'deploy/README.md',
  'bench/README.md',
].filter((path) => blocksOf(path).some(({ kind }) => kind === 'sh' || kind === 'ts'));

// The guide is what integrators begin with: it is run each time. Those for operators change what
// those for integrators read, and come after them.
const guide = 'docs/integrate/guide.md';
const drawn = new Set([guide, ...sampleOf(documents, 4)]);

test.each(documents.filter((path) => drawn.has(path)))(
  '%s: every command does what it says',
  { timeout: 180_000 },
  async (path) => {
    const reader = new Reader();
    let output = '';
    let wasRun = false;
    let program: Example[] = [];
    const endProgram = async () => {
      if (program.length > 0) await reader.runProgram(program);
      program = [];
    };
    try {
      for (const { kind, text } of blocksOf(path)) {
        const example = program.at(-1);
        if (kind === 'text' && wasRun) expectLines(text, output);
        else if (kind === 'text' && example !== undefined) example.expected = text;
        wasRun = false;
        if (kind === 'sql') await asSuperuser(ownName(text).replace('…', password));
        if (kind === 'ts') program.push({ code: text });
        if (kind !== 'sh') continue;
        await endProgram();
        output = '';
        for (const command of commandsOf(text)) {
          if (command.startsWith('#') || elsewhere.some(([pattern]) => pattern.test(command)))
            continue;
          output += await reader.run(command);
          wasRun = true;
        }
      }
      await endProgram();
    } finally {
      await reader.end();
      await asSuperuser('drop database if exists reader (force);\n');
      await asSuperuser('drop role if exists reader_service;\ndrop role if exists reader_owner;\n');
    }
  },
);

test('the guide is read in one go: at most 1,500 words, its examples among them', () => {
  const text = readFileSync(join(root, guide), 'utf8');
  expect(text.split(/\s+/).length).toBeLessThanOrEqual(1_500);
});
