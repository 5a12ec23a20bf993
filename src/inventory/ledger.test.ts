import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { clusterUrl } from '../../test/kit/citus.ts';
import { type Environment, startEnvironment } from '../../test/kit/environment.ts';
import { connectDatabase } from '../database/connect.ts';

let service: Environment;
let earlier: string;
let merchant: string;
let product: string;
let location: string;

beforeAll(async () => {
  service = await startEnvironment();
  earlier = await service.given.merchant();
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
    position: '4',
    line: '1',
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
    ['an operation is changed in any way', () => "update operations set request_id = 'req_x'"],
    ['a journal becomes that of another merchant', () => "update journals set merchant_id = 'x'"],
    ['a journal is deleted', () => 'delete from journals'],
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
      'update journals set id = id',
      'delete from journals',
      'update merchants set id = id',
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
        // On Citus the role may delete credentials that nothing refers to.
        const isHeld = clusterUrl !== undefined && text === 'delete from credentials';
        const sqlstate = isHeld ? '23503' : '42501';
        await expect(attempt, text).rejects.toMatchObject({ sqlstate });
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
    const [{ cell } = {}] = await service.db.sql<{ cell: string }>('select current_schema as cell');
    await client.query('begin read write');
    await client.query(`create temp table inventory_levels as
      select merchant_id, product_id, location_id, 1000::bigint as sequence
      from ${cell}.inventory_levels`);
    const forged = movement({}).replace(
      'into inventory_movements',
      `into ${cell}.inventory_movements`,
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

describe('an operation and its movements are committed only together', () => {
  const op = `op_${'0'.repeat(26)}`;

  // Two other merchants, one on either side in the order of IDs, have an operation with this ID.
  beforeAll(async () => {
    for (const of of [earlier, await service.given.merchant()]) {
      const pair = [await service.given.product(of), await service.given.location(of)];
      const [product_id, location_id] = pair.map((id) => `'${id}'`) as [string, string];
      const at = { merchant_id: `'${of}'`, product_id, location_id };
      await service.db.sql(`
        ${operation({ merchant_id: at.merchant_id })}
        insert into inventory_levels (merchant_id, product_id, location_id, quantity, sequence,
          last_movement_id, first_position, updated_at)
          values (${Object.values(at).join(', ')}, 2, 2, 'imv_hand_2', 4, now());
        ${lines([
          { ...at, sequence: '1', quantity_before: '0', quantity_after: '1' },
          { ...at, sequence: '2', quantity_before: '1', quantity_after: '2' },
        ])}`);
    }
  });

  const operation = (members: Record<string, string> = {}) => {
    const columns = {
      merchant_id: `'${merchant}'`,
      id: `'${op}'`,
      credential_id: "'cred_x'",
      type: "'inventory.adjust'",
      key_hash: "sha256('key')",
      fingerprint: "sha256('body')",
      fingerprint_version: '1',
      status: "'succeeded'",
      resource_id: "'imv_hand_1'",
      movements: '2',
      position: '4',
      request_id: "'req_x'",
      created_at: 'now()',
      ...members,
    };
    return `insert into operations (${Object.keys(columns).join(', ')})
      values (${Object.values(columns).join(', ')});`;
  };

  /** The next movements of the level, as lines of one operation. */
  const lines = (members: readonly Record<string, string>[]) =>
    members
      .map((one, index) =>
        movement({
          id: `'imv_hand_${index + 1}'`,
          sequence: String(4 + index),
          quantity_before: String(9.125 + index),
          quantity_after: String(10.125 + index),
          operation_id: `'${op}'`,
          line: String(index + 1),
          ...one,
        }),
      )
      .join(';\n');

  const level = (count: number) => `
    update inventory_levels set quantity = ${9.125 + count}, sequence = ${3 + count},
      last_movement_id = 'imv_hand_${count}' where product_id = '${product}';`;

  /** As the owner's own transaction, with all else that it needs. */
  const byHand = (of: string, movements: readonly Record<string, string>[]) =>
    service.db.sql(`${of} ${movements.length > 0 ? level(movements.length) : ''}
      ${lines(movements)}`);

  const unnamed = /its operation does not name/;
  const missing = /fewer movements than it says/;
  const two = [{}, {}];

  const cases: [string, () => string, Record<string, string>[], RegExp][] = [
    ['not when there is no operation, or another merchant’s', () => '', two, unnamed],
    [
      'not when it was rejected',
      () =>
        operation({
          status: "'rejected'",
          resource_id: 'null',
          error_code: "'inventory_no_change'",
          error_details: "'[]'",
          movements: '0',
          position: 'null',
        }),
      two,
      unnamed,
    ],
    [
      'not when its type moves nothing',
      () => operation({ type: "'products.create'" }),
      two,
      unnamed,
    ],
    [
      'not when its first line is not what it names',
      () => operation(),
      [{ id: "'imv_x'" }, {}],
      unnamed,
    ],
    ['not when it has another position', () => operation({ position: '5' }), two, unnamed],
    ['not when there are more than it says', () => operation({ movements: '1' }), two, unnamed],
    ['not when it says none and there is one', () => operation({ movements: '0' }), [{}], unnamed],
    ['not when there are fewer than it says', () => operation(), [{}], missing],
    ['not when it says some and there is none', () => operation(), [], missing],
    ['not when a line is left out', () => operation(), [{}, { line: '3' }], unnamed],
    [
      'not when the first line is left out',
      () => operation(),
      [{ line: '2' }],
      /without the line before it/,
    ],
    [
      'not when a line is left out of as many as it says',
      () => operation({ movements: '3' }),
      [{}, { line: '3' }],
      /without the line before it/,
    ],
    ['not when a line is there twice', () => operation(), [{}, { line: '1' }], /_line/],
  ];
  test.each(cases)('%s', async (_name, of, movements, refusal) => {
    // Through the coordinator, a commit that a worker refuses has no other reason.
    const reason = clusterUrl === undefined ? [] : ['could not commit transaction'];
    const expected = new RegExp([refusal.source, ...reason].join('|'));
    await expect(byHand(of(), movements)).rejects.toThrow(expected);
  });

  test('not when a rejected one says that it moved something', async () => {
    const rejected = {
      status: "'rejected'",
      resource_id: 'null',
      error_code: "'inventory_no_change'",
      error_details: "'[]'",
      position: 'null',
    };
    await expect(byHand(operation(rejected), [])).rejects.toThrow(/check/);
  });

  // Last: the level moves.
  test('and then they are, and are found by the operation, in one page or in two', async () => {
    await byHand(operation(), two);
    const { token } = await service.given.credential(merchant);
    const path = `/inventory/movements?operation_id=${op}&order=asc`;
    const all = await service.api.as(token).get(path);
    const ids = (answer: typeof all) => answer.body.data.map(({ id }: { id: string }) => id);
    expect(ids(all)).toEqual(['imv_hand_1', 'imv_hand_2']);
    const first = await service.api.as(token).get(`${path}&limit=1`);
    const cursor = encodeURIComponent(first.body.meta.next_cursor);
    const second = await service.api.as(token).get(`${path}&limit=1&cursor=${cursor}`);
    expect([ids(first), ids(second)]).toEqual([['imv_hand_1'], ['imv_hand_2']]);
  });

  test('and later none is added to an operation that has all of its own', async () => {
    const more = movement({
      id: "'imv_hand_3'",
      sequence: '6',
      quantity_before: '11.125',
      quantity_after: '12.125',
      operation_id: `'${op}'`,
      line: '3',
    });
    const moved = service.db.sql(`
      update inventory_levels set quantity = 12.125, sequence = 6, last_movement_id = 'imv_hand_3'
        where product_id = '${product}';
      ${more}`);
    await expect(moved).rejects.toThrow(unnamed);
  });
});
