// What reads that share a query see: never less than had happened when they were asked for, and
// each its own row or nothing.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { homeCell } from '../../test/kit/cells.ts';
import { createTestDatabase, type TestDatabase } from '../../test/kit/database.ts';
import { Given } from '../../test/kit/given.ts';
import type { MerchantId } from '../core/principal.ts';
import { DatabaseFailure, type Reader, type Reads, type Statement } from '../core/statement.ts';
import { locations } from '../locations/contract.ts';
import { find } from '../records/store.ts';
import { connectDatabase, type Database } from './connect.ts';
import { JointReads } from './joint-reads.ts';

let db: TestDatabase;
let database: Database;
let given: Given;

beforeAll(async () => {
  db = await createTestDatabase();
  database = connectDatabase({ url: db.serviceUrl, writers: 1 }).inCell(homeCell);
  given = new Given(db);
});
afterAll(async () => {
  await database.close();
  await db.drop();
});

type FailureOf = (asked: readonly unknown[]) => Error | undefined;

/** The database on a line on which each answer is held back until it is let go. */
class HeldLine {
  readonly #held: ((failureOf: FailureOf) => void)[] = [];
  readonly asked: (readonly unknown[])[] = [];

  readerOf(merchant: string): Reader {
    return {
      query: async <Row>(statement: Statement<Row>) => {
        const { values } = statement;
        this.asked.push(values);
        const rows = await database.readerOf(merchant).query(statement);
        const failure = await new Promise<FailureOf>((resolve) => this.#held.push(resolve));
        const error = failure(values.flat());
        if (error !== undefined) throw error;
        return rows;
      },
    };
  }

  /** Comes back once so many queries have been answered by the database, and are held. */
  async holds(count: number): Promise<void> {
    await expect.poll(() => this.#held.length).toBe(count);
  }

  /** Ends the queries under way, once there are so many. */
  async end(count: number, failureOf: FailureOf = () => undefined): Promise<void> {
    await this.holds(count);
    for (const end of this.#held.splice(0)) end(failureOf);
  }
}

function linedUp(): { line: HeldLine; readsOf(merchant: string): Reads } {
  const line = new HeldLine();
  const joint = new JointReads((merchant) => line.readerOf(merchant));
  return { line, readsOf: (merchant) => joint.readerOf(merchant) };
}

const nameOf = async (reads: Reads, merchant: string, id: string) => {
  const row = await reads.find((ids) => find(locations, merchant as MerchantId, ids), id);
  return row?.name;
};

async function rename(id: string, name: string): Promise<void> {
  await db.sql('update locations set name = $2 where id = $1', [id, name]);
}

describe('reads by ID', () => {
  test('never join a query that is under way, and see what was written before them', async () => {
    const merchant = await given.merchant();
    const id = await given.location(merchant);
    const { line, readsOf } = linedUp();
    const reads = readsOf(merchant);
    await rename(id, 'before');
    const earlier = nameOf(reads, merchant, id);
    await line.holds(1);
    await rename(id, 'between');
    const next = nameOf(reads, merchant, id);
    await line.holds(2);
    const waiting = nameOf(reads, merchant, id);
    await rename(id, 'after');
    const later = Array.from({ length: 20 }, () => nameOf(reads, merchant, id));
    await line.end(2);
    await line.end(1);
    expect([await earlier, await next]).toEqual(['before', 'between']);
    expect(new Set([await waiting, ...(await Promise.all(later))])).toEqual(new Set(['after']));
    expect(line.asked).toHaveLength(3);
  });

  test('that share a query each get their own row, or nothing for an unknown ID', async () => {
    const merchant = await given.merchant();
    const ids = await Promise.all(Array.from({ length: 12 }, () => given.location(merchant)));
    for (const id of ids) await rename(id, `name of ${id}`);
    const { line, readsOf } = linedUp();
    const unknown = ['', 'nobody', 'loc_\u0000', `${ids[0]} `, `loc_${'0'.repeat(26)}`];
    const asked = [...ids, ...unknown, ...ids].map((id) => nameOf(readsOf(merchant), merchant, id));
    await line.end(1);
    const named = ids.map((id) => `name of ${id}`);
    expect(await Promise.all(asked)).toEqual([...named, ...unknown.map(() => undefined), ...named]);
    expect(line.asked).toHaveLength(1);
  });

  test('of several merchants share none, and find nothing of one another', async () => {
    const merchants = await Promise.all(Array.from({ length: 4 }, () => given.merchant()));
    const ids = await Promise.all(merchants.map((merchant) => given.location(merchant)));
    for (const id of ids) await rename(id, `name of ${id}`);
    const { line, readsOf } = linedUp();
    const asked = merchants.flatMap((merchant) =>
      ids.map((id) => nameOf(readsOf(merchant), merchant, id)),
    );
    await line.end(4);
    const found = merchants.flatMap((_, m) =>
      ids.map((id, n) => (m === n ? `name of ${id}` : undefined)),
    );
    expect(await Promise.all(asked)).toEqual(found);
    expect(line.asked.map(([merchant]) => merchant)).toEqual(merchants);
  });

  test('fail together with their query; those that come after do not', async () => {
    const merchant = await given.merchant();
    const id = await given.location(merchant);
    await rename(id, 'here');
    const { line, readsOf } = linedUp();
    const asked = Array.from({ length: 3 }, () => nameOf(readsOf(merchant), merchant, id));
    await line.holds(1);
    const failed = Promise.allSettled(asked);
    await line.end(1, () => new Error('gone'));
    expect((await failed).map(({ status }) => status)).toEqual(asked.map(() => 'rejected'));
    const next = nameOf(readsOf(merchant), merchant, id);
    await line.end(1);
    expect(await next).toBe('here');
  });

  test('that meet a damaged record together are asked one by one', async () => {
    const merchant = await given.merchant();
    const ids = await Promise.all(Array.from({ length: 3 }, () => given.location(merchant)));
    for (const id of ids) await rename(id, `name of ${id}`);
    const { line, readsOf } = linedUp();
    const asked = [...ids, ...ids].map((id) => nameOf(readsOf(merchant), merchant, id));
    const ended = Promise.allSettled(asked);
    const damaged = new DatabaseFailure('damaged', 'XX001', new Error('invalid page'));
    const failureOf: FailureOf = (sought) => (sought.includes(ids[1]) ? damaged : undefined);
    await line.end(1, failureOf);
    await line.end(3, failureOf);
    const each = ids.map((id, n) =>
      n === 1
        ? { status: 'rejected', reason: damaged }
        : { status: 'fulfilled', value: `name of ${id}` },
    );
    expect(await ended).toEqual([...each, ...each]);
    expect(line.asked).toHaveLength(4);
  });

  test('are asked in queries of a bounded size', async () => {
    const merchant = await given.merchant();
    const id = await given.location(merchant);
    const { line, readsOf } = linedUp();
    const ids = Array.from({ length: 300 }, (_, n) => (n === 299 ? id : `loc_${n}`));
    const asked = ids.map((one) => nameOf(readsOf(merchant), merchant, one));
    await line.end(2);
    const found = await Promise.all(asked);
    expect(found.filter((name) => name !== undefined)).toHaveLength(1);
    expect(line.asked.map(([, some]) => (some as unknown[]).length)).toEqual([256, 44]);
  });
});
