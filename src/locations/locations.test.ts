import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, type Api, newKey } from '../../test/kit/api.ts';
import { type Environment, startEnvironment } from '../../test/kit/environment.ts';

let service: Environment;
let merchant: string;
let api: Api;

beforeAll(async () => {
  service = await startEnvironment();
  merchant = await service.given.merchant();
  api = await caller('all');
});
afterAll(() => service.stop());

async function caller(locations: 'all' | string[], of = merchant): Promise<Api> {
  return service.api.as((await service.given.credential(of, { locations })).token);
}

async function created(members: object = {}) {
  const answer = await api.post('/locations', { name: 'Main Street', ...members });
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body.data;
}

async function idsOf(by: Api, filter = '', limit = 200): Promise<string[]> {
  const ids: string[] = [];
  let cursor = '';
  do {
    const answer = await by.get(`/locations?limit=${limit}${filter}${cursor}`);
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    ids.push(...answer.body.data.map((one: { id: string }) => one.id));
    const next = answer.body.meta.next_cursor;
    cursor = next === undefined ? '' : `&cursor=${encodeURIComponent(next)}`;
  } while (cursor !== '');
  return ids;
}

const faults = (answer: Answer) =>
  answer.body.error.details.map((one: { field: string; code: string }) => [one.field, one.code]);

describe('a new location', () => {
  test('has every member, with its default or null', async () => {
    const answer = await api.post('/locations', { name: 'Main Street' });
    const { data } = answer.body;
    expect(data).toEqual({
      id: expect.stringMatching(/^loc_[0-9a-hjkmnp-tv-z]{26}$/),
      name: 'Main Street',
      code: null,
      type: 'other',
      status: 'active',
      timezone: 'UTC',
      external_id: null,
      metadata: {},
      version: 1,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updated_at: data.created_at,
    });
    expect(answer.headers.get('location')).toBe(`/api/v1/locations/${data.id}`);
    const read = await api.get(`/locations/${data.id}`);
    expect([read.body.data, read.headers.get('etag')]).toEqual([data, '"1"']);
  });

  test('keeps every member exactly as it was sent', async () => {
    const sent = {
      name: '  Käfer & Söhne ',
      code: '😀'.repeat(64),
      type: 'warehouse',
      timezone: 'America/Argentina/Buenos_Aires',
      external_id: newKey(),
      metadata: { a: 'b' },
    };
    const data = await created(sent);
    expect(data).toMatchObject(sent);
    expect((await api.get(`/locations/${data.id}`)).body.data).toEqual(data);
  });

  test('is refused with every bad member named', async () => {
    const answer = await api.post('/locations', {
      name: '   ',
      code: 'x'.repeat(65),
      type: 'kiosk',
      timezone: 'Mars/Olympus',
      external_id: false,
      metadata: { ['k'.repeat(41)]: 'v' },
      status: 'active',
      address: 'x',
    });
    expect(new Map(faults(answer))).toEqual(
      new Map([
        ['name', 'invalid_format'],
        ['code', 'too_long'],
        ['type', 'value_not_allowed'],
        ['timezone', 'unknown_value'],
        ['external_id', 'invalid_type'],
        [`metadata.${'k'.repeat(41)}`, 'too_long'],
        ['status', 'read_only'],
        ['address', 'unknown_field'],
      ]),
    );
  });

  test('means the same with a member absent, null, or at its default', async () => {
    const key = newKey();
    const first = await api.post('/locations', { name: 'A' }, { key });
    for (const same of [
      { type: 'other', timezone: 'UTC' },
      { type: null, timezone: null },
    ]) {
      const again = await api.post('/locations', { name: 'A', ...same }, { key });
      expect(again.body.data).toEqual(first.body.data);
    }
    const other = { name: 'A', timezone: 'utc' };
    expect((await api.post('/locations', other, { key })).status).toBe(409);
  });

  test('has a code and an external ID of its own, whatever comes at once', async () => {
    const taken = { code: newKey().slice(0, 20), external_id: newKey() };
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => api.post('/locations', { name: 'A', ...taken })),
    );
    const codes = answers.map((answer) => answer.code ?? answer.status).sort();
    expect(codes).toEqual([201, ...Array(19).fill('code_taken')]);
    expect(faults(answers.find((answer) => answer.status === 422) as Answer)).toEqual([
      ['code', 'code_taken'],
      ['external_id', 'external_id_taken'],
    ]);
    const winner = answers.find((answer) => answer.status === 201)?.body.data;
    await api.patch(`/locations/${winner.id}`, { status: 'inactive' });
    const { id } = await created({ code: taken.code.toUpperCase() });
    expect((await api.patch(`/locations/${id}`, { code: taken.code })).code).toBe('code_taken');
    const { external_id } = taken;
    expect((await api.patch(`/locations/${id}`, { external_id })).code).toBe('external_id_taken');
  });
});

describe('changing a location', () => {
  test('sets what is sent, keeps the rest, and clears or defaults with null', async () => {
    const before = await created({ code: newKey(), type: 'store', timezone: 'Europe/Berlin' });
    const one = await api.patch(`/locations/${before.id}`, { name: 'B', status: 'inactive' });
    expect(one.body.data).toEqual({
      ...before,
      name: 'B',
      status: 'inactive',
      version: 2,
      updated_at: expect.any(String),
    });
    const two = await api.patch(`/locations/${before.id}`, {
      code: null,
      type: null,
      timezone: null,
    });
    expect(two.body.data).toMatchObject({ code: null, type: 'other', timezone: 'UTC', version: 3 });
    const same = await api.patch(`/locations/${before.id}`, { type: 'other', timezone: null });
    expect(same.body.data).toEqual(two.body.data);
    const late = await api.patch(
      `/locations/${before.id}`,
      { name: 'C' },
      { headers: { 'if-match': '"2"' } },
    );
    expect([late.status, late.code]).toEqual([412, 'precondition_failed']);
    const bad = await api.patch(`/locations/${before.id}`, { name: null, status: null });
    expect(faults(bad)).toEqual([
      ['name', 'required'],
      ['status', 'required'],
    ]);
  });

  test('to inactive refuses adjustments there until it is active again', async () => {
    const { id } = await created();
    const product = await service.given.product(merchant);
    const body = { product_id: product, location_id: id, target_quantity: '1' };
    const adjust = () => api.post('/inventory/adjustments', { ...body, reason: 'correction' });
    await api.patch(`/locations/${id}`, { status: 'inactive' });
    expect((await adjust()).code).toBe('location_inactive');
    await api.patch(`/locations/${id}`, { status: 'active' });
    expect((await adjust()).status).toBe(201);
  });
});

describe('a grant', () => {
  test('of all locations is needed to create one; the refusal binds no key', async () => {
    const { id } = await created();
    for (const locations of [[], [id]]) {
      const by = await caller(locations);
      const key = newKey();
      const answer = await by.post('/locations', { name: 'A' }, { key });
      expect([answer.status, answer.code]).toEqual([403, 'location_not_granted']);
      expect(answer.body.meta.operation_id).toBeUndefined();
    }
  });

  test('decides what is listed, read and changed; the rest does not exist', async () => {
    const of = await service.given.merchant();
    const all = await caller('all', of);
    const ids: string[] = [];
    for (let i = 0; i < 6; i += 1) {
      const body = { name: `L${i}`, code: `C${i}`, external_id: `E${i}` };
      ids.push((await all.post('/locations', body)).body.data.id);
    }
    const [a = '', b = '', c = ''] = ids;
    const some = await caller([a, c], of);
    const none = await caller([], of);
    for (const limit of [1, 2, 6]) {
      expect(await idsOf(all, '', limit)).toEqual(ids);
      expect(await idsOf(some, '', limit)).toEqual([a, c]);
      expect(await idsOf(none, '', limit)).toEqual([]);
    }
    expect((await some.get(`/locations/${a}`)).status).toBe(200);
    expect((await some.patch(`/locations/${a}`, { name: 'A' })).status).toBe(200);
    const hidden = [some.get(`/locations/${b}`), some.patch(`/locations/${b}`, { name: 'B' })];
    const unknown = [some.get('/locations/loc_x'), none.patch('/locations/x', { name: 'B' })];
    for (const answer of await Promise.all([...hidden, ...unknown])) {
      expect([answer.status, answer.code]).toEqual([404, 'not_found']);
    }
    const stranger = await caller('all', await service.given.merchant());
    expect((await stranger.get(`/locations/${a}`)).status).toBe(404);
    expect(await idsOf(stranger)).toEqual([]);
    await all.patch(`/locations/${c}`, { status: 'inactive' });
    expect(await idsOf(some, '&status=inactive')).toEqual([c]);
    expect(await idsOf(some, '&status=active')).toEqual([a]);
    expect(await idsOf(some, '&code=C0')).toEqual([a]);
    expect(await idsOf(some, '&code=C1')).toEqual([]);
    expect(await idsOf(all, '&code=c1')).toEqual([]);
    const named = ['E3', 'E2', 'E1', 'E0', 'e1'].map((one) => `&external_id=${one}`).join('');
    for (const limit of [1, 200]) {
      expect(await idsOf(all, named, limit)).toEqual(ids.slice(0, 4));
      expect(await idsOf(some, named, limit)).toEqual([a, c]);
    }
    expect(await idsOf(none, named)).toEqual([]);
    expect(await idsOf(stranger, named)).toEqual([]);
    expect((await all.get('/locations?status=archived')).status).toBe(400);
  });
});
