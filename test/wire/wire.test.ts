// Every row of the tables beside this file: one answer in the common form, nothing done, and a
// connection that is closed where it is in doubt what comes next, and in step otherwise.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newKey } from '../kit/api.ts';
import { withoutLimits } from '../kit/database.ts';
import { type Environment, startEnvironment } from '../kit/environment.ts';
import { extentName, shareOf } from '../kit/extent.ts';
import { createTestMerchant, type TestMerchant } from '../kit/merchant.ts';
import { RawConnection } from '../kit/raw.ts';
import { WorkCounter } from '../kit/work.ts';
import { faultsOf } from './answer.ts';
import { bodies } from './bodies.ts';
import { Draft, type WireCase } from './case.ts';
import { framing } from './framing.ts';
import { headers } from './headers.ts';
import { queries } from './queries.ts';
import { methodsAndTargets } from './targets.ts';

let service: Environment;
let shop: TestMerchant;
let draft: Draft;
const counter = new WorkCounter();

beforeAll(async () => {
  service = await startEnvironment({ watch: (database) => counter.watch(database) });
  await withoutLimits(service.db);
  shop = await createTestMerchant(service);
  draft = new Draft(shop);
});
afterAll(() => service.stop());

/** How much there is of everything that a request may make. */
async function stock(): Promise<unknown> {
  const tables = ['operations', 'inventory_movements', 'inventory_levels', 'customers', 'products'];
  const counts = [...tables, 'locations'].map((table) => `(select count(*) from ${table})`);
  return service.db.sql(`select array[${counts.join(', ')}] as counts`);
}

describe('whatever arrives gets one answer with an ID, and a refusal has done nothing', () => {
  describe.each([
    ['framing', framing],
    ['methods, hosts and targets', methodsAndTargets],
    ['headers', headers],
    ['bodies', bodies],
    ['queries', queries],
  ])(`%s (${extentName})`, (_, rows) => {
    test.each(shareOf(rows, 2, 0))('$name: $status', (row) => prove(row));
  });
});

async function prove(row: WireCase): Promise<void> {
  const { status, code, closes = false, isHead = false } = row;
  const before = await stock();
  counter.take();
  const connection = await RawConnection.open(service.api.origin);
  // What follows a message in doubt must not be taken for a request.
  connection.send(row.bytes(draft) + (closes ? draft.effective(newKey()) : ''));
  const answer = await connection.next({ isHead });
  if (answer === undefined) throw new Error('there was no answer');
  expect([answer.status, answer.json?.error?.code], answer.text).toEqual([status, code]);
  expect(faultsOf(answer, isHead)).toEqual([]);
  expect(answer.headers).toMatchObject(row.headers ?? {});
  if (closes) {
    expect(await connection.next()).toBeUndefined();
    expect(connection.closed).toBe(true);
    if (code !== undefined) expect(counter.take().statements).toEqual([]);
  } else {
    connection.send(draft.read());
    const next = await connection.next();
    expect([next?.status, next?.json.data.merchant.id]).toEqual([200, shop.merchant]);
    expect(next?.headers['x-request-id']).not.toBe(answer.headers['x-request-id']);
    connection.end();
  }
  expect(await stock()).toEqual(before);
}

test('the tables have rows of every kind, each of them once', () => {
  const all = [framing, methodsAndTargets, headers, bodies, queries];
  for (const rows of all) expect(new Set(rows.map(({ name }) => name)).size).toBe(rows.length);
  expect(all.flat().length).toBeGreaterThan(90);
});
