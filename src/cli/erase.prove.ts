// `tallybook customer erase` asks before it erases, because nobody can bring the data back.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../test/kit/database.ts';
import { Given } from '../../test/kit/given.ts';

const program = new URL('../../bin/tallybook.js', import.meta.url).pathname;

let db: TestDatabase;
let customer: string;

beforeAll(async () => {
  db = await createTestDatabase();
  const given = new Given(db);
  customer = await given.customer(await given.merchant());
});
afterAll(() => db.drop());

async function ran(file: string, args: readonly string[], input: string) {
  const env = {
    PATH: process.env.PATH,
    TALLYBOOK_MIGRATE_URL: db.ownerUrl,
    DATABASE_URL: db.serviceUrl,
  };
  const child = spawn(file, args, { env });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      printed += String(chunk);
      if (printed.endsWith('[y/N] ')) child.stdin.end(input);
    });
  }
  const [code] = await once(child, 'close');
  return { code, printed };
}

/** The command on a terminal, with what is typed there. */
const typed = (input: string) => {
  const line = [process.execPath, program, 'customer', 'erase', customer].join(' ');
  return ran('script', ['-qec', line, '/dev/null'], input);
};

async function isErased(): Promise<boolean> {
  const sql = 'select erased_at is not null as erased from customers where id = $1';
  const [row] = await db.sql<{ erased: boolean }>(sql, [customer]);
  return row?.erased ?? false;
}

test('without a terminal and without --yes it is refused', async () => {
  const answer = await ran(process.execPath, [program, 'customer', 'erase', customer], '');
  expect(answer).toEqual({
    code: 2,
    printed: 'error: this cannot be undone, and there is no terminal to ask on: add --yes\n',
  });
  expect(await isErased()).toBe(false);
});

test('on a terminal anything but yes does nothing', async () => {
  for (const input of ['\n', 'n\n', 'yesterday\n', '\u0004']) {
    const { code, printed } = await typed(input);
    expect(printed).toContain(`Erase the personal data of ${customer}? Nobody can bring it back.`);
    expect(printed).toContain('error: nothing was done');
    expect(code).toBe(1);
    expect(await isErased()).toBe(false);
  }
});

test('Ctrl-C does nothing either', async () => {
  expect((await typed('\u0003')).code).not.toBe(0);
  expect(await isErased()).toBe(false);
});

test('on a terminal, yes erases; and so does --yes, without asking', async () => {
  const { code, printed } = await typed('y\n');
  expect({ code, printed }).toEqual({ code: 0, printed: expect.stringContaining('was erased at') });
  expect(await isErased()).toBe(true);
  const args = [program, 'customer', 'erase', customer, '--yes'];
  expect(await ran(process.execPath, args, '')).toEqual({
    code: 0,
    printed: expect.stringMatching(/^cus_\w+ was erased at .*\n$/),
  });
});
