import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../test/kit/database.ts';
import { limits } from '../core/limits.ts';
import { DatabaseFailure, type Reader, type Statement } from '../core/statement.ts';
import { connectDatabase, type Database } from './connect.ts';
import { FairReads } from './fair-reads.ts';
import { readConnections } from './server-connections.ts';

/** A reader whose queries end when the test says so, in the order in which they began. */
class HeldReader implements Reader {
  readonly started: string[] = [];
  readonly #open: (() => void)[] = [];

  async query<Row>({ name }: Statement<Row>): Promise<Row[]> {
    this.started.push(name);
    await new Promise<void>((resolve) => this.#open.push(resolve));
    return [];
  }

  /** Ends the oldest query that runs, and lets what follows from it happen. */
  async endOne(): Promise<void> {
    this.#open.shift()?.();
    await setImmediate();
  }

  async endAll(): Promise<void> {
    while (this.#open.length > 0) await this.endOne();
  }
}

function ask(reads: FairReads, merchant: string, count: number, label = merchant) {
  const reader = reads.readerOf(merchant);
  return Array.from({ length: count }, (_, index) =>
    reader.query({ name: `${label}${index + 1}`, text: '', values: [] }),
  );
}

describe('merchants that share connections', () => {
  test('read by turns, each in its own order', async () => {
    const held = new HeldReader();
    const reads = new FairReads(held, 1);
    const all = [...ask(reads, 'a', 4), ...ask(reads, 'b', 3), ...ask(reads, 'c', 1)];
    expect(reads.waiting).toBe(7);
    await held.endAll();
    await Promise.all(all);
    expect(held.started).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4', 'b3']);
    expect(reads.waiting).toBe(0);
  });

  test('hold no more each than they leave free for others', async () => {
    const held = new HeldReader();
    const reads = new FairReads(held, 8);
    const all = ['a', 'b', 'c', 'd', 'e'].flatMap((merchant) => ask(reads, merchant, 10));
    expect(held.started).toEqual(['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1', 'd1']);
    await held.endAll();
    await Promise.all(all);
    expect(held.started).toHaveLength(50);
  });

  test('start several when one end leaves enough free for them', async () => {
    const held = new HeldReader();
    const reads = new FairReads(held, 3);
    const all = [...ask(reads, 'a', 3), ...ask(reads, 'b', 3)];
    expect(held.started).toEqual(['a1', 'a2', 'b1']);
    await held.endOne();
    expect(held.started).toEqual(['a1', 'a2', 'b1']);
    await held.endOne();
    expect(held.started).toEqual(['a1', 'a2', 'b1', 'a3']);
    await held.endAll();
    await Promise.all(all);
  });

  test('keep their turns when queries fail', async () => {
    const reads = new FairReads({ query: () => Promise.reject(new Error('no')) }, 1);
    const all = await Promise.allSettled([...ask(reads, 'a', 5), ...ask(reads, 'b', 5)]);
    expect(all.every(({ status }) => status === 'rejected')).toBe(true);
    expect(reads.waiting).toBe(0);
    const held = new HeldReader();
    const free = new FairReads(held, 1);
    const one = ask(free, 'a', 1);
    await held.endAll();
    await expect(Promise.all(one)).resolves.toEqual([[]]);
  });
});

describe('a line', () => {
  const away = expect.objectContaining({ name: 'DatabaseFailure', kind: 'away' });

  test('holds so many and refuses the next at once, whatever another merchant holds', async () => {
    const held = new HeldReader();
    const reads = new FairReads(held, 4);
    const kept = ask(reads, 'a', 2 + limits.queuedPerMerchantMax);
    for (const refused of ask(reads, 'a', 3)) await expect(refused).rejects.toEqual(away);
    expect(reads.waiting).toBe(limits.queuedPerMerchantMax);
    const other = ask(reads, 'b', 1);
    await held.endAll();
    expect(await Promise.all([...kept, ...other])).toHaveLength(kept.length + 1);
  });

  test('holds so many of all merchants together', async () => {
    const held = new HeldReader();
    const reads = new FairReads(held, 2);
    const hogs = limits.queuedTotalMax / limits.queuedPerMerchantMax;
    const kept = Array.from({ length: hogs }, (_, index) =>
      ask(reads, `hog${index}`, limits.queuedPerMerchantMax + (index < 1 ? 1 : 0)),
    ).flat();
    expect(reads.waiting).toBe(limits.queuedTotalMax - 1);
    const [last, refused] = ask(reads, 'late', 2);
    await expect(refused).rejects.toEqual(away);
    await held.endAll();
    await Promise.all([...kept, last]);
    expect(reads.waiting).toBe(0);
  });

  test('refuses beyond the promised what would wait too long, and nobody within it', async () => {
    const held = new HeldReader();
    const reads = new FairReads(held, 2);
    const first = ask(reads, 'a', 1);
    // What is known of the merchant stays known while it has anything under way.
    const kept = ask(reads, 'a', limits.queuedPerMerchantMin, 'kept');
    const more = ask(reads, 'a', 10, 'more');
    await sleep((1.5 * limits.readWaitMax) / limits.queuedPerMerchantMin);
    await held.endOne();
    expect(held.started).toEqual(['a1', 'kept1']);
    for (const refused of ask(reads, 'a', 2)) await expect(refused).rejects.toEqual(away);
    await held.endAll();
    await Promise.all([...first, ...kept, ...more]);
    const again = ask(reads, 'a', 1 + 2 * limits.queuedPerMerchantMin);
    await held.endAll();
    await Promise.all(again);
  });
});

describe('on a database', () => {
  let db: TestDatabase;
  let database: Database;
  beforeAll(async () => {
    db = await createTestDatabase();
    database = connectDatabase({ url: db.serviceUrl, writers: 1 });
  });
  afterAll(async () => {
    await database.close();
    await db.drop();
  });

  const doze = (seconds: number): Statement => ({
    name: '',
    text: `select pg_sleep(${seconds})`,
    values: [],
  });
  const half = readConnections / 2;

  test('who waited too long for a slow query is refused, and nobody later than that', async () => {
    const slow = Array.from({ length: half }, () => database.readerOf('a').query(doze(2.8)));
    const asked = performance.now();
    const kept = Array.from({ length: 100 }, () => database.readerOf('a').query(doze(0)));
    const waits = await Promise.all(
      kept.map((query) =>
        query.then(
          () => 'served',
          (error: unknown) => {
            expect(error).toBeInstanceOf(DatabaseFailure);
            expect(error).toMatchObject({ kind: 'away' });
            return performance.now() - asked;
          },
        ),
      ),
    );
    for (const wait of waits) expect(wait).toBeGreaterThanOrEqual(limits.readWaitMax);
    expect(database.usage().waiting).toBe(0);
    // The slow ones were still under way then, and end as if nothing had been.
    const [running] = await database.readerOf('b').query({
      name: '',
      text: `select count(*)::int as count from pg_stat_activity
        where datname = current_database() and query = 'select pg_sleep(2.8)'
        and state = 'active'`,
      values: [],
    });
    expect(running).toEqual({ count: half });
    expect(await Promise.all(slow)).toHaveLength(half);
    await database.readerOf('a').query(doze(0));
  });

  test('usage counts those that wait for their turn', async () => {
    const all = Array.from({ length: half + 20 }, () => database.readerOf('a').query(doze(0.2)));
    expect(database.usage().waiting).toBe(20);
    await Promise.all(all);
    expect(database.usage().waiting).toBe(0);
  });
});
