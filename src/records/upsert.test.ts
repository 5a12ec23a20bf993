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

/** Each resource, with what a new one needs and what one may be told to change. */
const kinds = [
  { list: '/customers', noun: 'customer', needs: { name: 'Ada', email: 'ada@example.com' } },
  { list: '/products', noun: 'product', needs: { name: 'Rye' } },
  { list: '/locations', noun: 'location', needs: { name: 'Pier' } },
] as const;

const isReplay = (answer: Answer): boolean => answer.headers.get('idempotent-replayed') === 'true';

const faults = (answer: Answer) =>
  answer.body.error.details.map((one: { field: string; code: string }) => [one.field, one.code]);

let counter = 0;

/** As systems of merchants give them: no path could carry it. */
function freshId(): string {
  counter += 1;
  return `gid://shop/${counter}/Käse & "Brot"?#%2F+ 100%`;
}

const pathOf = (list: string, externalId: string) =>
  `${list}?external_id=${encodeURIComponent(externalId)}`;

const operationOf = async ({ body }: Answer) =>
  (await api.get(`/operations/${body.meta.operation_id}`)).body.data;

describe.each(kinds)('an upsert of $list', ({ list, noun, needs }) => {
  const upsert = (id: string, body: object, ask = {}) => api.patch(pathOf(list, id), body, ask);

  test('creates what has no such ID, as a POST does', async () => {
    const id = freshId();
    const answer = await upsert(id, needs);
    expect([answer.status, isReplay(answer)]).toEqual([201, false]);
    const { data } = answer.body;
    expect(answer.headers.get('location')).toBe(`/api/v1${list}/${data.id}`);
    expect(answer.headers.get('etag')).toBe('"1"');
    const posted = await api.post(list, { ...needs, external_id: `${id}.` });
    const made = { id: data.id, external_id: id };
    const times = { created_at: data.created_at, updated_at: data.created_at };
    expect(data).toEqual({ ...posted.body.data, ...made, ...times });
    expect((await api.get(`${list}/${data.id}`)).body.data).toEqual(data);
    expect(await operationOf(answer)).toMatchObject({
      type: `${list.slice(1)}.upsert`,
      status: 'succeeded',
      resource: { type: noun, id: data.id },
      position: answer.body.meta.position,
    });
  });

  test('changes what has the ID, and keeps what is not sent', async () => {
    const id = freshId();
    const metadata = { a: '1', b: '2' };
    const before = (await api.post(list, { ...needs, external_id: id, metadata })).body.data;
    const answer = await upsert(id, { name: 'Oats', metadata: { a: null, c: '3' } });
    expect([answer.status, answer.headers.get('location')]).toEqual([200, null]);
    expect(answer.headers.get('etag')).toBe('"2"');
    const { data } = answer.body;
    const changed = { name: 'Oats', metadata: { b: '2', c: '3' }, version: 2 };
    expect(data).toEqual({ ...before, ...changed, updated_at: data.updated_at });
    expect((await upsert(id, { external_id: id, metadata: null })).body.data).toMatchObject({
      version: 3,
      metadata: {},
    });
  });

  test('of what is so already binds its key, and changes no record and no journal', async () => {
    const id = freshId();
    const before = (await upsert(id, { ...needs, metadata: { a: '1' } })).body;
    const key = newKey();
    const bodies = [{ ...needs, metadata: { a: '1' } }, { external_id: id }, {}];
    const answers = [await upsert(id, bodies[0] ?? {}, { key })];
    for (const body of bodies.slice(1)) answers.push(await upsert(id, body));
    for (const answer of answers) {
      expect([answer.status, answer.body.data]).toEqual([200, before.data]);
      expect(answer.body.meta).not.toHaveProperty('position');
      expect(await operationOf(answer)).toMatchObject({ status: 'succeeded', position: null });
    }
    const again = await upsert(id, bodies[0] ?? {}, { key });
    expect([again.status, isReplay(again)]).toEqual([200, true]);
    expect((await upsert(id, { name: 'Other' }, { key })).code).toBe('idempotency_key_reused');
    const behind = `after_position=${before.meta.position}&journal=${before.meta.journal}`;
    expect((await api.get(`/events?${behind}`)).body.data).toEqual([]);
  });

  test('is replayed with the status of its first answer, and the record as it is', async () => {
    const id = freshId();
    const [creating, changing] = [newKey(), newKey()];
    const made = await upsert(id, needs, { key: creating });
    const changed = await upsert(id, { name: 'Oats' }, { key: changing });
    for (const [key, body, first, status] of [
      [creating, needs, made, 201],
      [creating, { ...needs, external_id: id }, made, 201],
      [changing, { name: 'Oats' }, changed, 200],
    ] as const) {
      const again = await upsert(id, body, { key });
      expect([again.status, isReplay(again)]).toEqual([status, true]);
      expect(again.body.meta.operation_id).toBe(first.body.meta.operation_id);
      expect(again.headers.get('location')).toBe(first.headers.get('location'));
      expect(again.body.data).toEqual(changed.body.data);
    }
  });

  test('with a used key and another ID is another request', async () => {
    const [id, key] = [freshId(), newKey()];
    await upsert(id, needs, { key });
    for (const [other, body] of [
      [freshId(), needs],
      [id, { ...needs, external_id: null }],
      [id, { ...needs, external_id: freshId() }],
    ] as const) {
      const answer = await upsert(other, body, { key });
      expect([answer.status, answer.code]).toEqual([409, 'idempotency_key_reused']);
    }
  });

  test('without what a new one needs is refused for good, and says what', async () => {
    const [id, key] = [freshId(), newKey()];
    const refused = await upsert(id, { metadata: { a: '1' } }, { key });
    expect([refused.status, refused.code]).toEqual([422, 'validation_failed']);
    expect(faults(refused)).toEqual(Object.keys(needs).map((name) => [name, 'required']));
    expect(refused.body.meta).toHaveProperty('operation_id');
    await upsert(id, needs);
    const again = await upsert(id, { metadata: { a: '1' } }, { key });
    expect([again.status, isReplay(again)]).toEqual([422, true]);
    expect(again.body.error).toEqual(refused.body.error);
    expect((await upsert(id, { metadata: { a: '1' } })).status).toBe(200);
  });

  test('with another ID in its body, or none, is refused before anything is bound', async () => {
    const [id, key] = [freshId(), newKey()];
    for (const external_id of [`${id} `, null, '', 7]) {
      const refused = await upsert(id, { ...needs, external_id }, { key });
      expect([refused.status, refused.body.meta.operation_id]).toEqual([422, undefined]);
      const code = external_id === 7 ? 'invalid_type' : 'value_not_allowed';
      expect(faults(refused)).toEqual([['external_id', code]]);
    }
    expect((await upsert(id, needs, { key })).status).toBe(201);
  });

  test('needs one ID in its query, of 1 to 255 characters and no other parameter', async () => {
    const refused: readonly (readonly [search: string, code: string, fault: string])[] = [
      ['', 'missing_parameter', 'required'],
      ['?external_id=', 'invalid_parameter', 'too_short'],
      [`?external_id=${'x'.repeat(256)}`, 'invalid_parameter', 'too_long'],
      ['?external_id=%00', 'invalid_parameter', 'invalid_format'],
      ['?external_id=a&external_id=b', 'invalid_parameter', 'not_repeatable'],
      ['?external_id=a&limit=1', 'unknown_parameter', 'unknown_field'],
    ];
    for (const [search, code, fault] of refused) {
      const answer = await api.patch(`${list}${search}`, needs);
      expect([answer.status, answer.code, search]).toEqual([400, code, search]);
      expect(faults(answer).map(([, one]: string[]) => one)).toEqual([fault]);
    }
    expect((await api.patch(`${list}?external_id=%ff`, needs)).code).toBe('malformed_request');
    const long = `${counter}${'é'.repeat(250)}`;
    expect((await upsert(long, needs)).body.data.external_id).toBe(long);
  });

  test('takes no If-Match: who means one version knows the record', async () => {
    const id = freshId();
    await upsert(id, needs);
    const answer = await upsert(id, { name: 'Oats' }, { headers: { 'if-match': '"1"' } });
    expect([answer.status, answer.code]).toEqual([400, 'malformed_request']);
  });

  test('judges what it sends as PATCH does, and creates in the state it asks for', async () => {
    const id = freshId();
    expect(faults(await upsert(id, { ...needs, name: ' ', nothing: 1, version: 2 }))).toEqual([
      ['nothing', 'unknown_field'],
      ['version', 'read_only'],
      ['name', 'invalid_format'],
    ]);
    const states = list === '/locations' ? ['inactive', 'active'] : ['archived', 'active'];
    const made = await upsert(id, { ...needs, status: states[0], metadata: { a: null, b: '1' } });
    expect(made.body.data).toMatchObject({ status: states[0], metadata: { b: '1' }, version: 1 });
    const pairs = Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`k${n}`, 'v']));
    const full = await upsert(freshId(), { ...needs, metadata: pairs });
    expect([full.status, faults(full)]).toEqual([422, [['metadata', 'too_many']]]);
  });

  test('is one event each: what it created, and what it changed', async () => {
    const id = freshId();
    const made = await upsert(id, needs);
    const changed = await upsert(id, { name: 'Oats' });
    const resource = { type: noun, id: made.body.data.id, version: 2 };
    const { position, journal } = made.body.meta;
    const behind = `after_position=${position - 1}&journal=${journal}`;
    const read = async (filter: string) => (await api.get(`/events?${behind}${filter}`)).body.data;
    const events = await read('');
    expect(events).toMatchObject([
      { type: `${noun}.created`, operation_id: made.body.meta.operation_id, resource },
      { type: `${noun}.updated`, operation_id: changed.body.meta.operation_id, resource },
    ]);
    expect(await read(`&type=${noun}.created`)).toEqual([events[0]]);
    expect(await read(`&type=${noun}.updated`)).toEqual([events[1]]);
    expect(await read(`&type=${noun}.updated&type=${noun}.created`)).toEqual(events);
  });
});

describe('many upserts in one request', () => {
  const submit = (operations: readonly object[]) => api.post('/batches', { operations });

  const item = (external_id: string, body: object) => ({
    type: 'products.upsert',
    idempotency_key: newKey(),
    external_id,
    body,
  });

  const statusesOf = ({ body }: Answer): number[] =>
    body.data.results.map(({ status }: { status: number }) => status);

  test('of one new ID create once and change once, whichever is first', async () => {
    for (let round = 0; round < 10; round += 1) {
      const id = freshId();
      const items = [item(id, { name: 'One', sku: id }), item(id, { name: 'Two', sku: id })];
      const answer = await submit(items);
      expect(statusesOf(answer).sort()).toEqual([200, 201]);
      const { data } = (await api.get(pathOf('/products', id))).body;
      expect(data).toMatchObject([{ external_id: id, sku: id, version: 2 }]);
      const { body } = await submit(items);
      expect(statusesOf({ ...answer, body })).toEqual(statusesOf(answer));
      expect(body.data.results.every(({ meta }: { meta: object }) => 'replayed' in meta)).toBe(
        true,
      );
    }
  });

  test('of a whole list change nothing the second time', async () => {
    const lines = Array.from({ length: 200 }, () => ({ id: freshId(), name: `Line ${counter}` }));
    const night = () => submit(lines.map(({ id, name }) => item(id, { name, sku: `SKU ${id}` })));
    expect(new Set(statusesOf(await night()))).toEqual(new Set([201]));
    const second = await night();
    expect(new Set(statusesOf(second))).toEqual(new Set([200]));
    const placed = second.body.data.results.filter(
      ({ meta }: { meta: object }) => 'position' in meta,
    );
    expect(placed).toEqual([]);
  });
});
