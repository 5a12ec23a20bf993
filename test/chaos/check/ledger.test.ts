// Tests the checks of the database: sound rows pass, and each damage made with the constraints
// switched off is found. A ledger has two checks that share nothing: each finds it.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../kit/database.ts';
import { Given, type GivenCredential } from '../../kit/given.ts';
import { addLedger } from '../../kit/ledger.ts';
import type { Attempt } from '../history.ts';
import { checkEffects, type Origin } from './effects.ts';
import { type CheckedDatabase, checkLedger } from './ledger.ts';

let db: TestDatabase;
let database: CheckedDatabase;
let steady: GivenCredential;
let neighbour: GivenCredential;
let origin: Origin;
let attempts: Attempt[];

beforeAll(async () => {
  db = await createTestDatabase();
  const given = new Given(db);
  steady = await given.credential(await given.merchant());
  neighbour = await given.credential(await given.merchant('Second Shop'));
  const location = await given.location(steady.merchant);
  await addLedger(db, steady, location, { levels: 2, movements: 3 });
  database = { serviceUrl: db.serviceUrl, query: (text, values) => db.sql(text, values) };
  await addCustomer();
  const records = await db.sql<{ record: string }>(`select id as record from products
    union all select id from locations`);
  const credentials = [
    { ...steady, name: 'steady' as const },
    { ...neighbour, name: 'neighbour' as const },
  ];
  origin = { credentials, given: records };
  attempts = await answers();
  for (const table of tables) await db.sql(`create table kept_${table} as table ${table}`);
});
beforeEach(async () => {
  const rows = tables.map((table) => `insert into ${table} select * from kept_${table}`);
  await damage(`truncate ${tables.join(', ')} cascade; ${rows.join('; ')}`);
});
afterAll(() => db.drop());

/** All that is damaged here, and sound again before each test. */
const tables = [
  'products',
  'customers',
  'inventory_levels',
  'inventory_movements',
  'operations',
] as const;

/** One that was changed once, with both operations. */
async function addCustomer(): Promise<void> {
  await damage(`
    insert into customers (merchant_id, id, name, email, email_key, version, created_at, updated_at)
      values ('${steady.merchant}', 'cus_1', 'Ada', 'a@b.example', 'a@b.example', 2, now(), now());
    ${operation('op_c', 'customers.create', 'cus_1')};
    ${operation('op_u', 'customers.update', 'cus_1')}`);
}

function operation(id: string, type: string, resource: string, who = steady): string {
  return `insert into operations (merchant_id, id, credential_id, type, key_hash, fingerprint,
      fingerprint_version, status, resource_id, movements, position, request_id,
      created_at)
    values ('${who.merchant}', '${id}', '${who.id}', '${type}', sha256('${id}'), sha256('${id}'),
      1, 'succeeded', '${resource}', ${type === 'inventory.adjust' ? 1 : 0},
      (select 1 + coalesce(max(position), 0) from operations
        where merchant_id = '${who.merchant}'), 'req', now())`;
}

/** Made with all constraints and triggers switched off. */
async function damage(sql: string): Promise<void> {
  await db.sql(`begin; set local session_replication_role = 'replica'; ${sql}; commit`);
}

/** The answers that clients got for all operations of the database. */
async function answers(): Promise<Attempt[]> {
  const rows = await db.sql<Record<'id' | 'type' | 'resource_id', string>>(
    'select id, type, resource_id from operations',
  );
  const who = { client: 0, credential: 'steady', generation: 0, node: 0 } as const;
  return rows.map(({ id, type, resource_id }): Attempt => {
    const kind = type.endsWith('.update') ? 'change' : 'adjust';
    const status = kind === 'change' ? 200 : 201;
    const answer = { status, key: id, variant: 0, operation: id, resource: resource_id };
    return { ...who, kind, start: 0, end: 1, ...answer };
  });
}

async function found(): Promise<string[]> {
  const findings = [
    ...(await checkEffects(database, attempts, origin)),
    ...(await checkLedger(database)),
  ];
  return findings.filter(({ faults }) => faults.length > 0).map(({ what }) => what);
}

test('sound rows have no faults', async () => {
  expect(await found()).toEqual([]);
});

const one = `product_id = (select min(product_id) from inventory_movements)`;

describe('a fault of the ledger is found by both of its checks', () => {
  test.each<[string, string]>([
    ['a level above its sum', `update inventory_levels set quantity = quantity + 1 where ${one}`],
    ['a level ahead of its movements', `update inventory_levels set sequence = 4 where ${one}`],
    [
      'a level that names another movement',
      `update inventory_levels set last_movement_id = 'imv_x' where ${one}`,
    ],
    ['movements without a level', `delete from inventory_levels where ${one}`],
    ['a level without movements', `delete from inventory_movements where ${one}`],
    ['a gap', `delete from inventory_movements where ${one} and sequence = 2`],
    ['a lost last movement', `delete from inventory_movements where ${one} and sequence = 3`],
    [
      'a movement that does not begin where the last one ended, all sums being right',
      `update inventory_movements set quantity_before = 2, quantity_delta = 0.5,
         quantity_after = 2.5 where ${one} and sequence = 2;
       update inventory_movements set quantity_delta = 1.5, quantity_before = 1.5
         where ${one} and sequence = 3`,
    ],
    [
      'a movement that does not add up',
      `alter table inventory_movements drop constraint inventory_movements_check;
       update inventory_movements set quantity_delta = 2 where ${one} and sequence = 2`,
    ],
  ])('%s', async (_, sql) => {
    await damage(sql);
    const seen = await found();
    expect(seen).toContain('levels that differ from their ledger');
    expect(seen).toContain('differences that the verification finds');
  });
});

describe('effects', () => {
  const again = (id: string) => `insert into customers (merchant_id, id, name, email, email_key,
      created_at, updated_at) select merchant_id, '${id}', name, email, email_key, now(), now()
    from customers where id = 'cus_1'`;

  test.each<[string, string, () => string]>([
    ['a customer made twice', 'keys with two effects', () => again('cus_2')],
    [
      'two operations for one customer',
      'keys with two effects',
      () => operation('op_d', 'customers.create', 'cus_1'),
    ],
    [
      'a change that was done twice',
      'keys with two effects',
      () => `update customers set version = 3`,
    ],
    [
      'a change that was not done',
      'keys with two effects',
      () => `update customers set version = 1`,
    ],
    [
      'a product that somebody changed behind everybody',
      'keys with two effects',
      () => `update products set version = 2 where ${one.replace('product_id', 'id')}`,
    ],
    [
      'a movement of another operation',
      'keys with two effects',
      () => `update inventory_movements set operation_id = 'op_c' where ${one} and sequence = 1`,
    ],
    ['a lost customer', 'lost acknowledged writes', () => `delete from customers`],
    [
      'a lost operation',
      'lost acknowledged writes',
      () => `delete from operations where id = 'op_c'`,
    ],
    [
      'an operation that nobody asked for',
      'operations that no answer names',
      () => `${again('cus_2')}; ${operation('op_d', 'customers.create', 'cus_2')}`,
    ],
    [
      'a pending operation',
      'operations pending',
      () => `alter table operations drop constraint operations_status_check;
        update operations set status = 'open', resource_id = null, position = null
        where id = 'op_c'`,
    ],
    [
      'a movement at another shop',
      'rows of another merchant written',
      () => `update inventory_movements set merchant_id = '${neighbour.merchant}' where ${one}`,
    ],
    [
      'an operation at another shop than its credential',
      'rows of another merchant written',
      () => `update operations set merchant_id = '${neighbour.merchant}' where id = 'op_c'`,
    ],
    [
      'an operation of another credential than asked',
      'rows of another merchant written',
      () => `update operations set credential_id = '${neighbour.id}',
        merchant_id = '${neighbour.merchant}' where id = 'op_c'`,
    ],
  ])('%s', async (_, what, sql) => {
    await damage(sql());
    expect(await found()).toContain(what);
  });
});
