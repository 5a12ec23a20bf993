// Who lets whom in, and who may not: through the interface, with what the database and the audit
// trail have of it afterwards.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newKey } from '../../test/kit/api.ts';
import { AuditTrail } from '../../test/kit/audit.ts';
import { type Environment, startEnvironment } from '../../test/kit/environment.ts';
import { scopesOfRole } from '../access/roles.ts';
import { hashToken } from '../access/token.ts';
import { scopes } from '../resources.ts';

let service: Environment;
let trail: AuditTrail;

beforeAll(async () => {
  service = await startEnvironment();
  trail = new AuditTrail(service.db);
});
afterAll(async () => {
  await trail.database.close();
  await service.stop();
});

async function shop() {
  const merchant = await service.given.merchant();
  const caller = async (may: Parameters<typeof service.given.credential>[1] = {}) => {
    const given = await service.given.credential(merchant, may);
    return { ...service.api.as(given.token), ...given, api: service.api.as(given.token) };
  };
  const { api, id } = await caller();
  const invite = async (body: object) => (await api.post('/people', body)).body.data;
  return { merchant, caller, api, id, invite };
}

const rowOf = async (id: string) =>
  (
    await service.db.sql<Record<string, unknown>>('select * from credentials where id = $1', [id])
  )[0];

describe('an invitation', () => {
  test('is in the first answer, and the database has its hash alone, for ten minutes', async () => {
    const { api, merchant, id: inviter } = await shop();
    const { body, status } = await api.post('/people', { name: 'Ada', role: 'owner' });
    expect(status).toBe(201);
    const { id, invitation, invitation_expires_at: end, created_at } = body.data;
    expect(invitation).toMatch(/^tb_inv_[0-9A-Za-z]{46}$/);
    expect(Date.parse(end) - Date.parse(created_at)).toBe(600_000);
    expect(body.data).toMatchObject({ role: 'owner', scopes, status: 'invited', version: 1 });
    expect(await rowOf(id)).toMatchObject({
      merchant_id: merchant,
      invitation_hash: hashToken(invitation),
      role: 'owner',
    });
    const dump = JSON.stringify([
      await rowOf(id),
      await service.db.sql('select * from operations where merchant_id = $1', [merchant]),
      await trail.lines(),
    ]);
    expect(dump).not.toContain(invitation.slice(7));
    expect((await trail.lines('person.invite')).at(-1)).toMatchObject({
      ...{ credential_id: id, by_credential_id: inviter, merchant_id: merchant, role: 'owner' },
      operation_id: body.meta.operation_id,
    });
    const shown = (await api.get(`/people/${id}`)).body.data;
    expect(shown).toEqual({ ...body.data, invitation: null });
  });

  test('that is sent again with its key names the person, without the invitation', async () => {
    const { api } = await shop();
    const key = newKey();
    const asked = { name: 'Ada', role: 'keeper' };
    const all = await Promise.all(
      Array.from({ length: 8 }, () => api.post('/people', asked, { key })),
    );
    expect(new Set(all.map(({ body }) => body.data.id)).size).toBe(1);
    const replayed = (answer: (typeof all)[number]) => answer.headers.get('idempotent-replayed');
    const [first, ...others] = all.sort((a, b) =>
      String(replayed(a)).localeCompare(String(replayed(b))),
    );
    expect([replayed(first as never), first?.body.data.invitation]).toEqual([
      null,
      expect.stringMatching(/^tb_inv_/),
    ]);
    for (const other of others) {
      expect([replayed(other), other.body.data.invitation]).toEqual(['true', null]);
    }
    expect((await api.get('/people')).body.data).toHaveLength(1);
    const changed = await api.post('/people', { ...asked, role: 'owner' }, { key });
    expect(changed.code).toBe('idempotency_key_reused');
  });

  test('again is of the same person, ends the one before, and ends a revocation', async () => {
    const { api, invite } = await shop();
    const ada = await invite({ name: 'Ada', role: 'viewer' });
    expect((await api.patch(`/people/${ada.id}`, { status: 'revoked' })).body.data).toMatchObject({
      ...{ status: 'revoked', version: 2, invitation_expires_at: null },
      revoked_at: expect.any(String),
    });
    expect(await rowOf(ada.id)).toMatchObject({ invitation_hash: null });
    const again = await api.post(`/people/${ada.id}/invite`, { role: 'keeper' });
    expect(again.body.data).toMatchObject({
      ...{ id: ada.id, status: 'invited', version: 3, role: 'keeper', revoked_at: null },
      scopes: scopesOfRole('keeper'),
    });
    const { invitation } = again.body.data;
    expect(invitation).not.toBe(ada.invitation);
    const row = await rowOf(ada.id);
    expect(row).toMatchObject({ invitation_hash: hashToken(invitation) });
    const third = await api.post(`/people/${ada.id}/invite`, {});
    expect((await rowOf(ada.id))?.invitation_hash).toEqual(hashToken(third.body.data.invitation));
    expect(+((await rowOf(ada.id))?.invited_at as Date)).toBeGreaterThan(
      +(row?.invited_at as Date),
    );
  });
});

describe('nobody', () => {
  test('gives a scope that he does not hold, by a role or by a change of it', async () => {
    const { caller, invite } = await shop();
    const own = ['access.write', 'access.read', ...scopesOfRole('cashier')];
    const { api } = await caller({ scopes: own });
    const refused = await api.post('/people', { name: 'Ada', role: 'keeper' });
    expect([refused.status, refused.code]).toEqual([403, 'insufficient_scope']);
    expect(refused.body.error.details).toEqual([
      expect.objectContaining({ field: 'role', scope: 'products.write' }),
    ]);
    const made = await api.post('/people', { name: 'Ada', role: 'cashier' });
    expect(made.status).toBe(201);
    const raised = await api.patch(`/people/${made.body.data.id}`, { role: 'owner' });
    expect(raised.code).toBe('insufficient_scope');
    const keeper = await invite({ name: 'Grace', role: 'keeper' });
    for (const body of [{ role: 'viewer' }, { status: 'revoked' }, { name: 'G' }]) {
      const answer = await api.patch(`/people/${keeper.id}`, body);
      expect([answer.status, answer.code]).toEqual([403, 'insufficient_scope']);
    }
    expect((await api.post(`/people/${keeper.id}/invite`, {})).code).toBe('insufficient_scope');
  });

  test('gives a location that he does not have, or sees who has more', async () => {
    const { merchant, caller, api: all, invite } = await shop();
    const [here, there] = await Promise.all([1, 2].map(() => service.given.location(merchant)));
    const { api } = await caller({ locations: [here ?? ''] });
    const ask = (body: object) => api.post('/people', { name: 'Ada', role: 'viewer', ...body });
    expect((await ask({ location_ids: [there] })).code).toBe('location_not_granted');
    expect((await ask({ all_locations: true })).code).toBe('location_not_granted');
    expect((await ask({ all_locations: true, location_ids: [here] })).code).toBe(
      'validation_failed',
    );
    const made = await ask({ location_ids: [here, here] });
    expect(made.body.data).toMatchObject({ all_locations: false, location_ids: [here] });
    const elsewhere = await invite({ name: 'Grace', role: 'viewer', location_ids: [there] });
    const everywhere = await invite({ name: 'Alan', role: 'viewer', all_locations: true });
    const listed = (await api.get('/people')).body.data.map(({ id }: { id: string }) => id);
    expect(listed).toEqual([made.body.data.id]);
    for (const { id } of [elsewhere, everywhere]) {
      expect((await api.get(`/people/${id}`)).status).toBe(404);
      expect((await api.patch(`/people/${id}`, { status: 'revoked' })).status).toBe(404);
    }
    const path = `/people/${made.body.data.id}`;
    const moved = await all.patch(path, { all_locations: true });
    expect(moved.body.data).toMatchObject({ all_locations: true, location_ids: [] });
    expect((await api.get(path)).status).toBe(404);
    const back = await all.patch(path, { location_ids: [there] });
    expect(back.body.data).toMatchObject({ all_locations: false, location_ids: [there] });
  });

  test('takes the name of somebody who works there, however it is written', async () => {
    const { api, invite } = await shop();
    const ada = await invite({ name: 'Ada  Lovelace', role: 'viewer' });
    const taken = await api.post('/people', { name: ' ada lovelace', role: 'viewer' });
    expect([taken.status, taken.code]).toEqual([422, 'name_taken']);
    await api.patch(`/people/${ada.id}`, { status: 'revoked' });
    expect((await api.post('/people', { name: 'ADA LOVELACE', role: 'viewer' })).status).toBe(201);
    expect((await api.post(`/people/${ada.id}/invite`, {})).code).toBe('name_taken');
    const renamed = await api.post(`/people/${ada.id}/invite`, { name: 'Ada L.' });
    expect(renamed.body.data).toMatchObject({ name: 'Ada L.', status: 'invited' });
  });
});

describe('a change', () => {
  test('is refused by another version, and is none when it says what is so', async () => {
    const { api, invite } = await shop();
    const { id } = await invite({ name: 'Ada', role: 'viewer' });
    const stale = { headers: { 'if-match': '"7"' } };
    expect((await api.patch(`/people/${id}`, { name: 'A' }, stale)).code).toBe(
      'precondition_failed',
    );
    expect((await api.patch(`/people/${id}`, { role: 'viewer' })).body.data.version).toBe(1);
    expect((await api.patch(`/people/${id}`, { role: 'keeper' })).body.data.version).toBe(2);
    const changes = await trail.lines('person.change');
    expect(changes.filter(({ credential_id }) => credential_id === id)).toMatchObject([
      { role: 'keeper' },
    ]);
    await api.patch(`/people/${id}`, { status: 'revoked' });
    expect((await api.patch(`/people/${id}`, { status: 'revoked' })).body.data.version).toBe(3);
    expect((await api.patch(`/people/${id}`, { name: 'A' })).code).toBe('access_ended');
  });

  test('never leaves the merchant without an owner', async () => {
    const { api, invite } = await shop();
    const ada = await invite({ name: 'Ada', role: 'owner' });
    for (const body of [{ status: 'revoked' }, { role: 'keeper' }]) {
      const answer = await api.patch(`/people/${ada.id}`, body);
      expect([answer.status, answer.code]).toEqual([422, 'last_owner']);
    }
    const grace = await invite({ name: 'Grace', role: 'owner' });
    expect((await api.patch(`/people/${ada.id}`, { role: 'keeper' })).status).toBe(200);
    expect((await api.patch(`/people/${grace.id}`, { status: 'revoked' })).code).toBe('last_owner');
  });
});
