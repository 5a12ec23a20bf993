// What help promises, through real processes on the built program: it marks what is required, names
// the variables, and its examples work against a demo merchant when they are pasted into a shell.

import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { extentName, sampleOf, timeout } from '../../test/kit/extent.ts';
import { settings } from '../config.ts';
import { type PrivateServer, startPrivateServer } from '../postgres/server.ts';

const program = new URL('../../bin/tallybook.js', import.meta.url).pathname;

interface Result {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function run(file: string, args: readonly string[], cwd?: string): Promise<Result> {
  const env = { PATH: process.env.PATH, HOME: process.env.HOME };
  return new Promise((resolve) => {
    const child = execFile(file, args, { env, cwd }, (_, stdout, stderr) =>
      resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    );
  });
}

const tallybook = (...args: readonly string[]) => run(process.execPath, [program, ...args]);

const helpOf = async (command: string) =>
  (await tallybook(...command.split(' ').filter(Boolean), '--help')).stdout;

/** The commands that help lists, and those below them. */
async function commandsBelow(command: string): Promise<string[]> {
  const [, list = ''] = (await helpOf(command)).split('\nCommands:\n');
  const names = [...list.matchAll(/^ {2}([a-z]+)/gm)].map(([, name]) => name);
  const found = names.filter((name) => name !== 'help').map((name) => `${command} ${name}`.trim());
  const below = await Promise.all(found.map(commandsBelow));
  return found.flatMap((one, place) => [one, ...(below[place] ?? [])]);
}

describe('help', () => {
  test('marks options that are required, in the usage as well', async () => {
    const help = await helpOf('token create');
    expect(help).toMatch(/^Usage: .* --merchant <merchant> --name <name> --scopes <scopes> /);
    expect(help.match(/^ {2}--[a-z]+ <[a-z]+> +\(required\)/gm)).toHaveLength(4);
    expect(help).toMatch(/Options:\n {2}--merchant/);
    expect(await helpOf('merchant list')).not.toContain('(required)');
  });

  test('of serve names the variable of every setting with its default', async () => {
    const help = (await helpOf('serve')).replaceAll(/\s+/g, ' ');
    for (const { variable, default: value, meaning } of Object.values(settings)) {
      const text = `${variable} ${meaning} Default: ${value}.`;
      expect(help).toContain(text.replaceAll('`', ''));
    }
  });

  test('of a command names the variables that choose its database', async () => {
    for (const command of ['token list', 'customer erase', 'audit verify', 'backup']) {
      expect(await helpOf(command)).toMatch(/^ {2}DATABASE_URL .*^ {2}TALLYBOOK_DATA /ms);
    }
    expect(await helpOf('status')).toContain('TALLYBOOK_PORT');
    expect(await helpOf('token list')).not.toContain('TALLYBOOK_PORT');
  });

  test('says that a password in an option is seen by everybody', async () => {
    expect((await helpOf('migrate')).replaceAll(/\s+/g, ' ')).toContain(
      'Everybody on this machine sees a password in it while the command runs (ps): the variable',
    );
  });
});

describe('what is missing', () => {
  test('is named all at once, with what it must be and an example', async () => {
    const { code, stdout, stderr } = await tallybook('token', 'create', '--name', 'till');
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toBe(`error: this is missing:
  --merchant <merchant>    whose records it reaches, mer_…
  --scopes <scopes>        "all", or some of customers.read, customers.write,
                           products.read, products.write, locations.read,
                           locations.write, inventory.read, inventory.write,
                           operations.read, events.read, webhooks.read,
                           webhooks.write, access.read, access.write
  --locations <locations>  "all", "none", or IDs, by comma

Example:
  $ tallybook token create --merchant mer_01k9x3v7c2e4r8t1m5n6p0q9sa --name till \\
      --scopes inventory.read,inventory.write --locations all --expires-in 30d
  "tallybook merchant list" shows yours (mer_…).
Add --help to the command to see what it takes.
`);
  });

  test('is an argument and options alike', async () => {
    const { code, stderr } = await tallybook('app', 'approve');
    expect(code).toBe(2);
    expect(stderr.match(/^ {2}(<|--)[a-z]+/gm)).toEqual([
      '  <application',
      '  --merchant',
      '  --scopes',
      '  --locations',
    ]);
  });
});

/** What says no here, with which status, and what it names: an address, a cluster. */
const refused = [
  [/^(?:import|export)/, 2, 'TALLYBOOK_URL'],
  [/^(?:cell move|server)/, 1, 'Citus'],
] as const;

describe('every example', () => {
  let directory: string;
  let server: PrivateServer;
  /** What stands for each kind of ID of an example. */
  const real: Record<string, string> = {};
  let person: string;

  const inShell = (line: string) => {
    const script = `tallybook() { "${process.execPath}" "${program}" "$@"; }; ${line}`;
    return run('/bin/bash', ['--norc', '-c', script], directory);
  };
  const printed = async (line: string) => {
    const { code, stdout, stderr } = await inShell(`tallybook ${line} --data ./data --json`);
    expect(code, stderr).toBe(0);
    return JSON.parse(stdout);
  };

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'tallybook-help-'));
    server = await startPrivateServer({
      dataDirectory: join(directory, 'data'),
      stopWithParent: true,
      log: () => undefined,
    });
    const demo = await printed('demo');
    real.mer = demo.merchant_id;
    real.cred = demo.credential_id;
    const scopes = '--scopes inventory.read,inventory.write';
    real.app = (await printed(`app create --name "Stock Sync" ${scopes}`)).id;
    person = (await printed(`person invite --merchant ${real.mer} --name Grace --role viewer`)).id;
    // So that the check has what it needs, but for somebody who answers.
    const forCheck = await printed('merchant create --name Check --for-check');
    await writeFile(join(directory, 'check.json'), JSON.stringify(forCheck));
    real.loc = (await printed(`location list --merchant ${real.mer}`))[0].id;
  });
  afterAll(async () => {
    await server?.stop();
    await rm(directory, { recursive: true, force: true });
  });

  test(
    `works when it is pasted: ${extentName}`,
    async () => {
      const endsSomething = (command: string) =>
        ['revoke', 'disable'].findIndex((word) => command.endsWith(word));
      const drawn = sampleOf((await commandsBelow('')).sort(), 8);
      // What is restored was backed up, and what is revoked was approved.
      const before = { restore: 'backup', 'app revoke': 'app approve' };
      const needed = Object.entries(before).filter(([command]) => drawn.includes(command));
      const some = [...new Set([...needed.map(([, first]) => first), ...drawn])];
      for (const command of some.sort((a, b) => endsSomething(a) - endsSomething(b))) {
        const [, example = ''] = (await helpOf(command)).split('\nExample:\n  $ ');
        const line = example.replace(/\n {2}[^ ].*/s, '').trim();
        expect(line).toContain(`tallybook ${command}`);
        const pasted = line.replaceAll(
          /\b(mer|cred|app|loc)_[0-9a-z]{26}/g,
          (sample, prefix: string) =>
            prefix === 'cred' && command.startsWith('person ') ? person : (real[prefix] ?? sample),
        );
        await works(command, pasted);
      }
    },
    timeout,
  );

  /** Here no service runs, no cluster, no customer has the ID: then it is understood at least. */
  async function works(command: string, line: string): Promise<void> {
    const where = line.includes('--data') ? '' : 'export TALLYBOOK_DATA=./data;';
    const isServe = command === 'serve';
    // No such address, so that it ends; no terminal to ask on.
    const yes = /customer erase/.test(line) ? ' --yes' : '';
    const rest = isServe ? ' --host 192.0.2.1' : yes;
    const nobody = line.replace('https://books.example.com', 'http://127.0.0.1:1');
    const { code, stderr } = await inShell(`${where} ${nobody}${rest}`);
    const isIdle = isServe || /^status|^customer|^check/.test(command);
    for (const [commands, status, reason] of refused) {
      if (!commands.test(command)) continue;
      expect([line, code, stderr]).toEqual([line, status, expect.stringContaining(reason)]);
      return;
    }
    expect([line, code, stderr]).toEqual([line, isIdle ? 1 : 0, isIdle ? stderr : '']);
  }
});
