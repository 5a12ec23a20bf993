// What `verify` guarantees: it sees nothing in a healthy ledger, whatever happens beside it, and it
// names every kind of damage. Damage is planted by the owner, with the constraints switched off.

import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { homeCell } from '../../test/kit/cells.ts';
import { createTestDatabase, type TestDatabase } from '../../test/kit/database.ts';
import { extentName, sampleOf, shareOf } from '../../test/kit/extent.ts';
import { mirrorOf } from '../../test/kit/mirror.ts';
import { createMerchant } from '../access/operator/merchants.ts';
import { createService, type Service } from '../app.ts';
import { mintId } from '../core/id.ts';
import { connectDatabase, type Database } from '../database/connect.ts';
import { type Verification, verifyLedger } from './verify.ts';

let db: TestDatabase;
let database: Database;
let service: Service;

beforeAll(async () => {
  db = await createTestDatabase();
  database = connectDatabase({ url: db.serviceUrl, writers: 8 });
  service = createService({ database, secret: 'of no value anywhere else' });
});

afterAll(async () => {
  await database.close();
  await db.drop();
});

describe('a healthy ledger', () => {
  test('has no differences, and every level and movement is counted', async () => {
    const merchant = await givenMerchant();
    const targets = ['5', '8', '3', '0', '7.5', '7'];
    await Promise.all(
      Array.from({ length: 5 }, async () => {
        await givenLevel(merchant, targets);
      }),
    );
    for (const rangeSize of [2, 3, 5, 6, 7, 10_000]) {
      expect(await verify(merchant, rangeSize), `in ranges of ${rangeSize}`).toEqual({
        ok: true,
        levels: 5,
        movements: 30,
        differences: [],
      });
    }
  });

  test('an adjustment that was refused leaves a level that does not count', async () => {
    const merchant = await givenMerchant();
    const [product, location] = await givenPair(merchant);
    await expect(adjust(merchant, product, location, '0')).rejects.toThrow();
    const found = await db.sql('select from inventory_levels where merchant_id = $1', [merchant]);
    expect(found).toHaveLength(1);
    expect(await verify(merchant)).toMatchObject({ ok: true, levels: 0, movements: 0 });
  });

  test('shows no difference while it is being written', async () => {
    const merchant = await givenMerchant();
    const pairs = await Promise.all([givenPair(merchant), givenPair(merchant)]);
    let target = 0;
    let isWriting = true;
    const writers = pairs.map(async ([product, location]) => {
      while (isWriting) {
        target += 1;
        await adjust(merchant, product, location, String(target));
      }
    });
    let seen = 0;
    for (let round = 0; round < 15; round += 1) {
      const { differences, movements } = await verify(merchant, 2 + 7 * round);
      expect(differences).toEqual([]);
      expect(movements).toBeGreaterThanOrEqual(seen);
      seen = movements;
    }
    isWriting = false;
    await Promise.all(writers);
    expect(seen).toBeGreaterThan(0);
  });

  test('of another merchant is not looked at when one is named', async () => {
    const [mine, other] = [await givenMerchant(), await givenMerchant()];
    await givenLevel(mine, ['5']);
    await givenLevel(other, ['5', '6']);
    expect(await verify(mine)).toMatchObject({ levels: 1, movements: 1 });
  });
});

/** In how large parts a damaged ledger is looked at. */
const rangeSizes = [...sampleOf([2, 3], 1), 10_000];

describe(`damage (${extentName})`, () => {
  beforeAll(async () => {
    // What the constraints refuse can then be planted; triggers and foreign keys are off by role.
    const constraints = await db.sql<{ table: string; name: string }>(`
      select conrelid::regclass::text as table, conname as name from pg_constraint
      where contype in ('c', 'f', 'u') and conname <> 'operations_key' and conrelid in
        ('inventory_movements'::regclass, 'inventory_levels'::regclass, 'operations'::regclass)
      order by contype = 'u', conname`);
    for (const { table, name } of constraints) {
      await db.sql(`alter table ${table} drop constraint if exists "${name}" cascade`);
    }
    await db.sql('drop index operations_position');
  });

  /** $1 merchant, $2 product, $3 location, $4 a new ID where one is needed. */
  const third = 'merchant_id = $1 and product_id = $2 and location_id = $3 and sequence = 3';
  const level = 'merchant_id = $1 and product_id = $2 and location_id = $3';
  const operation = `merchant_id = $1 and id =
    (select operation_id from inventory_movements where ${third})`;
  const copy = (members: Readonly<Record<string, string>>) => {
    const columns = [
      'merchant_id, product_id, location_id, type, reason, credential_id, actor_kind',
      'id, sequence, quantity_before, quantity_delta, quantity_after, operation_id, position, line',
      'recorded_at',
    ].join(', ');
    const values = columns.split(', ').map((column) => members[column] ?? column);
    return `insert into inventory_movements (${columns})
      select ${values.join(', ')} from inventory_movements where ${third}`;
  };

  const damages: readonly (readonly [name: string, kind: string, sql: string])[] = [
    ['a level whose quantity is not its last movement’s', 'quantity_differs', set('quantity = 9')],
    ['a level whose quantity is not the sum', 'quantity_not_sum', set('quantity = 9')],
    ['a level at another sequence', 'sequence_differs', set('sequence = 7')],
    ['a level that names another movement', 'last_movement_differs', set(`last_movement_id = 'x'`)],
    ['a level with another time', 'updated_at_differs', set('updated_at = now()')],
    [
      'movements without a level',
      'movement_without_level',
      `delete from inventory_levels where ${level}`,
    ],
    [
      'a level that says something and never moved',
      'level_without_movements',
      `delete from inventory_movements where ${level}`,
    ],
    [
      'a gap in the sequence',
      'sequence_gap',
      `delete from inventory_movements where ${third.replace('= 3', '= 2')}`,
    ],
    [
      'a ledger without its beginning',
      'sequence_gap',
      `delete from inventory_movements
      where ${level} and sequence < 3`,
    ],
    ['a fork in the sequence', 'sequence_fork', copy({ id: '$4' })],
    [
      'a movement that does not start where its predecessor ended',
      'before_differs',
      update('quantity_before = 7, quantity_delta = -4'),
    ],
    [
      'a chain that is broken although the sum is right',
      'before_differs',
      update('quantity_before = 7'),
    ],
    ['a movement whose figures do not add up', 'after_differs', update('quantity_delta = 1')],
    [
      'a movement that changes nothing',
      'delta_zero',
      copy({ id: '$4', sequence: '4', quantity_before: '3', quantity_delta: '0' }),
    ],
    ['a negative quantity', 'quantity_out_of_range', update('quantity_after = -1')],
    ['IDs in another order than sequences', 'id_order', update(`id = 'imv_0'`)],
    [
      'times in another order than sequences',
      'time_order',
      update(`recorded_at = recorded_at - interval '1 day'`),
    ],
    [
      'a movement without an operation',
      'movement_without_operation',
      `delete from operations where ${operation}`,
    ],
    [
      'a movement of a refused operation',
      'movement_without_operation',
      `update operations set status = 'rejected', resource_id = null where ${operation}`,
    ],
    [
      'a movement of another kind of operation',
      'movement_without_operation',
      `update operations set type = 'products.create' where ${operation}`,
    ],
    ['two movements of one operation', 'operation_movements_differ', copy({ id: '$4' })],
    [
      'two movements that are one line of an operation of two',
      'line_twice',
      `with said as (update operations set movements = 2 where ${operation})
      ${copy({ id: '$4', sequence: '4', quantity_before: '3', quantity_after: '0' })}`,
    ],
    ['a line that its operation has not', 'line_out_of_range', update('line = 2')],
    [
      'an operation that says it has more movements',
      'operation_movements_differ',
      `update operations set movements = 2 where ${operation}`,
    ],
    [
      'an operation that says it has none',
      'operation_movements_differ',
      `update operations set movements = 0 where ${operation}`,
    ],
    [
      'an operation that names another movement',
      'operation_names_another',
      `update operations set resource_id = 'imv_elsewhere' where ${operation}`,
    ],
    [
      'an operation that names a movement which another merchant has',
      'operation_names_another',
      update('id = $4'),
    ],
    [
      'an operation whose movement is missing',
      'operation_movements_differ',
      `delete from inventory_movements where ${third}`,
    ],
    [
      'an operation whose movement is another one’s',
      'operation_movements_differ',
      update(`operation_id = 'op_elsewhere'`),
    ],
    [
      'a gap in the journal',
      'position_gap',
      `update operations set position = position + 1 where ${operation}`,
    ],
    [
      'a position that two operations have',
      'position_twice',
      `update operations set position = position - 1 where ${operation}`,
    ],
    [
      'a journal whose times go back',
      'position_time_order',
      `update operations set created_at = created_at - interval '1 day' where ${operation}`,
    ],
    [
      'a position of an operation that was refused',
      'position_without_change',
      `update operations set status = 'rejected', resource_id = null, error_code = 'x'
        where ${operation}`,
    ],
    [
      'a change without a position',
      'change_without_position',
      `update operations set position = null where ${operation}`,
    ],
    [
      'a created record without a position',
      'change_without_position',
      `update operations set type = 'products.create', position = null where ${operation}`,
    ],
    ['a movement at another position', 'position_differs', update('position = 9')],
    ['a movement at another time', 'position_differs', update(`recorded_at = now()`)],
    [
      'a level that says it began at another position',
      'first_position_differs',
      set('first_position = 9'),
    ],
    [
      'an operation without an outcome',
      'operation_without_outcome',
      `update operations set status = 'open', resource_id = null where ${operation}`,
    ],
  ];
  const planted = shareOf(damages, 2, 0);
  /** Planted beside a mirror. */
  const mirrored = shareOf(planted, 3, 0).map(([name]) => name);

  test.each(planted)('%s is named', async (name, kind, sql) => {
    const merchant = await givenMerchant();
    const [product, location] = await givenLevel(merchant, ['5', '8', '3']);
    await givenLevel(merchant, ['1', '2']);
    const id = mintId('imv_');
    // Neither is what is whole there missed here, nor what is broken here found there.
    const mirror = mirrored.includes(name) ? await mirrorOf(db, merchant) : undefined;
    await damage(sql, [merchant, product, location, id]);
    for (const rangeSize of rangeSizes) {
      const { ok, differences } = await verify(merchant, rangeSize);
      expect(ok).toBe(false);
      const named = differences.filter((difference) => difference.kind === kind);
      expect(named, JSON.stringify(differences)).not.toEqual([]);
      expect(named[0]).toMatchObject({ merchant_id: merchant, message: expect.any(String) });
      const untouched = differences.filter(
        (difference) => difference.product_id !== null && difference.product_id !== product,
      );
      expect(untouched).toEqual([]);
    }
    if (mirror === undefined) return;
    expect(await verify(mirror.merchant)).toMatchObject({ differences: [] });
  });

  const itself = 'merchant_id = $1 and operation_id = $2';
  test.each([
    [
      'a movement that is not what the line says',
      'transfer_line_differs',
      `update inventory_movements set quantity_delta = quantity_delta + 1 where ${itself}`,
    ],
    [
      'a movement of another product',
      'transfer_line_differs',
      `update inventory_movements set product_id = 'prod_x' where ${itself} and line = 1`,
    ],
    [
      'a line that names no movement',
      'transfer_movements_differ',
      `update inventory_transfers
        set lines = replace(lines::text, 'out_movement_id', 'out')::json where ${itself}`,
    ],
    [
      'a transfer without its operation',
      'transfer_without_operation',
      'delete from operations where merchant_id = $1 and id = $2',
    ],
    [
      'a transfer that another operation names',
      'transfer_without_operation',
      `update operations set resource_id = 'itr_x' where merchant_id = $1 and id = $2`,
    ],
    [
      'an operation whose transfer is missing',
      'resource_missing',
      `delete from inventory_transfers where ${itself}`,
    ],
  ])('%s is named', async (_, kind, sql) => {
    const merchant = await givenMerchant();
    const [flour, shop] = await givenLevel(merchant, ['5', '8']);
    const [milk, store] = await givenLevel(merchant, ['1']);
    const carry = (lines: { product_id: string; quantity: string }[], from: string, to: string) =>
      service.performAsOperator(merchant, 'inventory.transfer', {
        ...{ from_location_id: from, to_location_id: to, reason: 'transfer', lines },
      });
    await carry([{ product_id: milk, quantity: '1' }], store, shop);
    const lines = [flour, milk].map((product_id) => ({ product_id, quantity: '1' }));
    const { operationId } = await carry(lines, shop, store);
    await carry([{ product_id: flour, quantity: '0.5' }], store, shop);
    for (const rangeSize of [2, 10_000]) {
      expect(await verify(merchant, rangeSize)).toMatchObject({ differences: [] });
    }
    const mirror = await mirrorOf(db, merchant);
    // Its quantities are marked, and its lines are not.
    const whole = await verify(mirror.merchant);
    await damage(sql, [merchant, operationId]);
    for (const rangeSize of [2, 10_000]) {
      const { differences } = await verify(merchant, rangeSize);
      const named = differences.filter((one) => one.kind === kind);
      expect(named, JSON.stringify(differences)).not.toEqual([]);
      expect(new Set(named.map((one) => one.operation_id))).toEqual(new Set([operationId]));
    }
    expect(await verify(mirror.merchant)).toEqual(whole);
  });

  test('a level whose first movement only another merchant has is named', async () => {
    const merchant = await givenMerchant();
    const [product, location] = await givenLevel(merchant, ['5', '8', '3']);
    await mirrorOf(db, merchant);
    const gone = `delete from inventory_movements where ${level} and sequence = 1`;
    await damage(gone, [merchant, product, location]);
    const { differences } = await verify(merchant);
    expect(differences.map(({ kind }) => kind)).toContain('first_position_differs');
  });

  test('a ledger of a merchant that does not exist is named when all are looked at', async () => {
    const merchant = await givenMerchant();
    await givenLevel(merchant, ['5']);
    const session = await db.globalSession();
    await damage('delete from credentials where merchant_id = $1', [merchant], session);
    await damage('delete from merchants where id = $1', [merchant], session);
    const { differences } = await verifyLedger(database);
    expect(differences).toContainEqual({
      kind: 'merchant_missing',
      merchant_id: merchant,
      product_id: null,
      location_id: null,
      message: 'the merchant of these rows does not exist',
    });
  });

  test('what is found names the pair, the movement and the operation', async () => {
    const merchant = await givenMerchant();
    const [product, location] = await givenLevel(merchant, ['5', '8', '3']);
    await damage(update('quantity_delta = 1'), [merchant, product, location, '']);
    const { differences } = await verify(merchant);
    expect(differences.find(({ kind }) => kind === 'after_differs')).toEqual({
      kind: 'after_differs',
      merchant_id: merchant,
      product_id: product,
      location_id: location,
      movement_id: expect.stringMatching(/^imv_/),
      operation_id: expect.stringMatching(/^op_/),
      message: 'the movement ends at 3, its own figures give 9',
    });
  });

  function set(assignments: string): string {
    return `update inventory_levels set ${assignments}
      where merchant_id = $1 and product_id = $2 and location_id = $3`;
  }

  function update(assignments: string): string {
    return `update inventory_movements set ${assignments} where merchant_id = $1
      and product_id = $2 and location_id = $3 and sequence = 3`;
  }
});

function verify(merchant: string, rangeSize?: number): Promise<Verification> {
  return verifyLedger(database, {
    merchant,
    ...(rangeSize === undefined ? {} : { rangeSize }),
  });
}

async function givenMerchant(): Promise<string> {
  return (await createMerchant(database, 'Corner Shop', homeCell)).id;
}

/** A product and a location that never met. */
async function givenPair(merchant: string): Promise<readonly [string, string]> {
  const [product, location] = [mintId('prod_'), mintId('loc_')];
  await db.sql(
    `insert into products (merchant_id, id, name, unit_code, unit_precision, created_at, updated_at)
     values ($1, $2, 'Flour', 'kg', 3, now(), now())`,
    [merchant, product],
  );
  await db.sql(
    `insert into locations (merchant_id, id, name, created_at, updated_at)
     values ($1, $2, 'Main Street', now(), now())`,
    [merchant, location],
  );
  return [product, location];
}

async function givenLevel(
  merchant: string,
  targets: readonly string[],
): Promise<readonly [string, string]> {
  const [product, location] = await givenPair(merchant);
  for (const target of targets) await adjust(merchant, product, location, target);
  return [product, location];
}

async function adjust(merchant: string, product: string, location: string, target: string) {
  await service.performAsOperator(merchant, 'inventory.adjust', {
    product_id: product,
    location_id: location,
    target_quantity: target,
    reason: 'stock_count',
  });
}

async function damage(sql: string, values: readonly unknown[], given?: pg.Client): Promise<void> {
  const session = given ?? (await db.session());
  await session.query('begin; set local session_replication_role = replica');
  const used = values.slice(0, Math.max(...[...sql.matchAll(/\$(\d)/g)].map(([, n]) => Number(n))));
  const { rowCount } = await session.query(sql, used);
  expect(rowCount).toBeGreaterThan(0);
  await session.query('commit');
}
