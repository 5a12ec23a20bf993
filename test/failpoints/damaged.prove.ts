// A byte on the disk has changed. The database's checksums detect it: what is in the damaged page
// is answered 503 and never wrongly; all other requests are served.

import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { mintId } from '../../src/core/id.ts';
import { migrate } from '../../src/database/migrate.ts';
import { hashKey } from '../../src/operations/fingerprint.ts';
import { layoutOf } from '../../src/postgres/directory.ts';
import { type PrivateServer, startPrivateServer } from '../../src/postgres/server.ts';
import { served } from '../kit/again.ts';
import { type Api, newKey } from '../kit/api.ts';
import { startNode } from '../kit/environment.ts';
import { Given } from '../kit/given.ts';
import { sqlAt } from '../kit/sql.ts';
import { away, summaryOf } from './environment.ts';

let directory = '';
let server: PrivateServer;
let node: Awaited<ReturnType<typeof startNode>>;
let api: Api;
/** In the order of the pages. */
const customers: string[] = [];

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tallybook-damaged-'));
  await start();
  await migrate({ owner: server.ownerUrl, service: server.serviceUrl });
  const given = new Given({ sql });
  const merchant = await given.merchant();
  const { token } = await given.credential(merchant);
  for (let n = 0; n < 2_000; n += 1) customers.push(mintId('cus_'));
  await sql(
    `insert into customers (merchant_id, id, external_id, name, email, email_key, created_at,
       updated_at)
     select $1, id, id, 'Ada', 'ada@example.com', 'ada@example.com', now(), now()
     from unnest($2::text[]) with ordinality as a (id, n) order by n`,
    [merchant, customers],
  );
  const [heap] = await sql<{ path: string }>("select pg_relation_filepath('customers') as path");
  await sql('checkpoint');
  await server.stop();
  await flipByte(join(layoutOf(directory).cluster, heap?.path ?? ''), 5_000);
  await start();
  node = await startNode(server.serviceUrl);
  api = node.api.as(token);
});
afterAll(async () => {
  await node.stop();
  await server.stop();
  await rm(directory, { recursive: true, force: true });
});

test('what is in a damaged page is 503, and the rest is served', async () => {
  const [damaged] = customers;
  for (const path of ['/customers', `/customers/${damaged}`]) {
    const answer = await api.get(path);
    expect([path, summaryOf(answer)]).toEqual([path, away]);
    expect(answer.headers.get('retry-after')).toMatch(/^[1-9]$/);
  }
  expect((await api.get('/products')).status).toBe(200);
  const asked = customers.slice(-20).toSpliced(10, 0, damaged ?? '');
  const answers = await Promise.all(
    asked.map((id) => {
      const ask = () => api.get(`/customers/${id}`);
      return id === damaged ? ask() : served(ask);
    }),
  );
  expect(answers.map((answer) => answer.body.data?.id ?? summaryOf(answer))).toEqual(
    asked.map((id) => (id === damaged ? away : id)),
  );
});

test('a write that meets it is 503 and binds no key', async () => {
  const key = newKey();
  const body = { name: 'Grace', email: 'grace@example.com', external_id: customers[0] };
  expect(summaryOf(await api.post('/customers', body, { key }))).toBe(away);
  expect(await sql('select from operations where key_hash = $1', [hashKey(key)])).toEqual([]);
});

async function start(): Promise<void> {
  server = await startPrivateServer({
    dataDirectory: directory,
    stopWithParent: true,
    log: () => undefined,
  });
}

async function flipByte(path: string, position: number): Promise<void> {
  const file = await open(path, 'r+');
  const byte = Buffer.alloc(1);
  await file.read(byte, 0, 1, position);
  byte[0] = (byte[0] ?? 0) ^ 1;
  await file.write(byte, 0, 1, position);
  await file.close();
}

const sql = <Row extends pg.QueryResultRow>(text: string, values: unknown[] = []) =>
  sqlAt<Row>(server.ownerUrl, text, values);
