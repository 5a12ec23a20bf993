// Cells of one database over shared connections: a statement finds its own cell's tables, whatever
// was sent on its connection before, and what says no cell costs nothing.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { addCells, nothingToRecord } from '../../test/kit/cells.ts';
import { createEmptyDatabase, type TestDatabase } from '../../test/kit/database.ts';
import { begin, commit, type Reader, type Statement } from '../core/statement.ts';
import { connectDatabase, type Database } from './connect.ts';
import { addCell, migrate } from './migrate.ts';
import { assertSafe } from './safety.ts';

const names = ['cell_1', 'cell_2', 'cell_3'];
/** One name and text, for whichever cell. */
const journal: Statement<{ id: string }> = {
  name: 'find_any_journal',
  text: 'select id from journals',
  values: [],
};

let db: TestDatabase;
let database: Database;

beforeAll(async () => {
  db = await createEmptyDatabase();
  await migrate({ owner: db.ownerUrl, service: db.serviceUrl });
  await addCells(db.ownerUrl, names.slice(1));
  for (const cell of names) {
    await db.sql(`insert into ${cell}.journals (merchant_id, id) values ('mer_1', 'of ${cell}')`);
  }
  database = connectDatabase({ url: db.serviceUrl, writers: 1, reads: 1 });
});
afterAll(async () => {
  await database.close();
  await db.drop();
});

const readBy = async (reader: Reader, statement = journal) =>
  (await reader.query(statement)).map(({ id }) => id);

test('what is sent on one connection finds its cell, in whatever order', async () => {
  const order = [0, 1, 1, 0, 2, 1, 2, 2, 0, 0, 1];
  const found: string[][] = [];
  for (const index of order) {
    found.push(await readBy(database.inCell(names[index] ?? '').readerOf('mer_1')));
    // Planned anew each time: in a transaction of its own.
    found.push(await readBy(database.inCell(names[index] ?? '').reader, { ...journal, name: '' }));
  }
  expect(found).toEqual(order.flatMap((index) => [[`of ${names[index]}`], [`of ${names[index]}`]]));
  const together = await Promise.all(
    order.map((index) => readBy(database.inCell(names[index] ?? '').readerOf(`mer_${index}`))),
  );
  expect(together).toEqual(order.map((index) => [`of ${names[index]}`]));
});

test('a transaction is in its cell to its end, and leaves the connection as it was', async () => {
  for (const cell of ['cell_2', 'cell_1', 'cell_3', 'cell_1']) {
    const connection = await database.inCell(cell).writer.connect();
    const [, first] = await connection.send([begin, journal]);
    const [second] = await connection.send([journal, commit]);
    connection.release();
    const of = [{ id: `of ${cell}` }];
    expect([first?.rows, second?.rows]).toEqual([of, of]);
    const plain = await database.writer.connect();
    const [path] = await plain.send([{ name: '', text: 'show search_path', values: [] }]);
    plain.release();
    expect(path?.rows).toEqual([{ search_path: 'cell_1, public' }]);
  }
});

test('behind a pooler each transaction enters its cell', async () => {
  const shared = connectDatabase({ url: db.serviceUrl, writers: 1, reads: 1 });
  shared.setPooling('nameless');
  for (const cell of ['cell_2', 'cell_3', 'cell_1', 'cell_2']) {
    const one = shared.inCell(cell);
    expect(await readBy(one.reader)).toEqual([`of ${cell}`]);
    const connection = await one.writer.connect();
    const [, found] = await connection.send([begin, journal, commit]);
    connection.release();
    expect(found?.rows).toEqual([{ id: `of ${cell}` }]);
  }
  await shared.close();
});

test('a read whose cell cannot be entered is no answer', async () => {
  await expect(readBy(database.inCell('cell_9').reader)).rejects.toMatchObject({
    sqlstate: '42P01',
  });
  expect(await readBy(database.inCell('cell_2').reader)).toEqual(['of cell_2']);
});

test('statements whose names are as long as may be are told apart in each cell', async () => {
  const long = (end: string) => ({ ...journal, name: `${'a'.repeat(62)}${end}` });
  const other = { ...long('b'), text: 'select merchant_id as id from journals' };
  for (const cell of names) {
    const { reader } = database.inCell(cell);
    expect(await readBy(reader, long('a'))).toEqual([`of ${cell}`]);
    expect(await readBy(reader, other)).toEqual(['mer_1']);
  }
});

test('nothing is sent for the first cell that would not be sent without cells', async () => {
  const alone = connectDatabase({ url: db.serviceUrl, writers: 1, reads: 1 });
  await readBy(alone.inCell('cell_1').reader);
  await readBy(alone.reader);
  const prepared = { name: '', text: 'select name from pg_prepared_statements', values: [] };
  const session: Statement<{ name: string }> = { ...prepared, name: 'prepared' };
  const found = (await alone.reader.query(session)).map(({ name }) => name).sort();
  await alone.close();
  expect(found).toEqual(['find_any_journal', 'prepared']);
});

test('the global schema holds no table of merchants', async () => {
  const tables = await db.sql<{ name: string }>(
    `select c.relname as name from pg_class c join cell_1.journals j on true
     where c.relnamespace = 'public'::regnamespace and c.relkind = 'r'
       and to_regclass('cell_1.' || c.relname) is not null`,
  );
  expect(tables).toEqual([]);
  await expect(db.sql('set search_path = public; select from journals')).rejects.toThrow(
    'relation "journals" does not exist',
  );
});

test('is added once and whole, and only where the schema is up to date', async () => {
  await expect(addCell(db.ownerUrl, 'cell_2', nothingToRecord)).rejects.toThrow(
    'there is cell_2 already',
  );
  const failing = { ...nothingToRecord, text: "select append_audit('nothing')" };
  await expect(addCell(db.ownerUrl, 'cell_4', failing)).rejects.toThrow('json');
  const left = await db.sql(`select from pg_namespace where nspname = 'cell_4'
    union all select from cells where name = 'cell_4'`);
  expect(left).toEqual([]);
  await db.sql("update schema_migrations set name = 'half.sql' where number = 0");
  await expect(addCell(db.ownerUrl, 'cell_4', nothingToRecord)).rejects.toThrow(/run a newer one/);
  await db.sql("update schema_migrations set name = '' where number = 0");
  const { version } = await migrate({ owner: db.ownerUrl, service: db.serviceUrl });
  await assertSafe(db.serviceUrl, version);
  expect(await db.sql('select name, version from cells order by name')).toEqual(
    names.map((name) => ({ name, version })),
  );
});
