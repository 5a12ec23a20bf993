// Tables fit 120 columns, or a narrower terminal, whatever the values: through real processes, on a
// pipe and on a terminal.

import { execFile } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Applications } from '../../test/kit/applications.ts';
import { createTestDatabase, type TestDatabase } from '../../test/kit/database.ts';
import { Given } from '../../test/kit/given.ts';

const program = new URL('../../bin/tallybook.js', import.meta.url).pathname;
const longName = 'Harbour Street Provisions and Sons, '.repeat(7);

let db: TestDatabase;
let commands: readonly (readonly string[])[];

beforeAll(async () => {
  db = await createTestDatabase();
  const given = new Given(db);
  const applications = new Applications(db);
  const merchant = await given.merchant();
  const application = await applications.application();
  const { token: by } = await given.credential(merchant);
  const approval = await applications.approval(merchant, application);
  await applications.consent(merchant, application, { approval, by });
  for (const name of ['one', 'two']) await given.location(merchant, { name });
  for (const table of ['merchants', 'credentials', 'locations', 'applications']) {
    await db.sql(`update ${table} set name = $1`, [longName]);
  }
  await db.sql('update applications set redirect_uris = $1', [
    [`https://example.com/${'a'.repeat(300)}`],
  ]);
  await tallybook('merchant', 'create', '--name', longName.slice(0, 255));
  commands = [
    ['merchant', 'list'],
    ['location', 'list', '--merchant', merchant],
    ['token', 'list', '--merchant', merchant],
    ['app', 'list'],
    ['app', 'show', application],
    ['audit', 'list'],
  ];
});
afterAll(() => db.drop());

const env = () => ({
  PATH: process.env.PATH,
  TALLYBOOK_MIGRATE_URL: db.ownerUrl,
  DATABASE_URL: db.serviceUrl,
});

const run = (file: string, args: readonly string[]) =>
  new Promise<string>((resolve, reject) => {
    execFile(file, args, { env: env() }, (error, stdout) => {
      if (error) reject(error);
      else resolve(stdout);
    });
  });

const tallybook = (...args: readonly string[]) => run(process.execPath, [program, ...args]);

/** How wide each line with a border is. */
const widthsOf = (printed: string) =>
  printed
    .split(/\r?\n/)
    .filter((line) => /^[┌├└│]/.test(line))
    .map((line) => line.length);

describe('a table', () => {
  test('takes 120 columns at most in a pipe, cuts with …, and JSON has all', async () => {
    for (const command of commands) {
      const printed = await tallybook(...command);
      const widths = widthsOf(printed);
      expect([command, widths.length > 2, Math.max(...widths) <= 120]).toEqual([
        command,
        true,
        true,
      ]);
      expect([command, printed.includes('…')]).toEqual([command, true]);
      expect(await tallybook(...command, '--json')).toContain(longName.slice(0, 200));
    }
  });

  test('never cuts the ID that names the row', async () => {
    for (const command of commands.slice(0, 4)) {
      expect(await tallybook(...command)).toMatch(/│ [a-z]+_[0-9a-z]{26} │/);
    }
  });

  test('takes the columns of a narrower terminal', async () => {
    for (const command of commands) {
      const words = [process.execPath, program, ...command].join(' ');
      const typed = ['-qec', `stty cols 72; ${words}`, '/dev/null'];
      const widths = widthsOf(await run('script', typed));
      expect([command, Math.max(...widths)]).toEqual([command, 72]);
    }
  });

  test('of the audit trail holds 20 records unless more are asked for', async () => {
    const line = `select append_audit('[{"entry":{"action":"a.b"},"age":0}]', null)`;
    for (let n = 0; n < 22; n += 1) await db.sql(line);
    const list = async (...flags: readonly string[]) =>
      JSON.parse(await tallybook('audit', 'list', '--json', ...flags));
    expect(await list()).toHaveLength(20);
    expect(await list('--limit', '22')).toHaveLength(22);
  });
});
