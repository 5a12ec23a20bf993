import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newKey } from '../../test/kit/api.ts';
import { type Environment, startEnvironment } from '../../test/kit/environment.ts';

let service: Environment;
let merchant: string;
let location: string;

beforeAll(async () => {
  service = await startEnvironment();
  merchant = await service.given.merchant();
  location = await service.given.location(merchant);
});
afterAll(() => service.stop());

async function adjuster() {
  const { token } = await service.given.credential(merchant);
  return service.api.as(token);
}

const body = (product: string, target: string, more: object = {}) => ({
  product_id: product,
  location_id: location,
  target_quantity: target,
  reason: 'stock_count',
  ...more,
});

describe('an adjustment', () => {
  test('records one movement and leaves the level at the target', async () => {
    const api = await adjuster();
    const product = await service.given.product(merchant);
    const answer = await api.post('/inventory/adjustments', body(product, '12'));
    expect(answer.status, JSON.stringify(answer.body)).toBe(201);
    expect(answer.body.data).toMatchObject({
      product_id: product,
      location_id: location,
      sequence: 1,
      quantity_before: '0',
      quantity_delta: '12',
      quantity_after: '12',
      level: { quantity: '12', version: 1 },
    });
    expect(answer.headers.get('location')).toBe(
      `/api/v1/inventory/movements/${answer.body.data.id}`,
    );
    const read = await api.get(`/inventory/movements/${answer.body.data.id}`);
    const { level, ...movement } = answer.body.data;
    expect(read.body.data).toEqual(movement);
    expect(level.last_movement_id).toBe(movement.id);
  });

  test('is done once by 50 simultaneous requests with one key', async () => {
    const api = await adjuster();
    const product = await service.given.product(merchant);
    const key = newKey();
    const answers = await Promise.all(
      Array.from({ length: 50 }, () =>
        api.post('/inventory/adjustments', body(product, '7'), { key }),
      ),
    );
    expect(answers.map((answer) => answer.status)).toEqual(Array(50).fill(201));
    expect(new Set(answers.map((answer) => answer.body.meta.operation_id)).size).toBe(1);
    const replayed = answers.filter((answer) => answer.headers.get('idempotent-replayed'));
    expect(replayed).toHaveLength(49);
    const movements = await service.db.sql(
      'select 1 from inventory_movements where product_id = $1',
      [product],
    );
    expect(movements).toHaveLength(1);
  });
});
