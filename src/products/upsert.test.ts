import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Answer, Api } from '../../test/kit/api.ts';
import { withoutLimits } from '../../test/kit/database.ts';
import { type Environment, startEnvironment } from '../../test/kit/environment.ts';
import { extent } from '../../test/kit/extent.ts';

let service: Environment;
let merchant: string;
let location: string;
let api: Api;

beforeAll(async () => {
  service = await startEnvironment();
  await withoutLimits(service.db);
  merchant = await service.given.merchant();
  location = await service.given.location(merchant);
  api = service.api.as((await service.given.credential(merchant)).token);
});
afterAll(() => service.stop());

const upsert = (id: string, body: object) => api.patch(`/products?external_id=${id}`, body);

const adjust = (product_id: string, target_quantity: string) =>
  api.post('/inventory/adjustments', {
    product_id,
    location_id: location,
    target_quantity,
    reason: 'stock_count',
  });

const faults = (answer: Answer) =>
  answer.body.error.details.map((one: { field: string; code: string }) => [one.field, one.code]);

describe('an upsert of a product', () => {
  test('takes no SKU of another one, when it creates and when it changes', async () => {
    await upsert('first', { name: 'First', sku: 'S-1' });
    for (const _ of ['creates', 'changes']) {
      const refused = await upsert('second', { name: 'Second', sku: 'S-1' });
      expect([refused.status, refused.code]).toEqual([422, 'sku_taken']);
      await upsert('second', { name: 'Second' });
    }
    expect((await upsert('first', { sku: 'S-2' })).status).toBe(200);
    expect((await upsert('second', { sku: 'S-1' })).body.data.sku).toBe('S-1');
  });

  test('judges its price as a create does, and takes members back to their defaults', async () => {
    const price = { amount: '1.5', currency: 'EUR' };
    expect(faults(await upsert('priced', { name: 'Rye', price }))).toEqual([
      ['price.amount', 'invalid_format'],
    ]);
    const full = { price: { ...price, amount: '1.50' }, unit: { code: 'kg', precision: 3 } };
    const made = await upsert('priced', { name: 'Rye', inventory_tracked: false, ...full });
    expect(made.body.data).toMatchObject({ ...full, inventory_tracked: false });
    const nulls = { price: null, unit: null, inventory_tracked: null };
    expect((await upsert('priced', nulls)).body.data).toMatchObject({
      price: null,
      unit: { code: 'each', precision: 0 },
      inventory_tracked: true,
      version: 2,
    });
    const created = await upsert('bare', { name: 'Oats', ...nulls, description: null });
    expect(created.body.data).toMatchObject({ inventory_tracked: true, version: 1 });
  });

  test('keeps the unit once there is a movement, and may repeat it', async () => {
    const unit = { code: 'kg', precision: 2 };
    const { id } = (await upsert('weighed', { name: 'Rye', unit })).body.data;
    expect((await adjust(id, '1.25')).status).toBe(201);
    const same = { name: 'Rye', unit, status: 'active', inventory_tracked: true };
    expect((await upsert('weighed', same)).status).toBe(200);
    for (const other of [{ ...unit, precision: 3 }, { ...unit, code: 'g' }, null]) {
      const refused = await upsert('weighed', { ...same, unit: other });
      expect([refused.status, faults(refused)]).toEqual([422, [['unit', 'value_not_allowed']]]);
    }
  });

  test('waits for adjustments under way when it archives, not when it changes little', async () => {
    const body = { name: 'Rye', status: 'active', unit: { code: 'each', precision: 0 } };
    const { id } = (await upsert('sold', body)).body.data;
    await adjust(id, '5');
    const session = await service.db.session();
    await session.query('begin');
    await session.query('select from inventory_levels where product_id = $1 for update', [id]);
    expect((await upsert('sold', { ...body, name: 'Wheat' })).status).toBe(200);
    let isDone = false;
    const archived = upsert('sold', { ...body, status: 'archived' }).finally(() => {
      isDone = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(isDone).toBe(false);
    await session.query('rollback');
    expect((await archived).body.data).toMatchObject({ status: 'archived', name: 'Rye' });
    expect((await adjust(id, '6')).code).toBe('product_archived');
  });
});

describe('a program that sends its list every night', () => {
  const count = extent(710, 2_000);
  const line = (n: number) => ({
    name: `Product ${n}`,
    sku: `SKU-${n}`,
    price: { amount: `${n}.99`, currency: 'EUR' },
    unit: { code: 'kg', precision: 3 },
    status: n % 50 === 0 ? 'archived' : 'active',
    metadata: { shelf: `${n % 7}` },
  });

  /** So many clients, as a program would have. Without an answer of each kind: how many. */
  async function night(by: Api, bodyOf: (n: number) => object, step = 1) {
    const counted: Record<string, number> = {};
    let next = 0;
    const client = async () => {
      for (let n = step * next++; n < count; n = step * next++) {
        const path = `/products?external_id=${encodeURIComponent(`gid://shop/Product/${n}`)}`;
        const { status, code, body } = await by.patch(path, bodyOf(n));
        const outcome = `${code ?? status}${'position' in body.meta ? ' with a position' : ''}`;
        counted[outcome] = (counted[outcome] ?? 0) + 1;
      }
    };
    await Promise.all(Array.from({ length: 32 }, client));
    return counted;
  }

  async function records(of: string) {
    const [row] = await service.db.sql(
      `select md5(string_agg(to_jsonb(p)::text || p.xmin, '|' order by id)) as sum,
         sum(version)::int as versions,
         (select max(position)::int from operations where merchant_id = $1) as last
       from products p where merchant_id = $1`,
      [of],
    );
    return row;
  }

  test('needs no map of IDs: what is new is made, what differs is changed, no more', async () => {
    const shop = await service.given.merchant();
    const by = service.api.as((await service.given.credential(shop)).token);
    expect(await night(by, line)).toEqual({ '201 with a position': count });
    const first = await records(shop);
    expect(first).toMatchObject({ versions: count, last: count });
    expect(await night(by, line)).toEqual({ 200: count });
    expect(await records(shop)).toEqual(first);
    const { journal } = (await by.get('/events')).body.meta;
    const events = await by.get(`/events?after_position=${count}&journal=${journal}`);
    expect([events.body.data, events.body.meta.through_position]).toEqual([[], `${count}`]);
    const changed = (n: number) => ({ ...line(n), ...(n % 100 === 7 ? { name: 'New' } : {}) });
    // Of every seventh those are 7, 707, 1407.
    const sent = Math.ceil(count / 7);
    const differ = Math.ceil((count - 7) / 700);
    expect(await night(by, changed, 7)).toEqual({
      200: sent - differ,
      '200 with a position': differ,
    });
    expect(await records(shop)).toMatchObject({ versions: count + differ, last: count + differ });
    const page = await by.get(`/events?after_position=${count}&journal=${journal}`);
    expect(page.body.data.map(({ type }: { type: string }) => type)).toEqual(
      Array(differ).fill('product.updated'),
    );
  });
});
