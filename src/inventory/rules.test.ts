import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, type Api, newKey } from '../../test/kit/api.ts';
import { type Environment, startEnvironment } from '../../test/kit/environment.ts';
import { mintId } from '../core/id.ts';

let service: Environment;
let merchant: string;
let location: string;
let api: Api;

beforeAll(async () => {
  service = await startEnvironment();
  merchant = await service.given.merchant();
  location = await service.given.location(merchant);
  api = service.api.as((await service.given.credential(merchant)).token);
});
afterAll(() => service.stop());

function adjust(product: string, members: object = {}, key = newKey()): Promise<Answer> {
  const usual = { target_quantity: '12', reason: 'stock_count', location_id: location };
  return api.post('/inventory/adjustments', { product_id: product, ...usual, ...members }, { key });
}

async function quantityOf(product: string): Promise<string | undefined> {
  const query = `location_id=${location}&product_id=${product}`;
  const answer = await api.get(`/inventory/levels?${query}`);
  return answer.body.data[0]?.quantity;
}

const faultsOf = (answer: Answer) =>
  answer.body.error.details.map((one: { field: string; code: string }) => [one.field, one.code]);

describe('a target quantity', () => {
  test('is what the quantity becomes, not what is added to it', async () => {
    const product = await service.given.product(merchant);
    for (const target of ['12', '20', '3', '0']) {
      const answer = await adjust(product, { target_quantity: target });
      expect([answer.status, answer.body.data.quantity_after]).toEqual([201, target]);
      expect(await quantityOf(product)).toBe(target);
    }
  });

  test('is a string, exact to five decimals, and canonical in every answer', async () => {
    const product = await service.given.product(merchant, { precision: 5 });
    const exact = { '0.00001': '0.00001', '999999999999.99999': '999999999999.99999' };
    const padded = { '12.500': '12.5', '7.0000000': '7', '0.10': '0.1' };
    for (const [sent, kept] of Object.entries({ ...exact, ...padded })) {
      const answer = await adjust(product, { target_quantity: sent });
      expect([sent, answer.status]).toEqual([sent, 201]);
      expect(answer.body.data.quantity_after).toBe(kept);
      expect(answer.body.data.level.quantity).toBe(kept);
      expect(await quantityOf(product)).toBe(kept);
    }
    const last = await adjust(product, { target_quantity: '0.3' });
    expect(last.body.data.quantity_delta).toBe('0.2');
  });

  test('is refused, never rounded, when it is anything else', async () => {
    const product = await service.given.product(merchant, { precision: 5 });
    const refused: [unknown, string][] = [
      [12, 'invalid_type'],
      [true, 'invalid_type'],
      [null, 'required'],
      ['', 'invalid_format'],
      ['1e3', 'invalid_format'],
      ['+1', 'invalid_format'],
      ['01', 'invalid_format'],
      ['1.', 'invalid_format'],
      ['.5', 'invalid_format'],
      ['1,5', 'invalid_format'],
      [' 1', 'invalid_format'],
      ['٣', 'invalid_format'],
      ['NaN', 'invalid_format'],
      ['-1', 'must_not_be_negative'],
      ['-0', 'must_not_be_negative'],
      ['1000000000000', 'too_large'],
      ['1.000001', 'too_many_decimal_places'],
    ];
    for (const [target, code] of refused) {
      const answer = await adjust(product, { target_quantity: target });
      expect([target, answer.status, answer.code]).toEqual([target, 422, 'validation_failed']);
      expect([target, faultsOf(answer)]).toEqual([target, [['target_quantity', code]]]);
      expect(answer.body.meta).not.toHaveProperty('operation_id');
    }
    expect(await quantityOf(product)).toBeUndefined();
  });

  test('with more decimals than the unit of the product is refused, bound to the key', async () => {
    const product = await service.given.product(merchant, { precision: 1 });
    const key = newKey();
    const members = { target_quantity: '1.25', expected_quantity: '0.01' };
    const answer = await adjust(product, members, key);
    expect([answer.status, answer.code]).toEqual([422, 'validation_failed']);
    expect(faultsOf(answer)).toEqual([
      ['target_quantity', 'too_many_decimal_places'],
      ['expected_quantity', 'too_many_decimal_places'],
    ]);
    const again = await adjust(product, members, key);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.body.meta.operation_id).toBe(answer.body.meta.operation_id);
  });

  test('equal to the current quantity is refused as no change, however it is written', async () => {
    const product = await service.given.product(merchant, { precision: 2 });
    await adjust(product, { target_quantity: '12.5' });
    for (const target of ['12.5', '12.50', '12.500000']) {
      const answer = await adjust(product, { target_quantity: target });
      expect([answer.status, answer.code]).toEqual([422, 'inventory_no_change']);
      expect(answer.body.error.details[0].current_quantity).toBe('12.5');
      expect(answer.body.meta.operation_id).toMatch(/^op_/);
    }
    const untouched = await service.given.product(merchant);
    const nothing = await adjust(untouched, { target_quantity: '0' });
    expect([nothing.status, nothing.code]).toEqual([422, 'inventory_no_change']);
    expect(nothing.body.error.details[0].current_quantity).toBe('0');
  });
});

describe('a reason', () => {
  test('is stock_count, external_adjustment or correction, and nothing else', async () => {
    const product = await service.given.product(merchant);
    const allowed = ['stock_count', 'external_adjustment', 'correction'];
    for (const [n, reason] of allowed.entries()) {
      const answer = await adjust(product, { reason, target_quantity: `${n + 1}` });
      expect([answer.status, answer.body.data.reason]).toEqual([201, reason]);
    }
    for (const reason of ['', 'theft', 'Stock_count', 'stock_count ', 'adjustment']) {
      const answer = await adjust(product, { reason });
      expect([reason, answer.status, answer.code]).toEqual([reason, 422, 'validation_failed']);
      expect(answer.body.error.details).toEqual([
        expect.objectContaining({ field: 'reason', code: 'value_not_allowed', allowed }),
      ]);
    }
  });
});

describe('an expected quantity', () => {
  test('lets the adjustment through only while it is the current one', async () => {
    const product = await service.given.product(merchant);
    const first = await adjust(product, { expected_quantity: '0' });
    expect(first.status).toBe(201);
    const met = await adjust(product, { expected_quantity: '12.0', target_quantity: '13' });
    expect(met.status).toBe(201);
    const missed = await adjust(product, { expected_quantity: '12', target_quantity: '13' });
    // Judged before "no change": who expects something else must hear of it.
    expect([missed.status, missed.code]).toEqual([422, 'inventory_quantity_mismatch']);
    expect(missed.body.error.details[0].current_quantity).toBe('13');
  });
});

describe('an adjustment is refused, bound to its key,', () => {
  const refusals = [
    ['product_not_found', 'product_id', async () => mintId('prod_')],
    [
      'product_not_found',
      'product_id',
      async () => service.given.product(await service.given.merchant('Other Shop')),
    ],
    [
      'product_archived',
      'product_id',
      () => service.given.product(merchant, { status: 'archived' }),
    ],
    [
      'inventory_not_tracked',
      'product_id',
      () => service.given.product(merchant, { tracked: false }),
    ],
  ] as const;

  test.each(refusals)('as %s', async (code, field, make) => {
    const product = await make();
    const key = newKey();
    const answer = await adjust(product, {}, key);
    expect([answer.status, answer.code]).toEqual([422, code]);
    expect(faultsOf(answer)).toEqual([[field, code]]);
    expect(answer.body.error.message).toContain('a new attempt needs a new key');
    const again = await adjust(product, {}, key);
    expect([again.status, again.code]).toEqual([422, code]);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.body.meta.operation_id).toBe(answer.body.meta.operation_id);
  });

  test('as location_inactive', async () => {
    const closed = await service.given.location(merchant, { status: 'inactive' });
    const product = await service.given.product(merchant);
    const key = newKey();
    const answer = await adjust(product, { location_id: closed }, key);
    expect([answer.status, answer.code]).toEqual([422, 'location_inactive']);
    expect(faultsOf(answer)).toEqual([['location_id', 'location_inactive']]);
    const again = await adjust(product, { location_id: closed }, key);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
  });
});

test('a quantity of more than 64 characters is refused for its format', async () => {
  const product = await service.given.product(merchant);
  for (const target_quantity of ['9'.repeat(65), `1.${'0'.repeat(63)}`]) {
    const answer = await adjust(product, { target_quantity });
    expect(faultsOf(answer)).toEqual([['target_quantity', 'invalid_format']]);
  }
});

test('a movement is never changed or removed: no method does that', async () => {
  const product = await service.given.product(merchant);
  const { body } = await adjust(product, { note: 'Counted twice.', reference: 'count-7' });
  const { level: _, ...movement } = body.data;
  const path = `/inventory/movements/${movement.id}`;
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
    const answer = await api.send(method, path, '{}', { key: newKey() });
    expect([method, answer.status]).toEqual([method, 405]);
  }
  await adjust(product, { target_quantity: '1' });
  expect((await api.get(path)).body.data).toEqual(movement);
});
