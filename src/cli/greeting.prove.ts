// What `serve` prints when it is ready: commands that work when they are pasted, named as this
// program was called.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

const checkout = new URL('../..', import.meta.url).pathname;
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tallybook greeting-'));
  await mkdir(join(directory, 'node_modules/.bin'), { recursive: true });
  for (const place of ['node_modules/.bin', '.']) {
    await symlink(join(checkout, 'bin/tallybook.js'), join(directory, place, 'tallybook'));
  }
});
afterAll(() => rm(directory, { recursive: true, force: true }));

const env = { PATH: process.env.PATH, HOME: process.env.HOME };

/** Starts it with these words, and does something while it is ready. */
async function greeted(
  words: readonly string[],
  cwd: string,
  work: (greeting: string) => Promise<void>,
  { data = 'data', words: more = [] as readonly string[] } = {},
): Promise<void> {
  const all = [...words, 'serve', '--port', '0', '--data', join(directory, data), ...more];
  const child = spawn(process.execPath, all, { env, cwd, stdio: ['ignore', 'pipe', 'ignore'] });
  const ended = once(child, 'exit');
  const [greeting] = await once(child.stdout, 'data');
  try {
    await work(String(greeting));
  } finally {
    child.kill('SIGTERM');
    await ended;
  }
}

const inShell = (line: string, cwd: string) =>
  new Promise<string>((resolve, reject) => {
    execFile('/bin/bash', ['--norc', '-c', line], { env, cwd }, (error, stdout) => {
      if (error) reject(error);
      else resolve(stdout);
    });
  });

/** The lines of a greeting that are commands. */
const commandsOf = (greeting: string) =>
  greeting.split('\n').filter((line) => / (merchant|token) (create|list) /.test(line));

test('a start names the next command whole: for no merchant, one, and several', async () => {
  await greeted(['bin/tallybook.js'], checkout, async (first) => {
    const [makeMerchant = ''] = commandsOf(first);
    expect(makeMerchant).toMatch(/^node bin\/tallybook\.js merchant create --data '/);
    expect(await inShell(makeMerchant, checkout)).toContain('Corner Shop');
  });
  await greeted([join(directory, 'node_modules/.bin/tallybook')], directory, async (second) => {
    const [makeToken = '', ...rest] = commandsOf(second);
    expect(makeToken).toMatch(/^npx tallybook token create .* --merchant mer_[0-9a-z]{26} /);
    expect(rest).toEqual([]);
    // As npx would run it, without asking the registry.
    const pasted = makeToken.replace('npx tallybook', 'node_modules/.bin/tallybook');
    expect(await inShell(pasted, directory)).toContain('Keep the token now');
    const again = pasted.replace(/token create (.*) --merchant.*/, 'merchant create $1 --name B');
    await inShell(again, directory);
  });
  await greeted([join(directory, 'tallybook')], directory, async (third) => {
    const [list = '', makeToken = ''] = commandsOf(third);
    expect(list).toMatch(/^tallybook merchant list --data '/);
    const pasted = (line: string) => inShell(`PATH="$PWD:$PATH"; ${line}`, directory);
    expect(await pasted(list)).toContain('Corner Shop');
    expect(await pasted(makeToken)).toContain('Usage: tallybook token create');
  });
}, 90_000);

test('the demo makes a link into the console at each start, until somebody used it', async () => {
  const words = ['bin/tallybook.js'];
  const demo = { data: 'demo', words: ['--demo'] };
  const linkIn = (greeting: string) => /http\S+\/console\/invitation#(tb_inv_\w+)/.exec(greeting);
  const accept = async (greeting: string, invitation: string | undefined) => {
    const [, origin = ''] = /(http\S+)\/console\n/.exec(greeting) ?? [];
    const answer = await fetch(`${origin}/console/session/accept`, {
      method: 'POST',
      headers: { origin, 'content-type': 'application/json' },
      body: JSON.stringify({ invitation, password: 'correct horse battery' }),
    });
    return answer.status;
  };
  let first: string | undefined;
  await greeted(
    words,
    checkout,
    async (one) => {
      first = linkIn(one)?.[1];
      expect(first).toBeDefined();
    },
    demo,
  );
  await greeted(
    words,
    checkout,
    async (two) => {
      const link = linkIn(two)?.[1];
      expect(link).not.toBe(first);
      expect(await accept(two, first)).toBe(401);
      expect(await accept(two, link)).toBe(201);
    },
    demo,
  );
  await greeted(
    words,
    checkout,
    async (three) => {
      expect(three).toContain('/console\n');
      expect(linkIn(three)).toBeNull();
    },
    demo,
  );
}, 90_000);
