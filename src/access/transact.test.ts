// Small transactions that meet others.

import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../test/kit/database.ts';
import { connectDatabase, type Database } from '../database/connect.ts';
import { commitAll } from './transact.ts';

let db: TestDatabase;
let database: Database;
let operator: pg.Client;

beforeAll(async () => {
  db = await createTestDatabase();
  database = connectDatabase({ url: db.serviceUrl, writers: 1 });
  operator = await db.globalSession();
  await operator.query('create sequence public.tries');
  await operator.query(`
    create function public.try(failures int, failure text) returns bigint
      language plpgsql security definer as $$
    begin
      if nextval('public.tries') > failures then return currval('public.tries'); end if;
      raise exception 'as another transaction would have it' using errcode = failure;
    end $$`);
});
afterAll(async () => {
  await database.close();
  await db.drop();
});

/** The number of the try that succeeds, when so many have failed. */
async function tryAgain(failures: number, failure: string): Promise<unknown> {
  await operator.query('alter sequence public.tries restart');
  const text = 'select public.try($1, $2)::int as number';
  const statement = { name: 'try', text, values: [failures, failure] };
  const [rows] = await commitAll(database.globalWriter, [statement]);
  return rows?.[0];
}

test('what ends in a deadlock is sent again, three times at most', async () => {
  expect(await tryAgain(2, '40P01')).toEqual({ number: 3 });
  await expect(tryAgain(3, '40P01')).rejects.toMatchObject({ sqlstate: '40P01' });
});

test('what another value would do again is sent once', async () => {
  await expect(tryAgain(1, '23505')).rejects.toMatchObject({ sqlstate: '23505' });
});
