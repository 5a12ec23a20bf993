import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, type Api, newKey } from '../../test/kit/api.ts';
import { isOnCluster } from '../../test/kit/citus.ts';
import { type Environment, startEnvironment } from '../../test/kit/environment.ts';
import { mintId } from '../core/id.ts';
import type { MerchantId } from '../core/principal.ts';
import { operationTypes, scopes } from '../resources.ts';
import { findOperationsByKey } from './store.ts';

let service: Environment;
let merchant: string;
let owner: Api;
let ownerId: string;
let locations: string[];
/** One operation of each kind, by a name of its own. */
const made: Record<string, string> = {};

beforeAll(async () => {
  service = await startEnvironment();
  merchant = await service.given.merchant();
  const credential = await service.given.credential(merchant);
  owner = service.api.as(credential.token);
  ownerId = credential.id;
  const note = (name: string, answer: Answer) => {
    made[name] = answer.body.meta.operation_id;
    return answer.body.data?.id;
  };
  const ada = { name: 'Ada', email: 'ada@example.com', external_id: 'ada' };
  const customer = note('customer', await owner.post('/customers', ada));
  note('customer update', await owner.patch(`/customers/${customer}`, { note: 'n' }));
  note('customer refused', await owner.post('/customers', ada));
  const product = note('product', await owner.post('/products', { name: 'Flour' }));
  const here = note('location here', await owner.post('/locations', { name: 'Here' }));
  const there = note('location there', await owner.post('/locations', { name: 'There' }));
  note('there update', await owner.patch(`/locations/${there}`, { name: 'Far' }));
  const stale = { headers: { 'if-match': '"99"' } };
  note('there refused', await owner.patch(`/locations/${there}`, { name: 'Off' }, stale));
  for (const [name, location_id] of Object.entries({ here, there })) {
    const body = { product_id: product, location_id, target_quantity: '5', reason: 'correction' };
    note(`adjust ${name}`, await owner.post('/inventory/adjustments', body));
    note(`refused ${name}`, await owner.post('/inventory/adjustments', body));
  }
  locations = [here, there];
});
afterAll(() => service.stop());

async function caller(
  may: { scopes?: readonly string[]; locations?: 'all' | string[] },
  of = merchant,
): Promise<Api> {
  return service.api.as((await service.given.credential(of, may)).token);
}

const all = () => Object.keys(made);

/** The IDs on each page, to the end. */
async function pagesOf(api: Api, path: string): Promise<string[][]> {
  const pages: string[][] = [];
  for (let rest: string | undefined = path; rest !== undefined; ) {
    const answer: Answer = await api.get(rest);
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    pages.push(answer.body.data.map((one: { id: string }) => one.id));
    const { next_cursor: next } = answer.body.meta;
    rest = next === undefined ? undefined : `${path}&cursor=${encodeURIComponent(next)}`;
  }
  return pages;
}

async function visibleTo(api: Api): Promise<string[]> {
  const names: string[] = [];
  const listed = (await pagesOf(api, '/operations?limit=3')).flat();
  for (const [name, id] of Object.entries(made)) {
    const answer = await api.get(`/operations/${id}`);
    expect(answer.status).toBe(listed.includes(id) ? 200 : 404);
    if (answer.status === 200) names.push(name);
  }
  expect(listed).toEqual([...listed].sort().reverse());
  expect(listed).toHaveLength(names.length);
  return names;
}

describe('an operation', () => {
  test('says what was written, by whom and where', async () => {
    const answer = await owner.get(`/operations/${made['adjust here']}`);
    expect(answer.body.data).toEqual({
      id: made['adjust here'],
      type: 'inventory.adjust',
      status: 'succeeded',
      resource: { type: 'inventory_movement', id: expect.stringMatching(/^imv_/) },
      error: null,
      location_id: locations[0],
      // What was refused or changed nothing has no position.
      position: '7',
      credential_id: ownerId,
      actor: {
        ...{ credential_id: ownerId, name: 'test' },
        ...{ kind: 'personal_access_token', application_id: null },
      },
      request_id: expect.stringMatching(/^req_/),
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
    const types = { customer: 'customer', product: 'product', 'location here': 'location' };
    for (const [name, type] of Object.entries(types)) {
      const { data } = (await owner.get(`/operations/${made[name]}`)).body;
      expect([data.resource.type, data.location_id]).toEqual([type, null]);
    }
    const { data } = (await owner.get(`/operations/${made['there update']}`)).body;
    expect([data.resource.type, data.location_id]).toEqual(['location', locations[1]]);
  });

  test('that was rejected says why and names no resource', async () => {
    const { data } = (await owner.get(`/operations/${made['customer refused']}`)).body;
    expect(data).toMatchObject({
      type: 'customers.create',
      status: 'rejected',
      resource: null,
      error: { code: 'external_id_taken', details: [{ field: 'external_id' }] },
    });
  });

  test('that bound nothing does not exist', async () => {
    const before = (await owner.get('/operations?limit=200')).body.data.length;
    await owner.post('/customers', { name: '' });
    await owner.patch('/customers/cus_x', {});
    expect((await owner.get('/operations?limit=200')).body.data).toHaveLength(before);
    expect((await owner.get('/operations/op_x')).status).toBe(404);
  });
});

describe('operations are visible', () => {
  const everyReadScope = scopes.filter((scope) => scope.endsWith('.read'));

  test('to the credential that did them, without any scope or grant', async () => {
    expect(await visibleTo(owner)).toEqual(all());
    await service.db.sql(
      `update credentials set scopes = '{}', all_locations = false where id = $1`,
      [ownerId],
    );
    expect(await visibleTo(owner)).toEqual(all());
    await service.db.sql('update credentials set scopes = $2, all_locations = true where id = $1', [
      ownerId,
      scopes,
    ]);
  });

  test("to others with operations.read, the resource's read scope and the location", async () => {
    const [here = '', there = ''] = locations;
    const cases: [readonly string[], 'all' | string[], string[]][] = [
      [everyReadScope, 'all', all()],
      [everyReadScope.filter((scope) => scope !== 'operations.read'), 'all', []],
      [['operations.read'], 'all', []],
      [['operations.read', 'customers.write', 'inventory.write'], 'all', []],
      [['operations.read', 'customers.read'], [], all().filter((one) => one.startsWith('cust'))],
      [['operations.read', 'products.read'], [], ['product']],
      [['operations.read', 'locations.read'], [], []],
      [['operations.read', 'locations.read'], [here], ['location here']],
      [
        ['operations.read', 'locations.read'],
        [there],
        ['location there', 'there update', 'there refused'],
      ],
      [['operations.read', 'inventory.read'], [here], ['adjust here', 'refused here']],
      [['operations.read', 'inventory.read'], [], []],
    ];
    for (const [having, granted, expected] of cases) {
      const api = await caller({ scopes: having, locations: granted });
      expect(await visibleTo(api), `${having} at ${granted}`).toEqual(expected);
    }
  });

  test('never to another merchant', async () => {
    expect(await visibleTo(await caller({}, await service.given.merchant()))).toEqual([]);
  });

  test('by type and status', async () => {
    const ids = async (query: string) =>
      (await owner.get(`/operations?${query}`)).body.data.map((one: { id: string }) => one.id);
    expect(await ids('type=locations.create')).toEqual([
      made['location there'],
      made['location here'],
    ]);
    expect(await ids('type=inventory.adjust&status=rejected')).toEqual([
      made['refused there'],
      made['refused here'],
    ]);
    expect(await ids('type=products.update')).toEqual([]);
    for (const query of ['type=orders.create', 'status=claimed', 'status=', 'resource_id=x']) {
      expect((await owner.get(`/operations?${query}`)).status, query).toBe(400);
    }
  });
});

describe('operations are found', () => {
  const ids = async (api: Api, query: string) =>
    (await api.get(`/operations?${query}`)).body.data.map((one: { id: string }) => one.id);

  test('by the request that performed them, as far as they are visible', async () => {
    const customer = await caller({});
    const answer = await customer.post('/customers', { name: 'B', email: 'b@example.com' });
    const { request_id, operation_id } = answer.body.meta;
    const query = `request_id=${request_id}`;
    const may = ['operations.read', 'customers.read'];
    expect(await ids(customer, query)).toEqual([operation_id]);
    expect(await ids(await caller({ scopes: may }), query)).toEqual([operation_id]);
    for (const scope of may)
      expect(await ids(await caller({ scopes: [scope] }), query)).toEqual([]);
    expect(await ids(await caller({}, await service.given.merchant()), query)).toEqual([]);
    expect(await ids(customer, `${query}&status=rejected`)).toEqual([]);
    expect(await ids(customer, `${query}&type=customers.create`)).toEqual([operation_id]);
    expect(await ids(customer, 'request_id=req_x')).toEqual([]);
    made['customer of another'] = operation_id;
  });

  test('by the credential that asked for them', async () => {
    const other = await caller({});
    const query = `credential_id=${ownerId}&type=customers.create`;
    expect(await ids(other, query)).toEqual([made['customer refused'], made.customer]);
    expect(await ids(await caller({ scopes: [] }), query)).toEqual([]);
    expect(await ids(owner, `credential_id=cred_x`)).toEqual([]);
  });

  test('by a request that had many, over pages', async () => {
    const request = mintId('req_');
    const session = await service.db.session();
    const { rows: copied } = await session.query<{ id: string }>(
      `insert into operations (merchant_id, id, credential_id, type, key_hash, fingerprint,
         fingerprint_version, status, resource_id, movements, request_id, created_at)
       select o.merchant_id, left(o.id, -3) || n, o.credential_id, o.type, sha256(n::text::bytea),
         o.fingerprint, 1, o.status, o.resource_id, 0, $2, o.created_at
       from operations o, generate_series(101, 107) n where o.id = $1 returning id`,
      [made.customer, request],
    );
    const pages = await pagesOf(owner, `/operations?request_id=${request}&limit=3`);
    expect(pages.map(({ length }) => length)).toEqual([3, 3, 1]);
    const ids = copied.map(({ id }) => id);
    expect(pages.flat()).toEqual(ids.sort().reverse());
  });
});

describe('the Idempotency-Key as a filter', () => {
  test("gives the caller's own one operation of that type and key, or none", async () => {
    const key = newKey();
    const api = await caller({});
    const ask = { headers: { 'idempotency-key': key } };
    const path = '/operations?type=customers.create';
    expect((await api.get(path, ask)).body.data).toEqual([]);
    const written = await api.post('/customers', { name: 'A', email: 'a@example.com' }, { key });
    const found = await api.get(path, ask);
    expect(found.body.data).toMatchObject([{ id: written.body.meta.operation_id }]);
    expect(found.body.meta).not.toHaveProperty('next_cursor');
    expect((await api.get(`${path}&status=succeeded`, ask)).body.data).toHaveLength(1);
    expect((await api.get(`${path}&status=rejected`, ask)).body.data).toEqual([]);
    expect((await api.get('/operations?type=products.create', ask)).body.data).toEqual([]);
    expect((await owner.get(path, ask)).body.data).toEqual([]);
  });

  test('finds that of another credential by its ID, as far as it is visible', async () => {
    const key = newKey();
    const ask = { headers: { 'idempotency-key': key } };
    const [here = '', there = ''] = locations;
    const location_id = here;
    const product = (await owner.get('/products')).body.data[0].id;
    const body = { product_id: product, location_id, target_quantity: '77', reason: 'correction' };
    const { meta } = (await owner.post('/inventory/adjustments', body, { key })).body;
    const path = `/operations?type=inventory.adjust&credential_id=${ownerId}`;
    const may = ['operations.read', 'inventory.read'];
    const cases: [readonly string[], 'all' | string[], boolean][] = [
      [may, 'all', true],
      [may, [here], true],
      [may, [there], false],
      [['operations.read'], 'all', false],
      [['inventory.read'], 'all', false],
    ];
    for (const [having, granted, isSeen] of cases) {
      const api = await caller({ scopes: having, locations: granted });
      const found = (await api.get(path, ask)).body.data.map((one: { id: string }) => one.id);
      expect([having, granted, found]).toEqual([
        having,
        granted,
        isSeen ? [meta.operation_id] : [],
      ]);
      const own = await api.get('/operations?type=inventory.adjust', ask);
      expect(own.body.data).toEqual([]);
    }
    const elsewhere = await caller({}, await service.given.merchant());
    expect((await elsewhere.get(path, ask)).body.data).toEqual([]);
    expect((await owner.get(path, ask)).body.data).toHaveLength(1);
    made['adjust by key'] = meta.operation_id;
  });

  test('alone finds all that had it, newest first, as far as they are visible', async () => {
    const key = newKey();
    const ask = { headers: { 'idempotency-key': key } };
    const none: Answer = await owner.get('/operations', ask);
    expect([none.status, none.body.data]).toEqual([200, []]);
    const other = await service.given.credential(merchant);
    const written = [
      await owner.post('/customers', { name: 'A', email: 'a@example.com' }, { key }),
      await owner.post('/products', { name: 'Oat' }, { key }),
      await service.api.as(other.token).post('/products', { name: 'Rye' }, { key }),
    ];
    const [customer, oat, rye] = written.map(({ body }) => body.meta.operation_id);
    const found = async (api: Api, query = '') =>
      (await api.get(`/operations${query}`, ask)).body.data.map((one: { id: string }) => one.id);
    expect(await found(owner)).toEqual([rye, oat, customer]);
    expect(await found(owner, `?credential_id=${ownerId}`)).toEqual([oat, customer]);
    expect(await found(owner, `?credential_id=${other.id}`)).toEqual([rye]);
    expect(await found(owner, '?status=rejected')).toEqual([]);
    expect(await found(owner, '?type=products.create')).toEqual([oat]);
    const first = await owner.get('/operations?limit=2', ask);
    const { next_cursor: next } = first.body.meta;
    const path = `/operations?limit=2&cursor=${encodeURIComponent(next)}`;
    expect((await owner.get(path, ask)).body.data).toMatchObject([{ id: customer }]);
    const may = { scopes: ['operations.read', 'products.read'] };
    expect(await found(await caller(may))).toEqual([rye, oat]);
    expect(await found(await caller({ scopes: ['products.read'] }))).toEqual([]);
    expect(await found(await caller({}, await service.given.merchant()))).toEqual([]);
    Object.assign(made, { 'customer by key': customer, 'product oat': oat, 'product rye': rye });
  });

  test('alone takes no longer in a long history', async () => {
    const one = await service.given.merchant();
    const { id, token } = await service.given.credential(one);
    const { body } = await service.api.as(token).post('/products', { name: 'Oat' });
    const session = await service.db.session();
    await session.query(
      `insert into operations (merchant_id, id, credential_id, type, key_hash, fingerprint,
         fingerprint_version, status, resource_id, movements, request_id, created_at)
       select o.merchant_id, left(o.id, -5) || n, o.credential_id, o.type, sha256(n::text::bytea),
         o.fingerprint, 1, o.status, o.resource_id, 0, o.request_id, o.created_at
       from operations o, generate_series(10001, 40000) n where o.id = $1`,
      [body.meta.operation_id],
    );
    await session.query('analyze operations');
    const may = { merchant: one as MerchantId, credentialId: id, locations: null };
    const { text, values } = findOperationsByKey(
      { ...may, types: operationTypes },
      ...([undefined, operationTypes, Buffer.alloc(32, 7)] as const),
    );
    const { rows } = await session.query<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }>(
      `explain (analyze, buffers, format json) ${text}`,
      [...values],
    );
    const plan = rows[0]?.['QUERY PLAN'][0].Plan ?? {};
    const touched = Number(plan['Shared Hit Blocks']) + Number(plan['Shared Read Blocks']);
    expect(JSON.stringify(plan)).toContain('operations_key');
    // Four blocks for each type of each of two credentials; the 30,000 operations are 1,000 blocks.
    // With the plan of a view of the cell, which asks whether it is there, 400.
    const most = isOnCluster(service.db.ownerUrl) ? 600 : 8 * operationTypes.length + 20;
    expect(touched).toBeLessThan(most);
  });

  test('must be a key', async () => {
    const bad = { headers: { 'idempotency-key': 'short' } };
    const refused = await owner.get('/operations?type=customers.create', bad);
    expect([refused.status, refused.code]).toEqual([400, 'idempotency_key_invalid']);
  });
});
