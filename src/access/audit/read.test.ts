import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AuditTrail } from '../../../test/kit/audit.ts';
import { createTestDatabase, type TestDatabase } from '../../../test/kit/database.ts';
import { commitAll, transact } from '../transact.ts';
import { type AuditFilter, allRecords, exportedLine, newestRecords } from './read.ts';
import { appendAudit } from './store.ts';
import { verifyChain } from './verify.ts';

const databases: TestDatabase[] = [];
const trails: AuditTrail[] = [];

async function emptyTrail(): Promise<{ db: TestDatabase; trail: AuditTrail }> {
  const db = await createTestDatabase();
  const trail = new AuditTrail(db);
  databases.push(db);
  trails.push(trail);
  return { db, trail };
}

afterAll(async () => {
  await Promise.all(trails.map(({ database }) => database.close()));
  await Promise.all(databases.map((db) => db.drop()));
});

const day = (time: number) => new Date(time).toISOString().slice(0, 10);

describe('appending', () => {
  test('from eight connections at once makes one chain without gaps', async () => {
    const { trail } = await emptyTrail();
    const appenders = Array.from({ length: 8 }, async (_, appender) => {
      for (let round = 0; round < 40; round += 1) {
        const actions = Array.from({ length: 1 + (round % 3) }, (_, line) => `${round}.${line}`);
        await trail.append(...actions.map((action) => `${appender}.${action}`));
      }
    });
    await Promise.all(appenders);
    const lines = await trail.lines();
    expect(lines).toHaveLength(8 * (14 + 2 * 13 + 3 * 13));
    expect(new Set(lines.map(({ action }) => action)).size).toBe(lines.length);
    expect(await verifyChain(trail.database.reader)).toMatchObject({
      ok: true,
      records: lines.length,
    });
  });

  test('begins every day with number 1, which says what it follows', async () => {
    const { trail } = await emptyTrail();
    await trail.giveDay(day(Date.now() - 86_400_000), 3);
    const before = day(Date.now());
    await trail.append('a', 'b');
    const after = day(Date.now());
    const [, , last, a, b] = await trail.lines();
    // Midnight may be now.
    expect([before, after]).toContain(a?.day);
    const follows = { day: last?.day, number: 3 };
    expect(a).toMatchObject({ number: 1, follows, action: 'a' });
    expect(b).toMatchObject({ day: a?.day, number: 2, action: 'b' });
    expect(b).not.toHaveProperty('follows');
    expect((await verifyChain(trail.database.reader)).ok).toBe(true);
  });

  test('never goes back a day, however far ahead the last one is', async () => {
    const { trail } = await emptyTrail();
    await trail.giveDay('2999-12-31', 2);
    await trail.append('a');
    await trail.append('b', 'c');
    const lines = await trail.lines();
    expect(lines.slice(2).map((line) => [line.day, line.number, line.action])).toEqual([
      ['2999-12-31', 3, 'a'],
      ['2999-12-31', 4, 'b'],
      ['2999-12-31', 5, 'c'],
    ]);
    expect(Math.abs(Date.parse(String(lines[2]?.at)) - Date.now())).toBeLessThan(60_000);
    expect((await verifyChain(trail.database.reader)).ok).toBe(true);
  });

  test('says when an entry happened, by its age', async () => {
    const { trail } = await emptyTrail();
    const entries = [3_600_000, 0].map((age) => ({ entry: { action: 'a' }, age }));
    await commitAll(trail.database.writer, [appendAudit(entries)]);
    const [old, young] = (await trail.lines()).map(({ at }) => Date.parse(String(at)));
    expect((young ?? 0) - (old ?? 0)).toBeCloseTo(3_600_000, -2);
  });

  test('is all or nothing with what is done', async () => {
    const { db, trail } = await emptyTrail();
    const refused = { name: '', text: "insert into merchants (id) values ('x')", values: [] };
    const entry = { action: 'merchant.create' };
    await expect(transact(trail.database.writer, entry, [refused])).rejects.toThrow();
    expect(await trail.lines()).toEqual([]);
    await db.sql('alter table audit_records add constraint full_up check (number < 1)');
    const sound = {
      name: '',
      text: "insert into merchants (id, name, created_at) values ('x', 'X', now())",
      values: [],
    };
    await expect(transact(trail.database.writer, entry, [sound])).rejects.toThrow();
    expect(await db.sql('select id from merchants')).toEqual([]);
  });
});

describe('a written trail', () => {
  const statements = [
    "update audit_records set line = ''",
    'update audit_records set number = 2',
    'delete from audit_records',
    'truncate audit_records',
    'delete from audit_head',
    'truncate audit_head',
  ];
  const forbidden = [
    ...statements,
    'update audit_head set number = 0',
    "insert into audit_records (day, number, line, hash) values (now(), 9, '', '')",
  ];
  let db: TestDatabase;
  let trail: AuditTrail;

  beforeAll(async () => {
    ({ db, trail } = await emptyTrail());
    await trail.append('a');
  });

  test.each(forbidden)('lets the service only append: %s', async (text) => {
    const attempt = commitAll(trail.database.writer, [{ name: '', text, values: [] }]);
    await expect(attempt).rejects.toThrow('42501');
  });

  test.each(statements)('is kept by triggers from its owner: %s', async (text) => {
    await expect(db.sql(text)).rejects.toThrow('never changed or removed');
  });

  test('takes no lines from other roles of the database', async () => {
    const [row] = await db.sql<{ may: boolean }>(
      "select has_function_privilege('public', 'append_audit(json, text)', 'execute') as may",
    );
    expect(row?.may).toBe(false);
  });
});

describe('reading', () => {
  const merchants = ['mer_01k9x3v7c2e4r8t1m5n6p0q9sa', 'mer_01k9x3v7c2e4r8t1m5n6p0q9sb'];
  let trail: AuditTrail;
  let times: readonly string[];

  /** 30 old lines, then 20 of today: every fifth a denial, every second of another merchant. */
  beforeAll(async () => {
    ({ trail } = await emptyTrail());
    await trail.giveDay('2020-01-30', 10);
    await trail.giveDay('2020-01-31', 20);
    for (let n = 0; n < 20; n += 1) {
      const action = n % 5 === 0 ? 'request.denied' : `token.${n % 2 === 0 ? 'create' : 'revoke'}`;
      const entry = { action, merchant_id: merchants[n % 2], n, note: `"merchant_id":"${n}"` };
      await commitAll(trail.database.writer, [appendAudit([{ entry, age: 0 }])]);
    }
    times = (await trail.lines()).map(({ at }) => String(at));
  });

  const all = async (filter: AuditFilter, rangeSize = 7) => {
    const found: string[] = [];
    for await (const records of allRecords(trail.database.reader, filter, rangeSize)) {
      found.push(...records.map(({ line }) => line));
    }
    return found.map((line) => JSON.parse(line));
  };

  test('gives every record once, in order, for every size of range', async () => {
    const lines = await trail.lines();
    for (const rangeSize of [1, 7, 50, 1_000]) expect(await all({}, rangeSize)).toEqual(lines);
  });

  test('finds by action, by its first word, by merchant, and by both', async () => {
    const numbers = async (filter: AuditFilter) => (await all(filter)).map(({ n }) => n);
    expect(await numbers({ action: 'request.denied' })).toEqual([0, 5, 10, 15]);
    expect(await numbers({ action: 'token' })).toHaveLength(16);
    expect(await numbers({ action: 'tok' })).toEqual([]);
    expect(await numbers({ action: 'token.create' })).toEqual([2, 4, 6, 8, 12, 14, 16, 18]);
    expect(await numbers({ merchant: merchants[1] })).toHaveLength(10);
    expect(await numbers({ merchant: '3' })).toEqual([]);
    const both = { merchant: merchants[1], action: 'request.denied' };
    expect(await numbers(both)).toEqual([5, 15]);
  });

  test('finds what happened in a span of time, its first moment included', async () => {
    const lines = await trail.lines();
    const within = (since?: string, until?: string) =>
      lines.filter(({ at }) => String(at) >= (since ?? '') && String(at) < (until ?? '3'));
    for (const since of [undefined, '2020-01-31T00:00:00.000Z', times[35]]) {
      for (const until of [undefined, '2020-01-31T12:00:00.001Z', times[40], times[35]]) {
        expect(await all({ since, until })).toEqual(within(since, until));
      }
    }
  });

  test('gives the newest of those wanted, the newest last', async () => {
    const { reader } = trail.database;
    const newest = async (filter: AuditFilter, limit: number) =>
      (await newestRecords(reader, filter, limit)).map(({ line }) => JSON.parse(line));
    const lines = await trail.lines();
    expect(await newest({}, 12)).toEqual(lines.slice(-12));
    expect(await newest({}, 1_000)).toEqual(lines);
    const denials = await trail.lines('request.denied');
    expect(await newest({ action: 'request.denied' }, 3)).toEqual(denials.slice(-3));
    expect(await newest({ until: '2020-01-31T00:00:00.000Z' }, 4)).toEqual(lines.slice(6, 10));
  });

  test('exports what the hashes can be recomputed from', async () => {
    let hash: Buffer = Buffer.alloc(32);
    for await (const records of allRecords(trail.database.reader, {})) {
      for (const record of records) {
        const exported = exportedLine(record);
        const line = exported.replace(/,"hash":"[0-9a-f]{64}"\}$/, '}');
        hash = createHash('sha256').update(hash).update(line).digest();
        expect(JSON.parse(exported)).toEqual({ ...JSON.parse(line), hash: hash.toString('hex') });
      }
    }
    const { last } = await verifyChain(trail.database.reader);
    expect(hash.toString('hex')).toBe(last?.hash);
  });
});
