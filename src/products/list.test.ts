import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Api } from '../../test/kit/api.ts';
import { type Environment, startEnvironment } from '../../test/kit/environment.ts';

let service: Environment;

beforeAll(async () => {
  service = await startEnvironment();
});
afterAll(() => service.stop());

async function caller(): Promise<Api> {
  const merchant = await service.given.merchant();
  return service.api.as((await service.given.credential(merchant)).token);
}

async function create(api: Api, name: string, members: object = {}): Promise<string> {
  const answer = await api.post('/products', { name, ...members });
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body.data.id;
}

async function idsOf(api: Api, filter: string, limit = 2): Promise<string[]> {
  const ids: string[] = [];
  let cursor = '';
  do {
    const answer = await api.get(`/products?limit=${limit}${filter}${cursor}`);
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    ids.push(...answer.body.data.map((one: { id: string }) => one.id));
    const next = answer.body.meta.next_cursor;
    cursor = next === undefined ? '' : `&cursor=${encodeURIComponent(next)}`;
  } while (cursor !== '');
  return ids;
}

const q = (words: string) => `&q=${encodeURIComponent(words)}`;

describe('a list of products', () => {
  test('shows each as a read of it does, to the millisecond and the last decimal', async () => {
    const api = await caller();
    const bare = await create(api, 'bare');
    const full = await create(api, 'Zoë \u{1f6b2} "quoted" \\', {
      description: 'line\u2028break',
      sku: 'S,1{}',
      barcode: '00012',
      unit: { code: 'kg', precision: 3 },
      price: { amount: '999999999.90', currency: 'EUR' },
      external_id: 'null',
      metadata: { a: '1e400', 'b"': '' },
      inventory_tracked: false,
    });
    const times = ['12:00:00', '12:00:00.5', '12:00:00.07', '23:59:59.999', '00:00:00.000'];
    for (const time of times) {
      const at = `2026-02-28 ${time}+00`;
      await service.db.sql('update products set created_at = $1 where id = $2', [at, full]);
      const single = await Promise.all([bare, full].map((id) => api.get(`/products/${id}`)));
      const list = await api.get('/products');
      expect(list.body.data).toEqual(single.map((answer) => answer.body.data));
      expect(list.body.data[1].created_at).toMatch(/^2026-02-28T[0-9:]{8}\.[0-9]{3}Z$/);
    }
  });

  test('is empty where there are none', async () => {
    const answer = await (await caller()).get('/products');
    expect([answer.status, answer.body.data]).toEqual([200, []]);
    expect(answer.body.meta.next_cursor).toBeUndefined();
  });

  test('is by ID, of every status, a page at a time', async () => {
    const api = await caller();
    const ids = [];
    for (let i = 0; i < 7; i += 1) ids.push(await create(api, `p${i}`));
    await api.patch(`/products/${ids[3]}`, { status: 'archived' });
    for (const limit of [1, 3, 6, 7, 8]) expect(await idsOf(api, '', limit)).toEqual(ids);
    const read = await api.get(`/products/${ids[3]}`);
    expect((await api.get('/products')).body.data[3]).toEqual(read.body.data);
    const stranger = await caller();
    expect(await idsOf(stranger, '')).toEqual([]);
    expect((await stranger.get(`/products/${ids[0]}`)).status).toBe(404);
  });

  test('by sku, barcode, external_id and status finds exactly, all together', async () => {
    const api = await caller();
    const one = await create(api, 'One', { sku: 'AB-1', barcode: '4006', external_id: 'x' });
    const two = await create(api, 'Two', { sku: 'ab-1', barcode: '4006', external_id: 'X' });
    await api.patch(`/products/${two}`, { status: 'archived' });
    const found: Record<string, string[]> = {
      '&sku=AB-1': [one],
      '&sku=ab-1': [two],
      '&sku=AB': [],
      '&barcode=4006': [one, two],
      '&barcode=4006&status=archived': [two],
      '&external_id=X': [two],
      '&status=active': [one],
      '&sku=AB-1&status=archived': [],
      '&sku=AB-1&external_id=x&barcode=4006&status=active&q=one': [one],
      '&sku=AB-1&sku=ab-1': [one, two],
      '&external_id=X&external_id=x&external_id=none&external_id=x': [one, two],
      '&external_id=X&external_id=x&sku=ab-1': [two],
      '&sku=AB-1&sku=ab-1&updated_after=2026-01-01T00:00:00Z': [one, two],
      '&sku={AB-1,ab-1}': [],
      [`&id=${two}`]: [two],
      [`&id=${two}&id=${one}&id=prod_none&id=${one}`]: [one, two],
      [`&id=${two}&id=${one}&status=active`]: [one],
      [`&id=${two}&id=${one}&updated_after=2026-01-01T00:00:00Z`]: [one, two],
      [`&id=${one}&sku=ab-1`]: [],
      '&id=prod_none': [],
    };
    for (const [filter, ids] of Object.entries(found)) {
      expect(await idsOf(api, filter, 1), filter).toEqual(ids);
    }
    for (const query of ['sku=', 'status=inactive', 'email=a@b.de', `barcode=${'1'.repeat(65)}`]) {
      expect((await api.get(`/products?${query}`)).status, query).toBe(400);
    }
  });

  test('by up to 100 SKUs or IDs of the caller, page by page, of this merchant alone', async () => {
    const api = await caller();
    const stranger = await caller();
    const ids: string[] = [];
    for (let n = 0; n < 7; n += 1) {
      ids.push(await create(api, `p${n}`, { sku: `S ${n}`, external_id: `gid://shop/${n}?&,"` }));
      await create(stranger, `q${n}`, { sku: `S ${n}`, external_id: `gid://shop/${n}?&,"` });
    }
    const many = (name: string, value: (n: number) => string, count: number) =>
      Array.from({ length: count }, (_, n) => `&${name}=${encodeURIComponent(value(n))}`).join('');
    const skus = (count: number) => many('sku', (n) => `S ${n + 3}`, count);
    const names = (count: number) => many('external_id', (n) => `gid://shop/${n}?&,"`, count);
    for (const limit of [1, 2, 200]) {
      expect(await idsOf(api, skus(100), limit)).toEqual(ids.slice(3));
      expect(await idsOf(api, names(100), limit)).toEqual(ids);
      expect(await idsOf(api, skus(3) + names(5), limit)).toEqual(ids.slice(3, 5));
    }
    const those = (count: number) => many('id', (n) => ids[n] ?? `prod_${n}`, count);
    for (const limit of [1, 2, 200]) expect(await idsOf(api, those(100), limit)).toEqual(ids);
    expect(await idsOf(stranger, those(100))).toEqual([]);
    for (const filter of [skus(101), names(101), those(101)]) {
      const refused = await api.get(`/products?limit=200${filter}`);
      expect([refused.status, refused.code]).toEqual([400, 'invalid_parameter']);
      expect(refused.body.error.details).toMatchObject([{ code: 'too_many' }]);
    }
    // A cursor is of these values, in whatever order they are named.
    const page = await api.get(`/products?limit=2${names(4)}`);
    const cursor = `&cursor=${encodeURIComponent(page.body.meta.next_cursor)}`;
    const backwards = many('external_id', (n) => `gid://shop/${3 - n}?&,"`, 4);
    const next = await api.get(`/products?limit=2${backwards}${names(1)}${cursor}`);
    expect(next.body.data.map((one: { id: string }) => one.id)).toEqual(ids.slice(2, 4));
    expect((await api.get(`/products?limit=2${names(3)}${cursor}`)).code).toBe('invalid_cursor');
  });

  test('by updated_after is inclusive, and joins with every other filter', async () => {
    const api = await caller();
    const [one, two] = [await create(api, 'One'), await create(api, 'Two')];
    await new Promise((resolve) => setTimeout(resolve, 5));
    const changed = await api.patch(`/products/${one}`, { description: 'd' });
    const since = `&updated_after=${changed.body.data.updated_at}`;
    expect(await idsOf(api, since, 1)).toEqual([one]);
    expect(await idsOf(api, `${since}&status=active${q('one')}`)).toEqual([one]);
    expect(await idsOf(api, `${since}${q('two')}`)).toEqual([]);
    expect(await idsOf(api, '&updated_after=2020-01-01T00:00:00%2B02:00', 1)).toEqual([one, two]);
  });

  test('by q finds all words as beginnings in name and SKU', async () => {
    const api = await caller();
    const shirt = await create(api, 'T-Shirt (blue)/L', { sku: 'TS-100.L' });
    const flour = await create(api, 'Crème flour 1.5kg', { sku: 'FLOUR-550' });
    const found: Record<string, string[]> = {
      shirt: [shirt],
      'blue shi': [shirt],
      'ts-1': [shirt],
      '100': [shirt],
      '-100': [shirt],
      'TS-100.L': [shirt],
      l: [shirt],
      'creme 55': [flour],
      '1.5': [flour],
      hirt: [],
      'shirt flour': [],
      '&': [],
      "'": [],
    };
    for (const [words, ids] of Object.entries(found)) {
      expect(await idsOf(api, q(words)), words).toEqual(ids);
    }
    await api.patch(`/products/${flour}`, { sku: null, name: 'Rye' });
    expect(await idsOf(api, q('550'))).toEqual([]);
    expect(await idsOf(api, q('rye'))).toEqual([flour]);
  });
});
