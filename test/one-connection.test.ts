// Two merchants whose queries and writes all use one connection, one after the other: nothing of
// one merchant may stay on it for the next.

import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Connection, Reader, Statement, Writer } from '../src/core/statement.ts';
import type { Database } from '../src/database/connect.ts';
import { lookAtServer } from '../src/database/primary.ts';
import { served } from './kit/again.ts';
import { type Api, newKey } from './kit/api.ts';
import { homeCell } from './kit/cells.ts';
import { type Environment, startEnvironment, startNode } from './kit/environment.ts';

/** One connection that all use, one after the other. */
class OnlyConnection implements Reader, Writer {
  readonly #writer: Writer;
  #connection: Promise<Connection> | undefined;
  #turn: Promise<void> = Promise.resolve();
  #hasEnded = false;

  constructor(writer: Writer) {
    this.#writer = writer;
  }

  async connect(): Promise<Connection> {
    if (this.#hasEnded) return this.#writer.connect();
    const before = this.#turn;
    let next: () => void = () => undefined;
    this.#turn = new Promise((resolve) => {
      next = resolve;
    });
    await before;
    const drop = () => {
      this.#connection = undefined;
      next();
    };
    this.#connection ??= this.#writer.connect();
    const connection = await this.#connection.catch((error: unknown) => {
      drop();
      throw error;
    });
    return {
      send: (statements) => connection.send(statements),
      release: () => next(),
      destroy: () => {
        connection.destroy();
        drop();
      },
    };
  }

  async query<Row>(statement: Statement<Row>): Promise<Row[]> {
    const connection = await this.connect();
    try {
      const [result] = await connection.send([statement]);
      return (result?.rows ?? []) as Row[];
    } finally {
      connection.release();
    }
  }

  /** What a node writes while it stops uses an ordinary connection. */
  async end(): Promise<void> {
    this.#hasEnded = true;
    (await this.#connection)?.release();
  }
}

interface Side {
  readonly merchant: string;
  readonly mark: string;
  readonly api: Api;
}

let service: Environment;
let node: Awaited<ReturnType<typeof startNode>>;
let only: OnlyConnection;

beforeAll(async () => {
  service = await startEnvironment();
  node = await startNode(service.db.serviceUrl, (database: Database) => {
    only = new OnlyConnection(database.inCell(homeCell).writer);
    const all = {
      reader: only,
      anywhere: only,
      reserve: only,
      writer: only,
      globalWriter: only,
      spanningWriter: only,
    };
    const alone: Database = { ...database, ...all, readerOf: () => only, inCell: () => alone };
    return alone;
  });
});
afterAll(async () => {
  await only.end();
  await node.stop();
  await service.stop();
});

async function givenSide(mark: string): Promise<Side> {
  const merchant = await service.given.merchant(mark);
  const { token } = await service.given.credential(merchant);
  return { merchant, mark, api: node.api.as(token) };
}

const requests = 1_000;
const clients = 32;

test('of 1,000 requests of two merchants on one connection none sees the other', {
  timeout: 120_000,
}, async () => {
  const sides = [await givenSide('ours'), await givenSide('theirs')] as const;
  await service.db.sql(
    'update merchants set requests_per_minute = 0; update credentials set requests_per_minute = 0',
  );
  const [begun] = await service.db.sql<{ at: Date }>('select clock_timestamp() as at');
  const made = new Map<Side, string[]>(sides.map((side) => [side, []]));
  let sent = 0;
  const mixed: string[] = [];
  const judge = (side: Side, text: string) => {
    const [other = side] = sides.filter((one) => one !== side);
    const foreign = [other.merchant, `"${other.mark}`, ...(made.get(other) ?? []).slice(-20)];
    const hit = foreign.find((word) => text.includes(word));
    if (hit !== undefined) mixed.push(`${side.mark} sees ${hit}: ${text.slice(0, 200)}`);
  };
  const step = async (side: Side, n: number): Promise<void> => {
    const [other = side] = sides.filter((one) => one !== side);
    const own = made.get(side) ?? [];
    const theirs = (made.get(other) ?? []).at(-1) ?? 'cus_unknown';
    const body = { name: `${side.mark} ${n}`, email: 'a@example.com', external_id: `number-${n}` };
    const asks = [
      async () => (await side.api.get('/credential')).body,
      async () => (await side.api.get('/customers?limit=20')).body,
      async () => (await side.api.get(`/customers/${own.at(-1)}`)).body,
      async () => (await side.api.get(`/customers?external_id=number-${n % 100}`)).body,
      async () => {
        const answer = await side.api.get(`/customers/${theirs}`);
        return answer.status === 404 ? {} : answer.body;
      },
      async () => {
        const key = newKey();
        const answer = await served(() => side.api.post('/customers', body, { key }));
        if (answer.status === 201) own.push(answer.body.data.id);
        return answer.body;
      },
    ];
    judge(side, JSON.stringify(await asks[n % asks.length]?.()));
  };
  await Promise.all(
    Array.from({ length: clients }, async (_, client) => {
      for (let n = client; sent < requests; n += 7) {
        sent += 1;
        await step(sides[(n + client) % 2] ?? sides[0], n);
      }
    }),
  );
  expect(mixed).toEqual([]);
  for (const side of sides) {
    const rows = await service.db.sql<{ name: string; id: string }>(
      'select name, id from customers where merchant_id = $1',
      [side.merchant],
    );
    expect(rows.length).toBeGreaterThan(20);
    expect(rows.filter(({ name }) => !name.startsWith(`${side.mark} `))).toEqual([]);
    expect(rows.map(({ id }) => id).sort()).toEqual([...(made.get(side) ?? [])].sort());
  }
  const used = await service.db.sql(
    `select query from pg_stat_activity where datname = current_database()
       and application_name = 'tallybook' and state_change > $1 and query <> $2`,
    // A node opens one for rate limits when it starts, and on a busy machine that takes a while.
    [begun?.at, lookAtServer],
  );
  expect(used).toEqual([{ query: expect.any(String) }]);
});
