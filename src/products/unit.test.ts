import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { served } from '../../test/kit/again.ts';
import { type Api, newKey } from '../../test/kit/api.ts';
import { type Environment, startEnvironment, startNode } from '../../test/kit/environment.ts';

let service: Environment;
let other: Awaited<ReturnType<typeof startNode>>;
let merchant: string;
let location: string;
let api: Api;

beforeAll(async () => {
  service = await startEnvironment();
  other = await startNode(service.db.serviceUrl);
  merchant = await service.given.merchant();
  location = await service.given.location(merchant);
  api = service.api.as((await service.given.credential(merchant)).token);
});
afterAll(async () => {
  await other.stop();
  await service.stop();
});

const patch = (id: string, body: object, node = api) => {
  const key = newKey();
  return served(() => node.patch(`/products/${id}`, body, { key }));
};

const adjust = (product_id: string, target_quantity: string, node = api) => {
  const key = newKey();
  const body = { product_id, location_id: location, target_quantity, reason: 'stock_count' };
  return served(() => node.post('/inventory/adjustments', body, { key }));
};

describe('the unit of a product', () => {
  test('can change until its first movement, and never after', async () => {
    const id = await service.given.product(merchant);
    expect((await patch(id, { unit: { code: 'kg', precision: 3 } })).status).toBe(200);
    const refusedTarget = await adjust(id, '1.23456');
    expect(refusedTarget.code).toBe('validation_failed');
    // A refused adjustment has made a level to lock, but no movement.
    expect((await patch(id, { unit: { code: 'kg', precision: 2 } })).status).toBe(200);
    expect((await adjust(id, '1.25')).status).toBe(201);
    const key = newKey();
    const changed = { unit: { code: 'kg', precision: 3 } };
    const refused = await api.patch(`/products/${id}`, changed, { key });
    expect([refused.status, refused.code]).toEqual([422, 'validation_failed']);
    expect(refused.body.error.details).toMatchObject([
      { field: 'unit', code: 'value_not_allowed' },
    ]);
    const again = await api.patch(`/products/${id}`, changed, { key });
    expect(again.body.meta.operation_id).toBe(refused.body.meta.operation_id);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect((await patch(id, { unit: null })).status).toBe(422);
    expect((await patch(id, { unit: { code: 'kg', precision: 2 }, name: 'Rye' })).status).toBe(200);
  });

  test('and its first movement never cross: what is recorded fits the unit', async () => {
    for (let round = 0; round < 25; round += 1) {
      const id = await service.given.product(merchant, { precision: 2 });
      const [moved, changed] = await Promise.all([
        adjust(id, '1.25', round % 2 === 0 ? api : other.api.as(api.token)),
        patch(id, { unit: { code: 'each', precision: 0 } }),
      ]);
      const outcome = [moved.status, changed.status].join();
      expect(['201,422', '422,200']).toContain(outcome);
    }
  });
});

describe('archiving', () => {
  test('never crosses an adjustment: none commits after an earlier archive', async () => {
    for (let round = 0; round < 8; round += 1) {
      const id = await service.given.product(merchant);
      if (round % 2 === 0) await adjust(id, '1000');
      const node = other.api.as(api.token);
      const adjustments = Array.from({ length: 20 }, (_, index) =>
        adjust(id, `${index + 1}`, index % 2 === 0 ? api : node),
      );
      const answers = await Promise.all([...adjustments, patch(id, { status: 'archived' })]);
      const archived = answers.at(-1);
      expect(archived?.status).toBe(200);
      for (const answer of answers.slice(0, -1)) {
        expect([201, 'product_archived']).toContain(answer.code ?? answer.status);
      }
      expect((await adjust(id, '77')).code).toBe('product_archived');
      expect((await patch(id, { status: 'active' })).status).toBe(200);
      expect((await adjust(id, '77')).status).toBe(201);
    }
  });

  test('waits for an adjustment under way, which then stands before it', async () => {
    const id = await service.given.product(merchant);
    await adjust(id, '5');
    // Holds the level as an adjustment does between its lock and its commit.
    const session = await service.db.session();
    await session.query('begin');
    await session.query('select from inventory_levels where product_id = $1 for no key update', [
      id,
    ]);
    // A new name has nothing to do with levels, and does not wait.
    expect((await patch(id, { name: 'Rye' })).status).toBe(200);
    let isDone = false;
    const archive = patch(id, { status: 'archived' }).finally(() => {
      isDone = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(isDone).toBe(false);
    await session.query('rollback');
    expect((await archive).status).toBe(200);
  });

  test('holds back an adjustment that would make a first level, which then sees it', async () => {
    const id = await service.given.product(merchant);
    const session = await service.db.session();
    await session.query('begin');
    await session.query('select from products where id = $1 for update', [id]);
    const adjustment = adjust(id, '5');
    await new Promise((resolve) => setTimeout(resolve, 200));
    await session.query(`update products set status = 'archived' where id = $1`, [id]);
    await session.query('commit');
    expect((await adjustment).code).toBe('product_archived');
  });

  test('of many products against adjustments of them ends without a deadlock', async () => {
    const ids = await Promise.all(
      Array.from({ length: 10 }, () => service.given.product(merchant)),
    );
    const node = other.api.as(api.token);
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, index) => {
        const id = ids[(index * 7) % 10] ?? '';
        const by = index % 2 === 0 ? api : node;
        if (index % 5 === 0) {
          return patch(id, { status: index % 10 === 0 ? 'archived' : 'active' }, by);
        }
        if (index % 5 === 1) return patch(id, { name: `n${index}` }, by);
        return adjust(id, `${index}`, by);
      }),
    );
    const unexpected = answers
      .map((answer) => answer.code ?? answer.status)
      .filter((one) => ![200, 201, 'product_archived', 'inventory_no_change'].includes(one));
    expect(unexpected).toEqual([]);
    const deadlocks = await service.db.sql(
      'select deadlocks from pg_stat_database where datname = current_database()',
    );
    expect(deadlocks).toEqual([{ deadlocks: '0' }]);
  });
});
