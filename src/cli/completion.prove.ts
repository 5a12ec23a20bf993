// What a shell completes with the script of `tallybook completion`: real shells are asked.

import { execFile, execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { scopes } from '../resources.ts';

const program = new URL('../../bin/tallybook.js', import.meta.url).pathname;
const zsh = ['/bin/zsh', '/usr/bin/zsh'].find(existsSync);
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tallybook-completion-'));
  for (const shell of ['bash', 'zsh']) {
    const script = execFileSync(process.execPath, [program, 'completion', shell]);
    await writeFile(join(directory, shell), script);
  }
  await writeFile(join(directory, 'tallybook.backup.gz'), '');
});
afterAll(() => rm(directory, { recursive: true, force: true }));

/** What bash offers after these words; the last one is being typed. */
function bashOffers(...words: readonly string[]): Promise<string[]> {
  const script = `source ./bash
    COMP_WORDS=(tallybook "$@") COMP_CWORD=$#
    _tallybook
    printf '%s\\n' "\${COMPREPLY[@]-}"`;
  return new Promise((resolve, reject) => {
    const args = ['--norc', '-uc', script, 'bash', ...words];
    execFile('/bin/bash', args, { cwd: directory }, (error, stdout) => {
      if (error) reject(error);
      else resolve(stdout.split('\n').filter(Boolean));
    });
  });
}

describe('bash completes', () => {
  test('commands, and the commands of a group', async () => {
    expect(await bashOffers('re')).toEqual(['restore']);
    expect(await bashOffers('m')).toEqual(['migrate', 'merchant']);
    expect(await bashOffers('token', 'r')).toEqual(['rotate', 'revoke']);
    expect(await bashOffers('completion', '')).toEqual(['bash', 'zsh']);
  });

  test('every command that help lists', async () => {
    const offered = await bashOffers('');
    const help = execFileSync(process.execPath, [program, '--help']).toString();
    const listed = [...help.matchAll(/^ {2}([a-z]+)(?: |$)/gm)].map(([, name]) => name);
    expect(listed.length).toBeGreaterThan(10);
    expect(offered).toEqual(expect.arrayContaining(listed));
  });

  test('the options of the command, also after others', async () => {
    expect(await bashOffers('location', 'create', '--n')).toEqual(['--name']);
    const typed = ['token', 'create', '--name', 'token', '--merchant', 'x'];
    expect(await bashOffers(...typed, '--s')).toEqual(['--scopes']);
    expect(await bashOffers('serve', '--tls')).toEqual(['--tls-cert', '--tls-key']);
  });

  test('the values of an option that has few', async () => {
    const create = ['location', 'create', '--type'];
    expect(await bashOffers(...create, '')).toEqual(['store', 'warehouse', 'other']);
    expect(await bashOffers(...create, '=', 'w')).toEqual(['warehouse']);
    expect(await bashOffers(...create, '=')).toEqual(['store', 'warehouse', 'other']);
    expect(await bashOffers('token', 'scope', 'x', '--scopes', '')).toEqual(['all', ...scopes]);
    expect(await bashOffers('token', 'grant', 'x', '--locations', 'n')).toEqual(['none']);
  });

  test('nothing of its own where a file or an ID is due: bash offers files then', async () => {
    expect(await bashOffers('restore', 'tallyb')).toEqual([]);
    expect(await bashOffers('serve', '--tls-cert', '')).toEqual([]);
  });
});

/** What an interactive zsh calls when the tabulator key completes a line before it is sent. */
async function zshCompletes(line: string): Promise<string> {
  await writeFile(
    join(directory, 'rc'),
    `autoload -Uz compinit && compinit -u -D
     source ./zsh
     tallybook() { print -r -- "<\${(j:|:)@}>" }
     print READY`,
  );
  const script = `zmodload zsh/zpty
    zpty -b shell zsh -f -i
    zpty -w shell 'source ./rc'
    zpty -r -m shell ignored '*READY*' || true
    zpty -n -w shell "${line}"$'\\t'$'\\n'
    zpty -r -m shell seen '*<*>*'
    print -r -- "$seen"
    zpty -d shell`;
  const env = { PATH: process.env.PATH, HOME: directory, TERM: 'dumb' };
  const options = { cwd: directory, env, timeout: 20_000 };
  const seen = execFileSync(zsh ?? 'zsh', ['-f', '-c', script], options).toString();
  return /<([^<>]*)>\s*$/.exec(seen.trimEnd())?.[1] ?? seen;
}

describe.runIf(zsh !== undefined)('zsh completes', () => {
  test.each([
    ['tallybook resto', 'restore'],
    ['tallybook token rev', 'token|revoke'],
    ['tallybook location create --na', 'location|create|--name'],
    ['tallybook location create --type ware', 'location|create|--type|warehouse'],
    ['tallybook restore tallyb', 'restore|tallybook.backup.gz'],
  ])('%s', async (line, words) => {
    expect(await zshCompletes(line)).toBe(words);
  });
});
