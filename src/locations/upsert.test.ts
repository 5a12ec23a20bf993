import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, type Api, newKey } from '../../test/kit/api.ts';
import { withoutRequestId } from '../../test/kit/cases.ts';
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

const upsert = (by: Api, id: string, body: object, key = newKey()) =>
  by.patch(`/locations?external_id=${id}`, body, { key });

let counter = 0;

/** A location with an ID of the merchant's own. */
async function made() {
  counter += 1;
  const external_id = `place-${counter}`;
  const answer = await api.post('/locations', { name: 'Pier', external_id });
  return { id: answer.body.data.id as string, external_id };
}

const isRefused = ({ status, code }: Answer) => {
  expect([status, code]).toEqual([403, 'location_not_granted']);
};

describe('an upsert of a location, by who is not granted all', () => {
  test('changes a granted one, and is refused in one way for any other and for none', async () => {
    const [own, other] = [await made(), await made()];
    const foreign = await caller('all', await service.given.merchant());
    await upsert(foreign, 'foreign', { name: 'Elsewhere' });
    const some = await caller([own.id]);
    const changed = await upsert(some, own.external_id, { name: 'Harbour' });
    expect([changed.status, changed.body.data.id]).toEqual([200, own.id]);
    const counts = async () =>
      service.db.sql(
        'select (select count(*) from operations), (select sum(version) from locations)',
      );
    const before = await counts();
    const words = new Set<string>();
    for (const by of [some, await caller([])]) {
      for (const id of [other.external_id, 'foreign', 'nobody', `${own.external_id} `]) {
        for (const body of [{ name: 'Harbour' }, {}, { name: '' }]) {
          const refused = await upsert(by, encodeURIComponent(id), body);
          isRefused(refused);
          words.add(JSON.stringify(withoutRequestId(refused)));
        }
      }
    }
    expect(words.size).toBe(1);
    expect(await counts()).toEqual(before);
  });

  test('may be sent again under its key, once the location is granted', async () => {
    const { id, external_id } = await made();
    const credential = await service.given.credential(merchant, { locations: [] });
    const by = service.api.as(credential.token);
    const key = newKey();
    isRefused(await upsert(by, external_id, { name: 'Harbour' }, key));
    await service.db.sql('update credentials set location_ids = $2 where id = $1', [
      credential.id,
      [id],
    ]);
    expect((await upsert(by, external_id, { name: 'Harbour' }, key)).status).toBe(200);
    await service.db.sql(`update credentials set location_ids = '{}' where id = $1`, [
      credential.id,
    ]);
    isRefused(await upsert(by, external_id, { name: 'Harbour' }, key));
  });

  test('is replayed with what it wrote, whoever has the ID now', async () => {
    const [first, second, third] = [await made(), await made(), await made()];
    const by = await caller([first.id, second.id]);
    const key = newKey();
    const again = () => upsert(by, first.external_id, { name: 'Harbour' }, key);
    expect((await again()).status).toBe(200);
    for (const next of [`${first.external_id}-old`, null]) {
      await api.patch(`/locations/${first.id}`, { external_id: next });
      const replayed = await again();
      expect([replayed.status, replayed.body.data.id]).toEqual([200, first.id]);
      expect(replayed.headers.get('idempotent-replayed')).toBe('true');
    }
    isRefused(await upsert(by, first.external_id, { name: 'Harbour' }));
    await api.patch(`/locations/${third.id}`, { external_id: first.external_id });
    expect((await again()).body.data.id).toBe(first.id);
    // Another request under the key names what is out of reach, and that is said first.
    isRefused(await upsert(by, first.external_id, { name: 'Other' }, key));
    await api.patch(`/locations/${third.id}`, { external_id: null });
    await api.patch(`/locations/${second.id}`, { external_id: first.external_id });
    const other = await upsert(by, first.external_id, { name: 'Other' }, key);
    expect(other.code).toBe('idempotency_key_reused');
  });

  test('is judged again under the lock, when the ID goes elsewhere at that moment', async () => {
    const { id, external_id } = await made();
    const by = await caller([id]);
    const key = newKey();
    const session = await service.db.session();
    await session.query('begin');
    await session.query('update locations set external_id = null where id = $1', [id]);
    const waiting = upsert(by, external_id, { name: 'Harbour' }, key);
    await service.db.sql(`select pg_sleep(0.3)`);
    await session.query('commit');
    const refused = await waiting;
    isRefused(refused);
    expect((await api.get(`/locations?external_id=${external_id}`)).body.data).toEqual([]);
    expect((await api.get(`/locations/${id}`)).body.data).toMatchObject({ name: 'Pier' });
    isRefused(await upsert(by, external_id, { name: 'Harbour' }, key));
    // It is an operation like others, and shown to no other who is not granted all.
    const { operation_id } = refused.body.meta;
    expect((await by.get(`/operations/${operation_id}`)).body.data).toMatchObject({
      status: 'rejected',
      error: { code: 'location_not_granted' },
    });
    expect((await api.get(`/operations/${operation_id}`)).status).toBe(200);
    const others = await caller([id]);
    expect((await others.get(`/operations/${operation_id}`)).status).toBe(404);
  });

  test('is an operation that others see by their grants, as they see a change', async () => {
    const { id, external_id } = await made();
    const done = await upsert(api, external_id, { name: 'Harbour' });
    const created = await upsert(api, `${external_id}-new`, { name: 'New' });
    const refused = await upsert(api, external_id, { name: null });
    expect(refused.body.meta).not.toHaveProperty('operation_id');
    await api.patch(`/locations/${id}`, { code: 'TAKEN' });
    const rejected = await upsert(api, `${external_id}-new`, { code: 'TAKEN' });
    expect(rejected.code).toBe('code_taken');
    const path = ({ body }: Answer) => `/operations/${body.meta.operation_id}`;
    const [here, nowhere] = [await caller([id]), await caller([])];
    const statuses = async (by: Api) =>
      Promise.all([done, created, rejected].map(async (one) => (await by.get(path(one))).status));
    expect(await statuses(here)).toEqual([200, 404, 404]);
    expect(await statuses(nowhere)).toEqual([404, 404, 404]);
    expect(await statuses(await caller('all'))).toEqual([200, 200, 200]);
    const [event] = (await here.get(`/events?location_id=${id}&type=location.updated`)).body.data;
    expect(event.operation_id).toBe(done.body.meta.operation_id);
  });
});

describe('an upsert of a location', () => {
  test('waits for an adjustment there, and ends adjustments when it closes it', async () => {
    const { id, external_id } = await made();
    const product_id = await service.given.product(merchant);
    const adjust = (target_quantity: string) =>
      api.post('/inventory/adjustments', {
        product_id,
        location_id: id,
        target_quantity,
        reason: 'correction',
      });
    const answers = await Promise.all([
      ...Array.from({ length: 20 }, (_, n) => adjust(`${n + 1}`)),
      upsert(api, external_id, { status: 'inactive' }),
    ]);
    expect(answers.at(-1)?.status).toBe(200);
    for (const answer of answers.slice(0, -1)) {
      expect([201, 'location_inactive']).toContain(answer.code ?? answer.status);
    }
    expect((await adjust('77')).code).toBe('location_inactive');
  });
});
