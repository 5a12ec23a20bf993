// Tokens of programs, and what applications are allowed: who makes, changes and ends them.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newKey } from '../../test/kit/api.ts';
import { Applications } from '../../test/kit/applications.ts';
import { AuditTrail } from '../../test/kit/audit.ts';
import { waitsOf } from '../../test/kit/database.ts';
import { type Environment, startEnvironment } from '../../test/kit/environment.ts';
import { rotateToken } from '../access/operator/credentials.ts';

let service: Environment;
let trail: AuditTrail;
let applications: Applications;

beforeAll(async () => {
  service = await startEnvironment();
  trail = new AuditTrail(service.db);
  applications = new Applications(service.db);
});
afterAll(async () => {
  await trail.database.close();
  await service.stop();
});

async function shop() {
  const merchant = await service.given.merchant();
  const { token, id } = await service.given.credential(merchant);
  const api = service.api.as(token);
  const make = async (body: object = {}) =>
    (await api.post('/tokens', { name: 'Till', scopes: ['products.read'], ...body })).body.data;
  return { merchant, api, id, token, make };
}

const day = 86_400_000;

describe('a token', () => {
  test('works at once, and is shown by the first answer alone', async () => {
    const { api, make, merchant } = await shop();
    const key = newKey();
    const body = { name: 'Till', scopes: ['inventory.read', 'products.read'] };
    const first = (await api.post('/tokens', body, { key })).body.data;
    expect(first).toMatchObject({
      ...{ status: 'active', last_four: first.token.slice(-4), version: 1 },
      ...{ kind: 'personal_access_token', scopes: ['products.read', 'inventory.read'] },
      ...{ all_locations: false, location_ids: [], application: null },
    });
    expect(Date.parse(first.expires_at) - Date.parse(first.created_at)).toBe(90 * day);
    expect((await api.as(first.token).get('/products')).status).toBe(200);
    expect((await api.as(first.token).get('/customers')).code).toBe('insufficient_scope');
    const again = await api.post('/tokens', body, { key });
    expect(again.body.data).toMatchObject({ id: first.id, token: null });
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect((await api.get(`/tokens/${first.id}`)).body.data).toMatchObject({
      ...{ token: null, expires_at: first.expires_at, last_four: first.last_four },
    });
    const rows = await service.db.sql('select * from operations where merchant_id = $1', [
      merchant,
    ]);
    expect(JSON.stringify([rows, await trail.lines()])).not.toContain(first.token.slice(7));
    const short = await make({ expires_in_days: 1 });
    expect(Date.parse(short.expires_at) - Date.parse(short.created_at)).toBe(day);
  });

  test('is changed and revoked from the next request on', async () => {
    const { api, make, id: by } = await shop();
    const { id, token } = await make();
    const path = `/tokens/${id}`;
    const changed = await api.patch(path, {
      ...{ name: 'Till 2', scopes: ['customers.read'], all_locations: true, expires_in_days: 10 },
    });
    expect(changed.body.data).toMatchObject({ name: 'Till 2', version: 2, all_locations: true });
    const own = (await api.as(token).get('/credential')).body.data;
    expect(own).toMatchObject({ scopes: ['customers.read'], locations: 'all' });
    expect(own.expires_at).toBe(changed.body.data.expires_at);
    expect(Date.parse(own.expires_at) - Date.now()).toBeLessThan(10 * day + 60_000);
    const revoked = await api.patch(path, { status: 'revoked' });
    expect(revoked.body.data).toMatchObject({ status: 'revoked', version: 3 });
    expect((await api.as(token).get('/credential')).status).toBe(401);
    expect((await api.patch(path, { name: 'Till' })).code).toBe('access_ended');
    expect((await api.patch(path, { status: 'revoked' })).body.data.version).toBe(3);
    const lines = (await trail.lines()).filter((line) => line.credential_id === id);
    expect(lines.map(({ action, by_credential_id }) => [action, by_credential_id])).toEqual(
      ['token.create', 'token.change', 'token.revoke'].map((action) => [action, by]),
    );
  });

  test('that has ended can be revoked, and nothing else', async () => {
    const { api, make } = await shop();
    const { id } = await make();
    await service.db.sql(
      `update credential_tokens set expires_at = now() - interval '1 second'
       where credential_id = $1`,
      [id],
    );
    expect((await api.get(`/tokens/${id}`)).body.data.status).toBe('ended');
    expect((await api.get('/tokens?status=ended')).body.data).toMatchObject([{ id }]);
    expect((await api.patch(`/tokens/${id}`, { expires_in_days: 5 })).code).toBe('access_ended');
    expect((await api.patch(`/tokens/${id}`, { status: 'revoked' })).status).toBe(200);
  });

  test('that is being rotated gets another end for its new text only', async () => {
    const { api, make } = await shop();
    const { id, token } = await make();
    const next = await rotateToken(trail.database, id, 3_600);
    await api.patch(`/tokens/${id}`, { expires_in_days: 300 });
    const end = async (one: string) =>
      Date.parse((await api.as(one).get('/credential')).body.data.expires_at) - Date.now();
    expect(await end(token)).toBeLessThan(2 * 3_600_000);
    expect(await end(next.token)).toBeGreaterThan(299 * day);
  });

  test('is made anew for the same credential, whose keys stay; the old one as told', async () => {
    const { api, make, id: by } = await shop();
    const { id, token, expires_at } = await make({ scopes: ['products.write'] });
    const key = newKey();
    const sold = { name: 'Oat' };
    const done = await api.as(token).post('/products', sold, { key });
    const once = { key: newKey() };
    const path = `/tokens/${id}/rotate`;
    const next = await api.post(path, { overlap_hours: 0 }, once);
    const { data } = next.body;
    expect([next.status, data]).toEqual([
      200,
      expect.objectContaining({ id, version: 2, last_four: data.token.slice(-4) }),
    ]);
    expect(data.token).toMatch(/^tb_pat_/);
    expect((await api.as(token).get('/credential')).status).toBe(401);
    const fresh = api.as(data.token);
    expect((await fresh.get('/credential')).body.data).toMatchObject({ id });
    const again = await fresh.post('/products', sold, { key });
    expect(again.body.meta.operation_id).toBe(done.body.meta.operation_id);
    expect(Date.parse(data.expires_at) - Date.parse(expires_at)).toBeLessThan(60_000);
    expect((await fresh.get('/credential')).body.data.expires_at).toBe(data.expires_at);
    const replay = await api.post(path, { overlap_hours: 0 }, once);
    expect(replay.body.data).toMatchObject({ id, token: null, last_four: data.last_four });
    const [line] = (await trail.lines('token.rotate')).slice(-1);
    expect(line).toMatchObject({ credential_id: id, by_credential_id: by });
    expect(JSON.stringify(await trail.lines())).not.toContain(data.token.slice(7));
  });

  test('is valid beside the next one for a day, unless told otherwise', async () => {
    const { api, make } = await shop();
    const { id, token } = await make();
    const left = async (one: string) =>
      Date.parse((await api.as(one).get('/credential')).body.data.expires_at) - Date.now();
    const next = (await api.post(`/tokens/${id}/rotate`, {})).body.data.token;
    expect(Math.abs((await left(token)) - day)).toBeLessThan(60_000);
    expect(Math.abs((await left(next)) - 90 * day)).toBeLessThan(60_000);
    const last = (await api.post(`/tokens/${id}/rotate`, { overlap_hours: 2 })).body.data.token;
    for (const one of [token, next]) {
      expect(Math.abs((await left(one)) - day / 12)).toBeLessThan(60_000);
    }
    expect(Math.abs((await left(last)) - 90 * day)).toBeLessThan(60_000);
    await service.db.sql(
      `update credential_tokens set created_at = now() - interval '500 days'
       where credential_id = $1`,
      [id],
    );
    const most = (await api.post(`/tokens/${id}/rotate`, {})).body.data.token;
    expect(Math.abs((await left(most)) - 366 * day)).toBeLessThan(60_000);
  });

  test('rotated many times at once leaves one that lasts', async () => {
    const { api, make } = await shop();
    const { id, token } = await make();
    const made = await Promise.all(
      Array.from({ length: 6 }, () => api.post(`/tokens/${id}/rotate`, { overlap_hours: 0 })),
    );
    const all = [token, ...made.map(({ body }) => body.data.token)];
    const live = await Promise.all(all.map((one) => api.as(one).get('/credential')));
    expect(live.filter(({ status }) => status === 200)).toHaveLength(1);
    const { data } = (await api.get(`/tokens/${id}`)).body;
    const lasting = all.find((_, index) => live[index]?.status === 200);
    expect(data).toMatchObject({ version: 7, last_four: lasting?.slice(-4), status: 'active' });
  });

  test('is rotated by nobody who holds less, and not once it has ended', async () => {
    const { api, make, merchant } = await shop();
    const { id } = await make({ scopes: ['customers.read'] });
    const may = { scopes: ['access.write', 'products.read'] };
    const less = api.as((await service.given.credential(merchant, may)).token);
    expect((await less.post(`/tokens/${id}/rotate`, {})).code).toBe('insufficient_scope');
    const person = (await api.post('/people', { name: 'Ada', role: 'viewer' })).body.data;
    expect((await api.post(`/tokens/${person.id}/rotate`, {})).status).toBe(404);
    const faults = [{ overlap_hours: -1 }, { overlap_hours: 721 }, { overlap_hours: 1.5 }];
    for (const body of faults) {
      expect((await api.post(`/tokens/${id}/rotate`, body)).status).toBe(422);
    }
    await api.patch(`/tokens/${id}`, { status: 'revoked' });
    expect((await api.post(`/tokens/${id}/rotate`, {})).code).toBe('access_ended');
  });

  test('gives no more than who makes or changes it holds', async () => {
    const { api, merchant, make } = await shop();
    const location = await service.given.location(merchant);
    const held = ['access.write', 'products.read'];
    const { token } = await service.given.credential(merchant, {
      scopes: held,
      locations: [location],
    });
    const less = api.as(token);
    const ask = (body: object) => less.post('/tokens', { name: 'T', scopes: held, ...body });
    expect((await ask({ scopes: ['products.write'] })).code).toBe('insufficient_scope');
    expect((await ask({ all_locations: true })).code).toBe('location_not_granted');
    expect((await ask({ location_ids: [location] })).status).toBe(201);
    const { id } = await make({ scopes: ['customers.read'] });
    for (const body of [{ name: 'X' }, { status: 'revoked' }, { scopes: ['products.read'] }]) {
      expect((await less.patch(`/tokens/${id}`, body)).code).toBe('insufficient_scope');
    }
  });

  test.each([
    ['lost it', "scopes = '{access.write}'"],
    ['is revoked', 'revoked_at = now()'],
  ])('is given no more by who %s at this moment', async (_, what) => {
    const { api, id, merchant } = await shop();
    const session = await service.db.globalSession();
    await session.query('begin');
    await session.query(`update credentials set ${what} where merchant_id = $1 and id = $2`, [
      merchant,
      id,
    ]);
    const asked = api.post('/tokens', { name: 'T', scopes: ['products.read'] });
    await expect.poll(() => waitsOf(service.db)).toBeGreaterThan(0);
    await session.query('commit');
    expect((await asked).code).toBe('insufficient_scope');
    await session.end();
  });
});

describe('what an application is allowed', () => {
  test('is listed with who gave it, ends with that, and can only be revoked', async () => {
    const { api, merchant, token, id: giver } = await shop();
    const application = await applications.application();
    const approval = await applications.approval(merchant, application);
    const consent = await applications.consent(merchant, application, { approval, by: token });
    const access = await applications.token(merchant, consent);
    const listed = (await api.get('/tokens')).body.data;
    expect(listed).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          id: approval,
          approval_id: null,
          status: 'active',
          last_four: null,
        }),
        expect.objectContaining({
          ...{ id: consent, approval_id: approval, given_by: giver, status: 'active' },
          application: { id: application, name: 'Shop Sync' },
        }),
      ]),
    );
    const refused = await api.patch(`/tokens/${consent}`, { name: 'X' });
    expect([refused.status, refused.code]).toEqual([422, 'token_of_application']);
    const rotated = await api.post(`/tokens/${consent}/rotate`, {});
    expect([rotated.status, rotated.code]).toEqual([422, 'token_of_application']);
    expect((await api.as(access).get('/products')).status).toBe(200);
    const ended = await api.patch(`/tokens/${approval}`, { status: 'revoked' });
    expect(ended.status).toBe(200);
    expect((await api.as(access).get('/products')).status).toBe(401);
    expect((await api.get(`/tokens/${consent}`)).body.data.status).toBe('ended');
    expect((await api.patch(`/tokens/${consent}`, { status: 'revoked' })).status).toBe(200);
  });
});
