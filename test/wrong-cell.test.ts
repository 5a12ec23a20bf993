// A write that is sent in another cell than its merchant's, as a bug in the service may send it:
// it is never answered as done, and changes nothing in any cell, nor in the global tables.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { successStatus } from '../src/contract/contract.ts';
import type { Database } from '../src/database/connect.ts';
import { migrate } from '../src/database/migrate.ts';
import { type Api, newKey } from './kit/api.ts';
import { contentOf } from './kit/backup.ts';
import { freshBody, onceId, send, writes } from './kit/cases.ts';
import { addCells } from './kit/cells.ts';
import { createEmptyDatabase, type TestDatabase, withoutLimits } from './kit/database.ts';
import { type Environment, startEnvironment, startNode } from './kit/environment.ts';
import { extentName, shareOf } from './kit/extent.ts';
import { Given } from './kit/given.ts';
import { createTestMerchant, type TestMerchant } from './kit/merchant.ts';

const cells = ['cell_1', 'cell_2', 'cell_3'];

let db: TestDatabase;
let service: Environment;
let shop: TestMerchant;

beforeAll(async () => {
  db = await createEmptyDatabase();
  await migrate({ owner: db.ownerUrl, service: db.serviceUrl });
  await addCells(db.ownerUrl, cells.slice(1));
  await withoutLimits(db);
  service = await startEnvironment({ db });
  const session = await db.session();
  await session.query('set search_path = cell_2, public');
  await session.query("alter table merchants alter column cell set default 'cell_2'");
  const given = new Given({
    sql: async (text, values) => (await session.query(text, values)).rows,
  });
  shop = await createTestMerchant({ api: service.api, given });
  await session.end();
  // No note of its use is due while the tests last.
  await db.sql('update credentials set last_used_at = now()');
});
afterAll(() => service.stop());

/** Everything that is not the same when something was written, wherever. */
async function everything(): Promise<unknown> {
  const content: Record<string, unknown> = { ...(await contentOf(db)) };
  // Calls to receivers are noted behind the answer.
  for (const table of cells.map((cell) => `${cell}.webhook_progress`)) {
    content[table] = await db.sql(
      `select (to_jsonb(t) - 'attempts')::text as row from ${table} t order by 1`,
    );
  }
  const trail = await db.sql(
    `select line from audit_records where line::jsonb ->> 'action' <> 'request.denied'`,
  );
  return { ...content, trail };
}

/** Transactions of each cell go to this one; reads go where they should. */
const writingIn =
  (wrong: string) =>
  (database: Database): Database => ({
    ...database,
    inCell: (cell) => {
      const { writer, spanningWriter } = database.inCell(wrong);
      return { ...database.inCell(cell), writer, spanningWriter };
    },
  });

/** All that is about a cell goes to this one. */
const wholly =
  (wrong: string) =>
  (database: Database): Database => ({ ...database, inCell: () => database.inCell(wrong) });

describe.each([
  ['write goes to the first one', writingIn('cell_1'), 500, 0],
  ['write goes to another one', writingIn('cell_3'), 500, 1],
  // What a path names is not found there.
  ['statement goes to the first one', wholly('cell_1'), 400, 2],
  ['statement goes to another one', wholly('cell_3'), 400, 3],
] as const)(`where each %s (${extentName})`, (_, astray, least, turn) => {
  // Each goes one of the four ways, the next one another: a proof sends all of them all ways.
  const tried = shareOf(writes, 4, turn);

  let node: Awaited<ReturnType<typeof startNode>>;
  let api: Api;

  beforeAll(async () => {
    node = await startNode(db.serviceUrl, astray);
    api = node.api.as(shop.token);
  });
  afterAll(() => node.stop());

  test.each(tried)('$name fails and changes nothing', async (one) => {
    const key = newKey();
    // What can be done once is done to something that was made for it.
    const id = await onceId(one, shop, api, key);
    const request = { key, body: freshBody(one, shop), ...(id !== undefined && { id }) };
    const before = await everything();
    const astray = await send(one, shop, api, request);
    expect(astray.status).toBeGreaterThanOrEqual(least);
    expect(await everything()).toEqual(before);
    const settled = await send(one, shop, shop.api, request);
    expect(settled.status, JSON.stringify(settled.body)).toBe(successStatus(one.contract));
    expect(settled.headers.get('idempotent-replayed')).toBeNull();
  });
});
