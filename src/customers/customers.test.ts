import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, type Api, newKey } from '../../test/kit/api.ts';
import { type Environment, startEnvironment } from '../../test/kit/environment.ts';

let service: Environment;
let merchant: string;
let api: Api;

beforeAll(async () => {
  service = await startEnvironment();
  merchant = await service.given.merchant();
  api = service.api.as((await service.given.credential(merchant)).token);
});
afterAll(() => service.stop());

const ada = { name: 'Ada Lovelace', email: 'ada@example.com' };

async function created(members: object = {}) {
  const answer = await api.post('/customers', { ...ada, ...members });
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body.data;
}

const faults = (answer: Answer) =>
  answer.body.error.details.map((one: { field: string; code: string }) => [one.field, one.code]);

describe('a new customer', () => {
  test('has every member, with its default or null', async () => {
    const answer = await api.post('/customers', ada);
    expect(answer.status).toBe(201);
    const { data, meta } = answer.body;
    expect(data).toEqual({
      id: expect.stringMatching(/^cus_[0-9a-hjkmnp-tv-z]{26}$/),
      ...ada,
      phone: null,
      external_id: null,
      note: null,
      metadata: {},
      status: 'active',
      version: 1,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updated_at: data.created_at,
    });
    expect(meta.operation_id).toMatch(/^op_/);
    expect(answer.headers.get('location')).toBe(`/api/v1/customers/${data.id}`);
    expect(answer.headers.get('etag')).toBe('"1"');
    const read = await api.get(`/customers/${data.id}`);
    expect(read.body.data).toEqual(data);
    expect(read.headers.get('etag')).toBe('"1"');
  });

  test('keeps every member exactly as it was sent', async () => {
    const sent = {
      name: `  Zoë 👩🏽‍🚀 "O'Brien" \\ ; drop table customers`,
      email: `Zoë+tag.O'Brien@Bücher.Example`,
      phone: '+4930123456',
      external_id: 'É / 1 ',
      note: '<b>$1 %s</b>',
      metadata: { 'ключ 1': '', __proto__2: 'x', '': 'no' },
    };
    expect((await api.post('/customers', sent)).code).toBe('validation_failed');
    const { '': _, ...metadata } = sent.metadata;
    const data = await created({ ...sent, metadata });
    expect(data).toMatchObject({ ...sent, metadata });
    expect((await api.get(`/customers/${data.id}`)).body.data).toEqual(data);
  });

  test('may have every member at its longest, counted in code points', async () => {
    const pairs = Array.from({ length: 49 }, (_, index) => ['👍'.repeat(38) + (10 + index), 'v']);
    const sent = {
      name: '😀'.repeat(255),
      email: `${'a'.repeat(64)}@${`${'b'.repeat(61)}.`.repeat(3)}com`,
      phone: '+123456789012345',
      external_id: 'é'.repeat(255),
      note: '字'.repeat(2000),
      metadata: { ...Object.fromEntries(pairs), last: '💡'.repeat(500) },
    };
    expect(sent.email.length).toBe(254);
    expect(await created(sent)).toMatchObject(sent);
  });

  test('is refused with every bad member named at once, and binds no key', async () => {
    const key = newKey();
    const bad = {
      name: ' \t ',
      email: 'ada@localhost',
      phone: '030 123',
      external_id: 'x'.repeat(256),
      note: 'a\nb',
      metadata: { ok: 1 },
      status: 'active',
      version: 3,
      surname: 'x',
    };
    const answer = await api.post('/customers', bad, { key });
    expect(answer.status).toBe(422);
    expect(new Map(faults(answer))).toEqual(
      new Map([
        ['name', 'invalid_format'],
        ['email', 'invalid_email'],
        ['phone', 'invalid_format'],
        ['external_id', 'too_long'],
        ['note', 'invalid_format'],
        ['metadata.ok', 'invalid_type'],
        ['status', 'read_only'],
        ['version', 'read_only'],
        ['surname', 'unknown_field'],
      ]),
    );
    expect(answer.body.meta.operation_id).toBeUndefined();
    expect((await api.post('/customers', ada, { key })).status).toBe(201);
  });

  test('needs a name and an e-mail address, neither null nor empty', async () => {
    expect(faults(await api.post('/customers', {}))).toEqual([
      ['name', 'required'],
      ['email', 'required'],
    ]);
    const nulls = await api.post('/customers', { name: null, email: null });
    expect(faults(nulls)).toEqual([
      ['name', 'required'],
      ['email', 'required'],
    ]);
    expect(faults(await api.post('/customers', { ...ada, name: '' }))).toEqual([
      ['name', 'too_short'],
    ]);
    expect(faults(await api.post('/customers', { ...ada, name: 'x'.repeat(256) }))).toEqual([
      ['name', 'too_long'],
    ]);
  });

  test('may have 50 metadata pairs and not 51', async () => {
    const pairs = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 'v']));
    expect((await created({ metadata: pairs(50) })).metadata).toEqual(pairs(50));
    const answer = await api.post('/customers', { ...ada, metadata: pairs(51) });
    expect(faults(answer)).toEqual([['metadata', 'too_many']]);
  });

  test('may share its e-mail address with others', async () => {
    const [one, two] = [await created(), await created()];
    expect(one.id).not.toBe(two.id);
  });

  test('means the same with an optional member absent, null, or at its default', async () => {
    const key = newKey();
    const first = await api.post('/customers', ada, { key });
    for (const same of [{ phone: null }, { metadata: {} }, { metadata: null, note: null }]) {
      const again = await api.post('/customers', { ...ada, ...same }, { key });
      expect(again.headers.get('idempotent-replayed')).toBe('true');
      expect(again.body.data).toEqual(first.body.data);
    }
    const other = await api.post('/customers', { ...ada, phone: '+4930123456' }, { key });
    expect(other.code).toBe('idempotency_key_reused');
  });
});

describe('changing a customer', () => {
  test('sets what is sent, keeps what is not, and clears with null', async () => {
    const before = await created({ phone: '+4930123456', note: 'n', metadata: { a: '1', b: '2' } });
    const patch = {
      name: 'Ada King',
      note: null,
      metadata: { a: null, c: '3' },
      status: 'archived',
    };
    const answer = await api.patch(`/customers/${before.id}`, patch);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('location')).toBeNull();
    expect(answer.headers.get('etag')).toBe('"2"');
    expect(answer.body.data).toEqual({
      ...before,
      name: 'Ada King',
      note: null,
      metadata: { b: '2', c: '3' },
      status: 'archived',
      version: 2,
      updated_at: expect.any(String),
    });
    expect(answer.body.data.updated_at >= before.updated_at).toBe(true);
    expect((await api.get(`/customers/${before.id}`)).body.data).toEqual(answer.body.data);
    const emptied = await api.patch(`/customers/${before.id}`, { metadata: null });
    expect(emptied.body.data).toMatchObject({ metadata: {}, version: 3 });
  });

  test('to what it is already answers 200 with the same version and time', async () => {
    const before = await created({ note: 'n' });
    for (const patch of [{}, ada, { note: 'n', metadata: { gone: null }, status: 'active' }]) {
      const answer = await api.patch(`/customers/${before.id}`, patch);
      expect([answer.status, answer.body.data]).toEqual([200, before]);
      expect(answer.body.meta.operation_id).toMatch(/^op_/);
    }
  });

  test('refuses null for what is required, and what cannot be set', async () => {
    const { id } = await created();
    const nulls = await api.patch(`/customers/${id}`, { name: null, email: null, status: null });
    expect([nulls.status, nulls.code]).toEqual([422, 'validation_failed']);
    expect(faults(nulls)).toEqual([
      ['name', 'required'],
      ['email', 'required'],
      ['status', 'required'],
    ]);
    const others = await api.patch(`/customers/${id}`, { id, version: 9, status: 'gone', x: 1 });
    expect(new Map(faults(others))).toEqual(
      new Map([
        ['id', 'read_only'],
        ['version', 'read_only'],
        ['status', 'value_not_allowed'],
        ['x', 'unknown_field'],
      ]),
    );
  });

  test('beyond 50 metadata pairs after merging is refused, bound to the key', async () => {
    const pairs = (from: number, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${from + index}`, 'v']));
    const { id } = await created({ metadata: pairs(0, 40) });
    const key = newKey();
    const refused = await api.patch(`/customers/${id}`, { metadata: pairs(40, 11) }, { key });
    expect([refused.status, faults(refused)]).toEqual([422, [['metadata', 'too_many']]]);
    await api.patch(`/customers/${id}`, { metadata: null });
    const again = await api.patch(`/customers/${id}`, { metadata: pairs(40, 11) }, { key });
    expect(again.body.error.details).toEqual(refused.body.error.details);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.body.meta.operation_id).toBe(refused.body.meta.operation_id);
  });

  test('under If-Match happens at exactly that version, once among 20 at a time', async () => {
    const { id } = await created();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        api.patch(`/customers/${id}`, { note: `n${index}` }, { headers: { 'if-match': '"1"' } }),
      ),
    );
    const statuses = answers.map((answer) => answer.status).sort();
    expect(statuses).toEqual([200, ...Array(19).fill(412)]);
    const late = answers.find((answer) => answer.status === 412);
    expect(late?.code).toBe('precondition_failed');
    expect(late?.body.error.details).toMatchObject([
      { field: 'header.if-match', current_version: 2 },
    ]);
    expect(late?.body.meta.operation_id).toMatch(/^op_/);
    expect((await api.get(`/customers/${id}`)).body.data.version).toBe(2);
  });

  test('by 40 requests at once loses none of them', async () => {
    const { id } = await created();
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        api.patch(`/customers/${id}`, { metadata: { [`k${index}`]: 'v' } }),
      ),
    );
    expect(answers.map((answer) => answer.status)).toEqual(Array(40).fill(200));
    expect(new Set(answers.map((answer) => answer.body.data.version)).size).toBe(40);
    const { data } = (await api.get(`/customers/${id}`)).body;
    expect([Object.keys(data.metadata).length, data.version]).toEqual([40, 41]);
  });

  test('of another merchant, or of nobody, is 404 and binds no key', async () => {
    const stranger = await service.given.credential(await service.given.merchant());
    const { id } = await created();
    const key = newKey();
    for (const path of [`/customers/${id}`, `/customers/cus_0`, `/customers/${'x'.repeat(64)}`]) {
      const answer = await service.api.as(stranger.token).patch(path, { note: 'x' }, { key });
      expect([answer.status, answer.code]).toEqual([404, 'not_found']);
      expect((await service.api.as(stranger.token).get(path)).status).toBe(404);
    }
    const own = await service.api.as(stranger.token).post('/customers', ada);
    const path = `/customers/${own.body.data.id}`;
    const used = await service.api.as(stranger.token).patch(path, { note: 'x' }, { key });
    expect([used.status, used.body.data.note]).toEqual([200, 'x']);
  });
});

describe('an external ID', () => {
  test('is taken by one customer of a merchant, also while archived', async () => {
    const external_id = newKey();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => api.post('/customers', { ...ada, external_id })),
    );
    expect(answers.map((answer) => answer.status).sort()).toEqual([201, ...Array(19).fill(422)]);
    const winner = answers.find((answer) => answer.status === 201)?.body.data;
    const refused = answers.find((answer) => answer.status === 422);
    expect([refused?.code, faults(refused as Answer)]).toEqual([
      'external_id_taken',
      [['external_id', 'external_id_taken']],
    ]);
    await api.patch(`/customers/${winner.id}`, { status: 'archived' });
    const other = await created();
    const taken = await api.patch(`/customers/${other.id}`, { external_id });
    expect(taken.code).toBe('external_id_taken');
    const own = await api.patch(`/customers/${winner.id}`, { external_id, note: 'kept' });
    expect(own.status).toBe(200);
    await api.patch(`/customers/${winner.id}`, { external_id: null });
    expect((await api.patch(`/customers/${other.id}`, { external_id })).status).toBe(200);
  });
});

describe('an erased customer', () => {
  test('is gone for reads, replays, changes and lists, and nothing personal remains', async () => {
    const email = `secret.${newKey()}@example.com`;
    const members = { name: 'Mr. Secret', email, phone: '+4930999', note: 'Secret!' };
    const key = newKey();
    const body = { ...members, external_id: 'Secret-1', metadata: { s: 'Secret' } };
    const first = await api.post('/customers', body, { key });
    const { id } = first.body.data;
    const patchKey = newKey();
    await api.patch(`/customers/${id}`, { note: 'Secret?' }, { key: patchKey });
    await erase(id);
    const answers = [
      await api.get(`/customers/${id}`),
      await api.post('/customers', body, { key }),
      await api.patch(`/customers/${id}`, { note: 'Secret?' }, { key: patchKey }),
      await api.patch(`/customers/${id}`, { note: 'new' }),
    ];
    for (const answer of answers) {
      expect([answer.status, answer.code]).toEqual([410, 'resource_erased']);
    }
    expect(answers[1]?.body.meta.operation_id).toBe(first.body.meta.operation_id);
    for (const filter of [`email=${email}`, 'external_id=Secret-1', 'q=secret', 'status=active']) {
      const { data } = (await api.get(`/customers?limit=200&${filter}`)).body;
      expect(data.filter((one: { id: string }) => one.id === id)).toEqual([]);
    }
    const kept = await service.db.sql(
      `select (select json_agg(c) from customers c where id = $1)::text
         || (select json_agg(o) from operations o where resource_id = $1)::text as text`,
      [id],
    );
    expect(kept[0]?.text).not.toMatch(/secret|4930999/i);
    expect((await api.post('/customers', { ...ada, external_id: 'Secret-1' })).status).toBe(201);
  });

  test('has no ID of the caller any more: an upsert with it creates another one', async () => {
    const path = '/customers?external_id=Secret-2';
    const key = newKey();
    const { id } = (await api.patch(path, { ...ada, note: 'first' }, { key })).body.data;
    await erase(id);
    const replayed = await api.patch(path, { ...ada, note: 'first' }, { key });
    expect([replayed.status, replayed.code]).toEqual([410, 'resource_erased']);
    expect((await api.patch(path, { note: 'second' })).code).toBe('validation_failed');
    const other = await api.patch(path, { ...ada, note: 'second' });
    expect([other.status, other.body.data.id === id]).toEqual([201, false]);
    expect((await api.get(`/customers/${id}`)).code).toBe('resource_erased');
  });

  test('is erased once: again changes nothing, and nobody is not found', async () => {
    const { id } = await created();
    const first = await erase(id);
    const read = 'select version, updated_at, erased_at from customers where id = $1';
    const before = await service.db.sql(read, [id]);
    expect([first, await erase(id)]).toEqual([first, first]);
    expect([before, await service.db.sql(read, [id])]).toEqual([before, before]);
    expect([first, before[0]?.version]).toEqual([{ id, erased_at: expect.any(String) }, 2]);
    const nobody = erase('cus_00000000000000000000000000');
    await expect(nobody).rejects.toMatchObject({ code: 'not_found' });
  });

  test('is an operation like others, with its line in the trail before it', async () => {
    const { id } = await created();
    const key = newKey();
    const { performAsOperator } = service.service;
    const first = await performAsOperator(merchant, 'customers.erase', {}, { id, key });
    const again = await performAsOperator(merchant, 'customers.erase', {}, { id, key });
    expect(again).toEqual({ ...first, replayed: true });
    const shown = await api.get(`/operations/${first.operationId}`);
    expect(shown.body.data).toMatchObject({
      type: 'customers.erase',
      status: 'succeeded',
      resource: { type: 'customer', id },
    });
    const listed = await api.get('/operations?type=customers.erase&limit=1');
    expect(listed.body.data).toEqual([shown.body.data]);
    const [line] = await service.db.sql(
      'select line::json ->> $$action$$ as action from audit_records where strpos(line, $1) > 0',
      [shown.body.data.request_id],
    );
    expect(line).toEqual({ action: 'customers.erase' });
  });

  async function erase(id: string) {
    const { performAsOperator } = service.service;
    return (await performAsOperator(merchant, 'customers.erase', {}, { id })).data;
  }
});
