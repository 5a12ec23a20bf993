// What `tallybook merchant export` and `tallybook customer export` write: everything, of one
// moment, of one merchant or person and of nobody else.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../test/kit/database.ts';
import { Given } from '../../test/kit/given.ts';

const program = new URL('../../bin/tallybook.js', import.meta.url).pathname;

interface Line {
  readonly type: string;
  readonly data: { readonly id: string; readonly records?: number };
}

let db: TestDatabase;
let given: Given;
let directory: string;
let merchant: string;

beforeAll(async () => {
  db = await createTestDatabase();
  given = new Given(db);
  directory = await mkdtemp(join(tmpdir(), 'tallybook-export-'));
  await tallybook('demo');
  ({ merchant_id: merchant } = JSON.parse((await tallybook('demo', '--json')).stdout));
}, 60_000);
afterAll(async () => {
  await db.drop();
  await rm(directory, { recursive: true, force: true });
});

const env = () => ({
  PATH: process.env.PATH,
  TALLYBOOK_MIGRATE_URL: db.ownerUrl,
  DATABASE_URL: db.serviceUrl,
});

function tallybook(...args: readonly string[]) {
  return new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
    const options = { env: env(), maxBuffer: 1e8 };
    const child = execFile(process.execPath, [program, ...args], options, (_, stdout, stderr) =>
      resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    );
  });
}

const linesOf = (text: string): Line[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

async function lastLine(): Promise<Record<string, unknown>> {
  const [row] = await db.sql<{ line: string }>(
    'select line from audit_records order by day desc, number desc limit 1',
  );
  return JSON.parse(row?.line ?? '{}');
}

const counted = (lines: readonly Line[]) => {
  const counts: Record<string, number> = {};
  for (const { type } of lines) counts[type] = (counts[type] ?? 0) + 1;
  return counts;
};

const demo = {
  ...{ merchant: 1, location: 3, product: 60, customer: 40 },
  ...{ inventory_level: 136, inventory_movement: 443, inventory_transfer: 59 },
  ...{ inventory_count: 2, inventory_reservation: 3, operation: 305, end: 1 },
};

describe('merchant export', () => {
  test('writes all of one merchant as the interface shows it, and an audit line', async () => {
    const { code, stdout, stderr } = await tallybook('merchant', 'export', merchant);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const lines = linesOf(stdout);
    expect(counted(lines)).toEqual(demo);
    expect(lines.at(-1)).toEqual({ type: 'end', data: { records: 1_052 } });
    const shown = await tallybook('location', 'list', '--merchant', merchant, '--json');
    const locations = lines.filter(({ type }) => type === 'location').map(({ data }) => data);
    expect(locations).toEqual(JSON.parse(shown.stdout));
    const ids = await db.sql<{ id: string }>(
      'select id from inventory_movements where merchant_id = $1 order by id',
      [merchant],
    );
    const movements = lines.filter(({ type }) => type === 'inventory_movement');
    expect(movements.map(({ data }) => data.id).sort()).toEqual(ids.map(({ id }) => id));
    expect(stdout).not.toMatch(/tb_pat_|token_hash|key_hash/);
    expect(await lastLine()).toMatchObject({ action: 'merchant.export', merchant_id: merchant });
  });

  test('is of one moment, however slowly it is read', async () => {
    const child = spawn(process.execPath, [program, 'merchant', 'export', merchant], {
      env: env(),
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = once(child, 'exit');
    await once(child.stdout, 'readable');
    await db.sql(`update customers set name = 'Later' where merchant_id = $1`, [merchant]);
    await given.customer(merchant);
    let text = '';
    for await (const chunk of child.stdout) text += String(chunk);
    expect(await ended).toEqual([0, null]);
    expect(counted(linesOf(text))).toEqual(demo);
    expect(text).not.toContain('Later');
  });

  test('ends quietly when its reader does', async () => {
    const line = `"${process.execPath}" "${program}" merchant export ${merchant} | head -n 1`;
    const child = execFile('/bin/bash', ['--norc', '-o', 'pipefail', '-c', line], { env: env() });
    let printed = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk) => {
        printed += String(chunk);
      });
    }
    expect(await once(child, 'close')).toEqual([0, null]);
    expect(linesOf(printed)).toHaveLength(1);
  });

  test('writes a file that only its owner can read, and says how much it holds', async () => {
    const file = join(directory, 'shop.jsonl');
    const { code, stdout } = await tallybook('merchant', 'export', merchant, file, '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({ file, merchant_id: merchant, records: 1_053 });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(linesOf(await readFile(file, 'utf8'))).toHaveLength(1_054);
    expect(await readdir(directory)).toEqual(['shop.jsonl']);
    const absent = join(directory, 'absent', 'shop.jsonl');
    const refused = await tallybook('merchant', 'export', merchant, absent);
    expect(refused).toEqual({
      code: 1,
      stdout: '',
      stderr: `error: ${absent} cannot be written: there is no such directory\n`,
    });
    expect(existsSync(absent)).toBe(false);
  });
});

describe('customer export', () => {
  test('writes the record and the operations on it, and nobody else', async () => {
    const [row] = await db.sql<{ id: string }>(
      'select id from customers where merchant_id = $1 order by id limit 1',
      [merchant],
    );
    const id = row?.id ?? '';
    const { code, stdout } = await tallybook('customer', 'export', id);
    expect(code).toBe(0);
    expect(linesOf(stdout)).toEqual([
      { type: 'customer', data: expect.objectContaining({ id, name: 'Later' }) },
      {
        type: 'operation',
        data: expect.objectContaining({
          type: 'customers.create',
          resource: { type: 'customer', id },
        }),
      },
      { type: 'end', data: { records: 2 } },
    ]);
    expect(await lastLine()).toMatchObject({
      action: 'customer.export',
      merchant_id: merchant,
      resource_id: id,
    });
    expect((await tallybook('customer', 'erase', id, '--yes')).code).toBe(0);
    const erased = await tallybook('customer', 'export', id);
    expect(erased).toMatchObject({ code: 1, stdout: '' });
    expect(erased.stderr).toMatch(/^error: .*erased/);
  });

  test('names what does not exist', async () => {
    const { code, stderr } = await tallybook('customer', 'export', `cus_${'0'.repeat(26)}`);
    expect([code, stderr]).toEqual([1, `error: there is no customer cus_${'0'.repeat(26)}\n`]);
  });
});
