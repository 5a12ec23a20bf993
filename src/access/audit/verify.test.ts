import { createHash } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { AuditTrail } from '../../../test/kit/audit.ts';
import { createTestDatabase, type TestDatabase } from '../../../test/kit/database.ts';
import { type ChainReport, verifyChain } from './verify.ts';

const first = '2020-01-30';
const second = '2020-01-31';

let db: TestDatabase;
let trail: AuditTrail;
let today: string;

/** Three records of the first day, four of the second, three of today. */
beforeAll(async () => {
  db = await createTestDatabase();
  trail = new AuditTrail(db);
  await trail.giveDay(first, 3);
  await trail.giveDay(second, 4);
  await trail.append('a', 'b', 'c');
  today = (await trail.lines()).at(-1)?.day ?? '';
  await trail.keep();
});
afterEach(() => trail.restore());
afterAll(async () => {
  await trail.database.close();
  await db.drop();
});

/** The same whatever the size of the ranges it is read in. */
async function verify(expected?: string): Promise<ChainReport> {
  const options = { expect: expected };
  const report = await verifyChain(trail.database.reader, options);
  for (const rangeSize of [1, 3]) {
    expect(await verifyChain(trail.database.reader, { ...options, rangeSize })).toEqual(report);
  }
  return report;
}

async function hashOf(day: string, number: number): Promise<Buffer> {
  const [row] = await db.sql<{ hash: Buffer }>(
    'select hash from audit_records where day = $1 and number = $2',
    [day, number],
  );
  return row?.hash ?? Buffer.alloc(0);
}

const at = (day: string, number: number) => `day = '${day}' and number = ${number}`;
const newHash = "hash = sha256(convert_to('another', 'UTF8'))";

test('an unchanged trail is sound, and the result has its last hash', async () => {
  const last = { day: today, number: 3, hash: (await hashOf(today, 3)).toString('hex') };
  expect(await verify()).toEqual({ ok: true, records: 10, last, fault: null });
});

test('an empty trail is sound', async () => {
  const empty = await createTestDatabase();
  const { database } = new AuditTrail(empty);
  const report = await verifyChain(database.reader);
  expect(report).toEqual({ ok: true, records: 0, last: null, fault: null });
  await database.close();
  await empty.drop();
});

test('a line that was changed is named, whichever it is', async () => {
  const lines = await trail.lines();
  for (const [index, { day, number }] of lines.entries()) {
    await trail.tamper(`update audit_records set line = replace(line, '"action":"', '"action":"x')
      where ${at(day, number)}`);
    expect(await verify()).toMatchObject({
      ok: false,
      records: index,
      fault: { kind: 'altered', day, number },
    });
    await trail.restore();
  }
});

type Expected = readonly [kind: string, day: string | null, number: number | null];

const cases: readonly [what: string, sql: () => string, expected: () => Expected][] = [
  [
    'a hash that was changed',
    () => `update audit_records set ${newHash} where ${at(second, 2)}`,
    () => ['altered', second, 2],
  ],
  [
    'a line and its hash, changed together: the next one does not follow',
    () => `update audit_records r set line = r.line || ' ',
      hash = sha256(p.hash || convert_to(r.line || ' ', 'UTF8')) from audit_records p
      where r.day = '${second}' and r.number = 2 and p.day = r.day and p.number = 1`,
    () => ['altered', second, 3],
  ],
  [
    'a line that is no longer JSON',
    () => `update audit_records set line = E'\\n\\u0007' where ${at(second, 2)}`,
    () => ['altered', second, 2],
  ],
  [
    'a number that was changed',
    () => `update audit_records set number = 9 where ${at(second, 2)}`,
    () => ['missing', second, 2],
  ],
  [
    'the number of the last record of a day',
    () => `update audit_records set number = 9 where ${at(second, 4)}`,
    () => ['altered', second, 9],
  ],
  [
    'a day that was changed',
    () => `update audit_records set day = '2020-02-03' where ${at(second, 2)}`,
    () => ['missing', second, 2],
  ],
  [
    'a record taken out of the middle',
    () => `delete from audit_records where ${at(second, 2)}`,
    () => ['missing', second, 2],
  ],
  [
    'a record taken out, and those after it renumbered',
    () => `delete from audit_records where ${at(second, 2)};
      update audit_records set number = number - 1 where day = '${second}' and number > 2`,
    () => ['altered', second, 2],
  ],
  [
    'the last record of an earlier day',
    () => `delete from audit_records where ${at(first, 3)}`,
    () => ['missing', first, 3],
  ],
  [
    'the first record of a day',
    () => `delete from audit_records where ${at(second, 1)}`,
    () => ['missing', second, 1],
  ],
  [
    'the very first record',
    () => `delete from audit_records where ${at(first, 1)}`,
    () => ['missing', first, 1],
  ],
  [
    'a whole day taken out of the middle',
    () => `delete from audit_records where day = '${second}'`,
    () => ['missing', second, 1],
  ],
  [
    'the first day',
    () => `delete from audit_records where day = '${first}'`,
    () => ['missing', first, 1],
  ],
  [
    'the last record of all',
    () => `delete from audit_records where ${at(today, 3)}`,
    () => ['missing', today, 3],
  ],
  [
    'the last two records',
    () => `delete from audit_records where day = '${today}' and number > 1`,
    () => ['missing', today, 2],
  ],
  ['today', () => `delete from audit_records where day = '${today}'`, () => ['missing', today, 1]],
  [
    'two records that changed places',
    () => `update audit_records set number = -number where day = '${second}' and number in (2, 3);
      update audit_records set number = 5 + number where day = '${second}' and number < 0`,
    () => ['altered', second, 2],
  ],
  [
    'two lines that changed places',
    () => `update audit_records r set line = o.line from audit_records o
      where r.day = '${second}' and o.day = r.day and r.number in (2, 3)
        and o.number = 5 - r.number`,
    () => ['altered', second, 2],
  ],
  [
    'an end that was set back',
    () => `update audit_head h set number = r.number, hash = r.hash
      from audit_records r where r.${at(today, 2).replace(' number', ' r.number')}`,
    () => ['inserted', today, 3],
  ],
  [
    'an end with another hash',
    () => `update audit_head set ${newHash}`,
    () => ['altered', today, 3],
  ],
  ['an end that is gone', () => 'delete from audit_head', () => ['end_missing', null, null]],
];

test.each(cases)('%s is named', async (_, sql, expected) => {
  await trail.tamper(sql());
  const [kind, day, number] = expected();
  const report = await verify();
  expect(report.fault, JSON.stringify(report)).toMatchObject({ kind, day, number });
  expect(report.ok).toBe(false);
});

describe('an inserted record is named', () => {
  const line = (day: string, number: number) =>
    JSON.stringify({ day, number, at: `${day}T13:00:00.000Z`, action: 'never.happened' });

  test.each([
    ['inserted', 'with a hash that continues the one before it', true],
    ['altered', 'with a hash that continues nothing', false],
  ])('as %s at the end of an earlier day, %s', async (kind, _, continues) => {
    const before = continues ? await hashOf(first, 3) : Buffer.alloc(32);
    await trail.put(first, 4, line(first, 4), before);
    expect((await verify()).fault).toMatchObject({ kind, day: first, number: 4 });
  });

  test('on a day of its own', async () => {
    await trail.put('2020-01-29', 1, line('2020-01-29', 1), Buffer.alloc(32));
    const { fault } = await verify();
    expect(fault).toMatchObject({ kind: 'inserted', day: '2020-01-29', number: 1 });
  });

  test('in the middle, with those after it renumbered', async () => {
    await trail.tamper(`
      update audit_records set number = -number where day = '${second}' and number > 2;
      update audit_records set number = 1 - number where day = '${second}' and number < 0`);
    await trail.put(second, 3, line(second, 3), await hashOf(second, 2));
    expect((await verify()).fault).toMatchObject({ kind: 'inserted', day: second, number: 3 });
  });

  test('beyond the end', async () => {
    await trail.put(today, 4, line(today, 4), await hashOf(today, 3));
    expect((await verify()).fault).toMatchObject({ kind: 'inserted', day: today, number: 4 });
  });
});

test('a trail made anew is sound by itself, and not the one that a kept hash is of', async () => {
  const kept = (await hashOf(second, 3)).toString('hex');
  expect((await verify(kept)).ok).toBe(true);
  await trail.tamper(`update audit_records set line = replace(line, 'old.action', 'new.action')
    where ${at(second, 3)}`);
  const rows = await db.sql<{ day: string; number: string; line: string }>(
    'select day::text, number, line from audit_records order by day, number',
  );
  let hash: Buffer = Buffer.alloc(32);
  for (const { day, number, line } of rows) {
    hash = createHash('sha256').update(hash).update(line).digest();
    const digits = hash.toString('hex');
    await trail.tamper(`update audit_records set hash = '\\x${digits}'
      where ${at(day, Number(number))};
      update audit_head set hash = '\\x${digits}'`);
  }
  expect((await verify()).ok).toBe(true);
  expect(await verify(kept)).toMatchObject({
    ok: false,
    records: 10,
    fault: { kind: 'hash_missing' },
  });
});
