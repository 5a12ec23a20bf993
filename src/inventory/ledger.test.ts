import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startService, type TestService } from '../../test/support/service.ts';
import { connectDatabase } from '../database/connect.ts';

let service: TestService;
let merchant: string;
let product: string;
let location: string;

beforeAll(async () => {
  service = await startService();
  merchant = await service.given.merchant();
  location = await service.given.location(merchant);
  product = await service.given.product(merchant, { precision: 3 });
  const { token } = await service.given.credential(merchant);
  for (const target_quantity of ['5', '2.5', '9.125']) {
    const answer = await service.api.as(token).post('/inventory/adjustments', {
      product_id: product,
      location_id: location,
      target_quantity,
      reason: 'correction',
    });
    expect(answer.status).toBe(201);
  }
});
afterAll(() => service.stop());

const movement = (members: Record<string, string>) => {
  const columns = {
    merchant_id: `'${merchant}'`,
    id: "'imv_' || gen_random_uuid()",
    product_id: `'${product}'`,
    location_id: `'${location}'`,
    sequence: '4',
    type: "'adjustment'",
    reason: "'correction'",
    quantity_before: '9.125',
    quantity_delta: '1',
    quantity_after: '10.125',
    operation_id: "'op_x'",
    credential_id: "'cred_x'",
    actor_kind: "'personal_access_token'",
    recorded_at: 'now()',
    ...members,
  };
  return `insert into inventory_movements (${Object.keys(columns).join(', ')})
    values (${Object.values(columns).join(', ')})`;
};

describe('not even by the hand of the owner can it be committed that', () => {
  const cases: [string, () => string][] = [
    ['a level differs from its ledger', () => 'update inventory_levels set quantity = 99'],
    [
      'a level differs, with a sequence of its own',
      () => 'update inventory_levels set quantity = 99, sequence = sequence + 1',
    ],
    ['a level goes back', () => 'update inventory_levels set sequence = sequence - 1'],
    ['a level is deleted', () => 'delete from inventory_levels'],
    ['levels are truncated', () => 'truncate inventory_levels cascade'],
    ['a movement is changed', () => "update inventory_movements set note = 'x'"],
    ['a movement is deleted', () => 'delete from inventory_movements where sequence = 3'],
    ['movements are truncated', () => 'truncate inventory_movements cascade'],
    ['a movement lies beyond its level', () => movement({})],
    ['a movement leaves a gap', () => movement({ sequence: '5' })],
    [
      'a movement forks the chain',
      () =>
        movement({
          sequence: '2',
          quantity_before: '5',
          quantity_delta: '1',
          quantity_after: '6',
        }),
    ],
    ['a movement does not add up', () => movement({ quantity_after: '11' })],
    ['a movement moves nothing', () => movement({ quantity_delta: '0', quantity_after: '9.125' })],
    [
      'a movement begins elsewhere than its predecessor ended',
      () => movement({ quantity_before: '9', quantity_delta: '1.125' }),
    ],
    [
      'a quantity has more than 5 decimals',
      () => movement({ quantity_delta: '1.000001', quantity_after: '10.125001' }),
    ],
    [
      'a quantity is not canonical',
      () => movement({ quantity_delta: '1.0', quantity_after: '10.125' }),
    ],
    [
      'an operation gets another outcome',
      () => "update operations set resource_id = 'imv_other' where status = 'succeeded'",
    ],
    [
      'an operation is released',
      () => "update operations set status = 'claimed', resource_id = null",
    ],
    ['an operation is deleted', () => 'delete from operations'],
    ['a product with levels is deleted', () => `delete from products where id = '${product}'`],
  ];
  test.each(cases)('%s', async (_name, statement) => {
    await expect(service.db.sql(statement())).rejects.toThrow();
    const [level] = await service.db.sql(
      'select quantity::text, sequence::int from inventory_levels where product_id = $1',
      [product],
    );
    expect(level).toEqual({ quantity: '9.125', sequence: 3 });
  });
});

describe('the service’s role', () => {
  test('has no right to change or remove what the ledger and the operations hold', async () => {
    const database = connectDatabase({ url: service.db.serviceUrl, writers: 1 });
    const forbidden = [
      'update inventory_movements set note = null',
      'delete from inventory_movements',
      'truncate inventory_movements',
      'delete from inventory_levels',
      'update inventory_levels set product_id = product_id',
      'delete from operations',
      'update operations set fingerprint = fingerprint',
      'update operations set key_hash = key_hash',
      'update operations set status = status',
      'update merchants set name = name',
      'delete from credentials',
      'update credential_tokens set token_hash = token_hash',
      'drop table inventory_movements',
      'alter table inventory_movements disable trigger all',
      'create table mine (id integer)',
      'update schema_migrations set checksum = checksum',
    ];
    try {
      for (const text of forbidden) {
        const connection = await database.writer.connect();
        const begin = { name: '', text: 'begin read write', values: [] };
        const attempt = connection.send([begin, { name: '', text, values: [] }]);
        await expect(attempt, text).rejects.toMatchObject({ sqlstate: '42501' });
        connection.destroy();
      }
    } finally {
      await database.close();
    }
  });

  test('writes nothing outside of a transaction that says so', async () => {
    const database = connectDatabase({ url: service.db.serviceUrl, writers: 1 });
    const text = "update customers set note = 'x'";
    const attempt = database.reader.query({ name: '', text, values: [] });
    await expect(attempt).rejects.toMatchObject({ sqlstate: '25006' });
    await database.close();
  });

  test('cannot deceive the guards with a table of its own', async () => {
    const client = new pg.Client({ connectionString: service.db.serviceUrl });
    await client.connect();
    await client.query('begin read write');
    await client.query(`create temp table inventory_levels as
      select merchant_id, product_id, location_id, 1000::bigint as sequence
      from public.inventory_levels`);
    const forged = movement({}).replace(
      'into inventory_movements',
      'into public.inventory_movements',
    );
    await expect(client.query(forged)).rejects.toThrow(/beyond its level/);
    await client.end();
  });

  test('lives under the ladder of time-outs', async () => {
    const database = connectDatabase({ url: service.db.serviceUrl, writers: 1 });
    const [settings] = await database.reader.query({
      name: 'settings',
      text: `select current_setting('lock_timeout') as lock,
        current_setting('statement_timeout') as statement,
        current_setting('idle_in_transaction_session_timeout') as idle,
        current_setting('timezone') as timezone`,
      values: [],
    });
    await database.close();
    expect(settings).toEqual({ idle: '1s', lock: '2s', statement: '3s', timezone: 'UTC' });
  });
});

describe('a movement is committed only under the operation that names it', () => {
  const id = 'imv_by_hand';

  /** The next movement of the level as the owner's own transaction, with all that it needs. */
  const byHand = (operation: string, of = merchant) =>
    service.db.sql(`
      insert into operations (merchant_id, id, credential_id, type, key_hash, fingerprint,
        fingerprint_version, status, resource_id, request_id, created_at)
      values ('${of}', 'op_named', 'cred_x', 'inventory.adjust', sha256('key'), sha256('body'),
        1, 'succeeded', '${id}', 'req_x', now());
      update inventory_levels set quantity = 10.125, sequence = 4, last_movement_id = '${id}'
        where product_id = '${product}';
      ${movement({ id: `'${id}'`, operation_id: operation })}`);

  test.each([
    ['there is none', "'op_none'"],
    ['one that names another', '(select max(id) from operations where id <> $$op_named$$)'],
  ])('not when %s', async (_, operation) => {
    await expect(byHand(operation)).rejects.toThrow(/its operation does not name/);
  });

  test('not when another merchant’s names it', async () => {
    const other = await service.given.merchant();
    await expect(byHand("'op_named'", other)).rejects.toThrow(/its operation does not name/);
  });

  // Last: the level moves.
  test('and then it is', async () => {
    await byHand("'op_named'");
    expect(await service.db.sql(`select id from inventory_movements where id = '${id}'`)).toEqual([
      { id },
    ]);
  });
});
