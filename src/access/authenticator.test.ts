// Whom a look-up admits when others are under way: a query that was sent before a revocation knows
// nothing of it, and must not answer for a request that came after.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { homeCell } from '../../test/kit/cells.ts';
import { createTestDatabase, type TestDatabase } from '../../test/kit/database.ts';
import { Given } from '../../test/kit/given.ts';
import type { Reader, Statement } from '../core/statement.ts';
import { connectDatabase, type Database } from '../database/connect.ts';
import { Authenticator } from './authenticator.ts';
import { revoke } from './operator/credentials.ts';

let db: TestDatabase;
let database: Database;
let given: Given;
let merchant: string;

beforeAll(async () => {
  db = await createTestDatabase();
  database = connectDatabase({ url: db.serviceUrl, writers: 1 }).inCell(homeCell);
  given = new Given(db);
  merchant = await given.merchant();
});
afterAll(async () => {
  await database.close();
  await db.drop();
});

/** The database on a line on which each answer is held back until it is let go. */
class HeldReader implements Reader {
  readonly #held: (() => void)[] = [];
  sent = 0;

  async query<Row>(statement: Statement<Row>): Promise<Row[]> {
    const rows = await database.reserve.query(statement);
    this.sent += 1;
    await new Promise<void>((resolve) => this.#held.push(resolve));
    return rows;
  }

  get held(): number {
    return this.#held.length;
  }

  letGo(): void {
    for (const resolve of this.#held.splice(0)) resolve();
  }
}

describe('a token revoked while look-ups of it are running', () => {
  test('is refused to the next request, even when an earlier one is admitted', async () => {
    const { id, token } = await given.credential(merchant);
    const line = new HeldReader();
    const authenticator = new Authenticator(line, () => undefined);
    const earlier = authenticator.authenticate(token, undefined);
    await expect.poll(() => line.held).toBe(1);
    await revoke(database, id);
    const later = authenticator.authenticate(token, undefined);
    await expect.poll(() => line.held).toBe(2);
    line.letGo();
    expect((await earlier)?.principal.credentialId).toBe(id);
    expect(await later).toBeUndefined();
  });

  test('is refused also to those that had to wait for a connection', async () => {
    const { id, token } = await given.credential(merchant);
    const line = new HeldReader();
    const authenticator = new Authenticator(line, () => undefined);
    const first = authenticator.authenticate(token, undefined);
    await expect.poll(() => line.held).toBe(1);
    const second = authenticator.authenticate(token, undefined);
    await expect.poll(() => line.held).toBe(2);
    await revoke(database, id);
    const later = Array.from({ length: 50 }, () => authenticator.authenticate(token, undefined));
    line.letGo();
    expect((await Promise.all([first, second])).map((one) => one === undefined)).toEqual([
      false,
      false,
    ]);
    await expect.poll(() => line.held).toBe(1);
    line.letGo();
    expect(new Set(await Promise.all(later))).toEqual(new Set([undefined]));
    expect(line.sent).toBe(3);
  });
});

test('look-ups that share a query each get the answer to their own question', async () => {
  const merchants = await Promise.all(Array.from({ length: 3 }, () => given.merchant()));
  const credentials = await Promise.all(
    Array.from({ length: 30 }, async (_, n) => {
      const of = merchants[n % 3] ?? '';
      const location = await given.location(of);
      const locations = n % 2 === 0 ? ('all' as const) : [location];
      return { location, ...(await given.credential(of, { locations })) };
    }),
  );
  const line = new HeldReader();
  const authenticator = new Authenticator(line, () => undefined);
  const block = () => authenticator.authenticate(credentials[0]?.token ?? '', '');
  const blocking = [block()];
  await expect.poll(() => line.held).toBe(1);
  blocking.push(block());
  await expect.poll(() => line.held).toBe(2);
  const asked = credentials.map((one, n) => {
    // Its own location, another one of its merchant, or one of another merchant.
    const location = credentials[(n + (n % 5)) % 30]?.location ?? '';
    return { one, location, found: authenticator.authenticate(one.token, location) };
  });
  line.letGo();
  await Promise.all(blocking);
  await expect.poll(() => line.held).toBe(1);
  line.letGo();
  for (const [n, { one, location, found }] of asked.entries()) {
    const { principal, location: granted } = (await found) ?? {};
    expect([n, principal?.credentialId, principal?.merchant]).toEqual([n, one.id, one.merchant]);
    const [row] = await db.sql('select merchant_id from locations where id = $1', [location]);
    const isGranted = n % 2 === 0 ? row?.merchant_id === one.merchant : location === one.location;
    expect([n, granted]).toEqual([n, isGranted ? location : undefined]);
  }
  expect(line.sent).toBe(3);
});

test('requests of one credential share one look-up', async () => {
  const { id, token } = await given.credential(merchant);
  const line = new HeldReader();
  const authenticator = new Authenticator(line, () => undefined);
  const asked = Array.from({ length: 300 }, () => authenticator.authenticate(token, undefined));
  await expect.poll(() => line.held).toBe(1);
  line.letGo();
  const found = await Promise.all(asked);
  expect(new Set(found.map((one) => one?.principal.credentialId))).toEqual(new Set([id]));
  expect(line.sent).toBe(1);
});
