// What a webhook is and who may do what with it, through HTTP.

import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, type Api, newKey } from '../../test/kit/api.ts';
import { contentOf, takeBackup } from '../../test/kit/backup.ts';
import { type Environment, startEnvironment, startNode } from '../../test/kit/environment.ts';
import { createTestMerchant, type TestMerchant } from '../../test/kit/merchant.ts';
import { mintId } from '../core/id.ts';
import { limits } from '../core/limits.ts';
import { scopes } from '../resources.ts';

let service: Environment;
let shop: TestMerchant;

beforeAll(async () => {
  service = await startEnvironment();
  shop = await createTestMerchant(service);
});
afterAll(() => service.stop());

const url = 'https://receiver.invalid/hook?password=canary4711';

async function create(api: Api, body: object = {}) {
  const answer = await api.post('/webhooks', { url, ...body });
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body.data;
}

async function callerWith(may: {
  scopes?: readonly string[];
  locations?: 'all' | readonly string[];
}): Promise<Api> {
  return service.api.as((await service.given.credential(shop.merchant, may)).token);
}

/** The last position of the shop. */
async function end(): Promise<string> {
  const [row] = await service.db.sql<{ last: string }>(
    'select max(position)::text as last from operations where merchant_id = $1',
    [shop.merchant],
  );
  return row?.last ?? '0';
}

const faultsOf = ({ status, body }: Answer) => [
  status,
  ...body.error.details.map(({ field, code }: { field: string; code: string }) => [field, code]),
];

async function progressOf(id: string) {
  const [row] = await service.db.sql(
    'select * from webhook_progress where merchant_id = $1 and webhook_id = $2',
    [shop.merchant, id],
  );
  return row ?? {};
}

describe('a new webhook', () => {
  test('begins at the end of the journal, and has no place in it', async () => {
    const last = await end();
    const answer = await shop.api.post('/webhooks', { url });
    expect(answer.body.data).toMatchObject({
      url,
      types: null,
      location_ids: null,
      low_stock: false,
      description: null,
      status: 'active',
      pause_reason: null,
      position: last,
      journal: shop.journal,
      failing_since: null,
      last_status: null,
      version: 1,
    });
    expect(answer.body.meta).not.toHaveProperty('position');
    expect(await end()).toBe(last);
    const operation = await shop.api.get(`/operations/${answer.body.meta.operation_id}`);
    const { id } = answer.body.data;
    expect(operation.body.data).toMatchObject({
      resource: { type: 'webhook', id },
      position: null,
    });
  });

  test('begins where it is told to, in the journal that is named', async () => {
    const journal = { journal: shop.journal };
    expect(await create(shop.api, { from_position: '2', ...journal })).toMatchObject({
      position: '2',
    });
    expect(await create(shop.api, { from_position: '0' })).toMatchObject({ position: '0' });
    const post = (body: object) => shop.api.post('/webhooks', { url, ...body });
    const unnamed = await post({ from_position: '2' });
    expect(faultsOf(unnamed)).toEqual([422, ['journal', 'required']]);
    const beyond = `${Number(await end()) + 1}`;
    const mismatches = [
      { from_position: beyond, ...journal },
      { from_position: '2', journal: mintId('jrn_') },
    ];
    const fields = ['from_position', 'journal'];
    for (const [index, body] of mismatches.entries()) {
      expect(faultsOf(await post(body))).toEqual([422, [fields[index], 'journal_mismatch']]);
    }
  });

  test('names each of its types and locations once', async () => {
    const [one = '', two = ''] = shop.locations;
    const made = await create(shop.api, {
      types: ['product.updated', 'customer.created', 'product.updated'],
      location_ids: [two, one, two],
    });
    expect(made.types).toEqual(['customer.created', 'product.updated']);
    expect(made.location_ids).toEqual([one, two].sort());
    expect((await create(shop.api, { types: [] })).types).toBeNull();
  });

  test('is refused with what is wrong, field by field', async () => {
    const post = (body: object) => shop.api.post('/webhooks', body);
    const wrong: [object, string, string][] = [
      [{}, 'url', 'required'],
      [{ url: 'https://10.0.0.1/' }, 'url', 'value_not_allowed'],
      [{ url: 'https://a:b@example.com/' }, 'url', 'value_not_allowed'],
      [{ url: `https://example.com/${'x'.repeat(2_000)}` }, 'url', 'too_long'],
      [{ url, types: ['order.created'] }, 'types.0', 'value_not_allowed'],
      [{ url, types: ['webhook.test'] }, 'types.0', 'value_not_allowed'],
      [{ url, location_ids: [] }, 'location_ids', 'value_not_allowed'],
      [{ url, status: 'off' }, 'status', 'value_not_allowed'],
      [{ url, secret: 'whsec_x' }, 'secret', 'unknown_field'],
    ];
    for (const [body, field, code] of wrong) {
      expect(faultsOf(await post(body))).toEqual([422, [field, code]]);
    }
  });

  test('is for granted locations only, and others are as good as none', async () => {
    const [granted = '', other = ''] = shop.locations;
    const api = await callerWith({ locations: [granted] });
    expect((await create(api, { location_ids: [granted] })).location_ids).toEqual([granted]);
    const post = (by: Api, id: string) =>
      by.post('/webhooks', { url, location_ids: [granted, id] });
    const answers = [
      await post(api, other),
      await post(api, mintId('loc_')),
      await post(shop.api, mintId('loc_')),
      await post(shop.api, 'x'),
    ];
    for (const { status, code } of answers) {
      expect([status, code]).toEqual([403, 'location_not_granted']);
    }
    const made = await create(api);
    const patched = await api.patch(`/webhooks/${made.id}`, { location_ids: [other] });
    expect(patched.code).toBe('location_not_granted');
  });

  test('is one of so many active ones at most', async () => {
    const merchant = await service.given.merchant();
    const api = service.api.as((await service.given.credential(merchant)).token);
    const made = await Promise.all(
      Array.from({ length: limits.webhooksActiveMax }, () => create(api)),
    );
    const [first] = made;
    const refused = await api.post('/webhooks', { url });
    expect([refused.status, refused.code]).toEqual([422, 'webhook_limit_reached']);
    const paused = await create(api, { status: 'paused' });
    const resume = () => api.patch(`/webhooks/${paused.id}`, { status: 'active' });
    expect((await resume()).code).toBe('webhook_limit_reached');
    expect((await api.patch(`/webhooks/${first.id}`, { status: 'paused' })).status).toBe(200);
    expect((await resume()).status).toBe(200);
  });
});

describe('only the credential that made it', () => {
  test('changes a webhook, tests it, redelivers, and reads its secret', async () => {
    const { id } = await create(shop.api);
    const other = await callerWith({});
    const before = await progressOf(id);
    const asks: (readonly [string, string, object])[] = [
      ['PATCH', '', { url: 'https://example.org/stolen' }],
      ['POST', '/test', {}],
      ['POST', '/redeliver', { from_position: '0' }],
    ];
    const bodies = new Set<string>();
    for (const [method, path, body] of asks) {
      for (const name of [id, mintId('whk_')]) {
        const ask = `/webhooks/${name}${path}`;
        const answer = await other.send(method, ask, JSON.stringify(body), { key: newKey() });
        expect([ask, answer.status]).toEqual([ask, 404]);
        bodies.add(JSON.stringify(answer.body.error));
      }
    }
    expect(bodies.size).toBe(1);
    expect((await other.get(`/webhooks/${id}/secret`)).status).toBe(404);
    expect((await other.get(`/webhooks/${id}`)).body.data.version).toBe(1);
    expect(await progressOf(id)).toEqual(before);
  });

  test('sees the query of its URL', async () => {
    const { id } = await create(shop.api);
    const other = await callerWith({});
    const [plain] = url.split('?');
    expect((await shop.api.get(`/webhooks/${id}`)).body.data.url).toBe(url);
    expect((await other.get(`/webhooks/${id}`)).body.data.url).toBe(plain);
    const listed = await other.get('/webhooks?limit=200');
    expect(listed.body.data.map((one: { id: string }) => one.id)).toContain(id);
    expect(JSON.stringify(listed.body)).not.toContain('canary4711');
  });

  test('keeps it when its token is rotated', async () => {
    const { id: credential, token } = await service.given.credential(shop.merchant);
    const { id } = await create(service.api.as(token));
    const next = await service.given.credential(shop.merchant);
    await service.db.sql(
      'update credential_tokens set credential_id = $1 where credential_id = $2',
      [credential, next.id],
    );
    const answer = await service.api.as(next.token).patch(`/webhooks/${id}`, { status: 'paused' });
    expect(answer.status).toBe(200);
  });
});

describe('a credential with less reach', () => {
  const visible = async (api: Api, id: string) => {
    const { status } = await api.get(`/webhooks/${id}`);
    const deliveries = await api.get(`/webhooks/${id}/deliveries`);
    const { body } = await api.get('/webhooks?limit=200');
    const isListed = body.data.some((one: { id: string }) => one.id === id);
    expect([deliveries.status, isListed]).toEqual([status, status === 200]);
    return status === 200;
  };
  const withoutProducts = scopes.filter((scope) => scope !== 'products.read');

  test('sees no webhook of a type that it may not read', async () => {
    const api = await callerWith({ scopes: withoutProducts });
    expect(await visible(api, (await create(shop.api)).id)).toBe(false);
    const ofProducts = await create(shop.api, { types: ['product.created'] });
    expect(await visible(api, ofProducts.id)).toBe(false);
    const ofCustomers = await create(shop.api, { types: ['customer.created'] });
    expect(await visible(api, ofCustomers.id)).toBe(true);
    const equal = await callerWith({ scopes: withoutProducts });
    expect(await visible(api, (await create(equal)).id)).toBe(true);
  });

  test('sees one of what runs out if it may read inventory, whatever else it may not', async () => {
    const low = await create(shop.api, { low_stock: true });
    const clerk = await callerWith({ scopes: ['webhooks.read', 'inventory.read'] });
    const guest = await callerWith({ scopes: ['webhooks.read', 'products.read'] });
    expect([await visible(clerk, low.id), await visible(guest, low.id)]).toEqual([true, false]);
    const all = await create(shop.api, { low_stock: false });
    expect(await visible(clerk, all.id)).toBe(false);
  });

  test('sees no webhook of a location that is not granted to it', async () => {
    const [one = '', two = ''] = shop.locations;
    const api = await callerWith({ locations: [one] });
    expect(await visible(api, (await create(shop.api)).id)).toBe(false);
    const ofBoth = await create(shop.api, { location_ids: [one, two] });
    expect(await visible(api, ofBoth.id)).toBe(false);
    const ofOne = await create(shop.api, { location_ids: [one] });
    expect(await visible(api, ofOne.id)).toBe(true);
    const equal = await callerWith({ locations: [one] });
    expect(await visible(api, (await create(equal)).id)).toBe(true);
    const wider = await callerWith({ locations: [one, two] });
    expect(await visible(api, (await create(wider)).id)).toBe(false);
  });
});

describe('a change', () => {
  test('of nothing keeps the version, and of something ends what is under way', async () => {
    const made = await create(shop.api, { description: 'One', types: ['customer.created'] });
    const path = `/webhooks/${made.id}`;
    const { epoch } = await progressOf(made.id);
    const same = await shop.api.patch(path, { description: 'One', types: ['customer.created'] });
    expect(same.body.data).toEqual(made);
    expect((await progressOf(made.id)).epoch).toBe(epoch);
    const changed = await shop.api.patch(path, { description: null, types: null });
    expect(changed.body.data).toMatchObject({ description: null, types: null, version: 2 });
    expect(Number((await progressOf(made.id)).epoch)).toBe(Number(epoch) + 1);
  });

  test('pauses it and resumes it, and then what failed is due at once', async () => {
    const { id, position } = await create(shop.api);
    const failures = [
      {
        ...{ event_id: mintId('evt_'), position: '1', tries: 7, status: 500, failure: 'status' },
        ...{ next_at: '2030-01-01T00:00:00.000Z', at: '2026-01-01T00:00:00.000Z' },
      },
    ];
    await service.db.sql(
      `update webhook_progress set failures = $2, failing_since = now(), lease_holder = 'x',
         lease_ends_at = now() where webhook_id = $1`,
      [id, JSON.stringify(failures)],
    );
    const patch = (body: object) => shop.api.patch(`/webhooks/${id}`, body);
    const paused = await patch({ status: 'paused' });
    expect(paused.body.data).toMatchObject({ status: 'paused', pause_reason: 'requested' });
    expect(paused.body.data.failing_since).not.toBeNull();
    const active = await patch({ status: 'active' });
    expect(active.body.data).toMatchObject({
      ...{ status: 'active', pause_reason: null, failing_since: null, position },
    });
    const { body } = await shop.api.get(`/webhooks/${id}/deliveries`);
    expect(body.data.failures).toEqual([{ ...failures[0], tries: 0, next_at: null }]);
    expect(await progressOf(id)).toMatchObject({ lease_holder: null, lease_ends_at: null });
  });

  test('moves it in the journal, and forgets failures', async () => {
    const { id } = await create(shop.api);
    const patch = (body: object) => shop.api.patch(`/webhooks/${id}`, body);
    const fail = () =>
      service.db.sql(`update webhook_progress set failures = '[{}]' where webhook_id = $1`, [id]);
    await fail();
    const { journal } = shop;
    const back = await patch({ from_position: '1', journal });
    expect(back.body.data).toMatchObject({ position: '1', version: 2 });
    expect((await progressOf(id)).failures).toEqual([]);
    expect(faultsOf(await patch({ from_position: '999', journal }))).toEqual([
      422,
      ['from_position', 'journal_mismatch'],
    ]);
    await patch({ status: 'paused' });
    await fail();
    const again = await shop.api.post(`/webhooks/${id}/redeliver`, { from_position: '3', journal });
    expect([again.status, again.headers.get('location')]).toEqual([200, null]);
    expect(again.body.data).toMatchObject({
      ...{ position: '3', status: 'active', pause_reason: null, version: 4 },
    });
    expect((await shop.api.get(`/webhooks/${id}`)).body.data).toEqual(again.body.data);
    expect((await progressOf(id)).failures).toEqual([]);
  });

  test('keeps how far deliveries have come meanwhile', async () => {
    const { id } = await create(shop.api, { from_position: '0' });
    await service.db.sql('update webhook_progress set position = 5 where webhook_id = $1', [id]);
    const answer = await shop.api.patch(`/webhooks/${id}`, { description: 'Two' });
    expect(answer.body.data.position).toBe('5');
  });
});

describe('the secret', () => {
  const secretOf = async (id: string) => (await shop.api.get(`/webhooks/${id}/secret`)).body.data;

  test('is made here, and the old one signs along for a day when it is rotated', async () => {
    const { id } = await create(shop.api);
    const first = await secretOf(id);
    expect(first).toEqual({
      secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
      previous: null,
    });
    const key = newKey();
    const rotate = () => shop.api.patch(`/webhooks/${id}`, { rotate_secret: true }, { key });
    expect((await rotate()).body.data.version).toBe(2);
    expect((await rotate()).body.data.version).toBe(2);
    const second = await secretOf(id);
    expect(second.secret).not.toBe(first.secret);
    expect(second.previous.secret).toBe(first.secret);
    const left = Date.parse(second.previous.expires_at) - Date.now();
    expect(left / 3_600_000).toBeCloseTo(24, 1);
    await service.db.sql(
      'update webhooks set old_secret_ends_at = now() where merchant_id = $1 and id = $2',
      [shop.merchant, id],
    );
    expect(await secretOf(id)).toEqual({ secret: second.secret, previous: null });
  });

  /** All rows, as they are and as a backup has them. */
  async function contentText(): Promise<string> {
    const backup = gunzipSync(await takeBackup(service.db)).toString();
    return JSON.stringify(await contentOf(service.db)) + backup;
  }

  test('is in no row and in no backup', async () => {
    const { id } = await create(shop.api);
    await shop.api.patch(`/webhooks/${id}`, { rotate_secret: true });
    const { secret, previous } = await secretOf(id);
    const content = await contentText();
    expect(content).toContain(id);
    for (const text of [secret, previous.secret].map((one) => one.slice('whsec_'.length))) {
      const bytes = Buffer.from(text, 'base64');
      for (const form of [
        text,
        bytes.toString('hex'),
        Buffer.from(`whsec_${text}`).toString('hex'),
      ]) {
        expect(content).not.toContain(form);
      }
    }
  });

  test('cannot be read once the secret of the service is another, but rotated', async () => {
    const { id } = await create(shop.api);
    const node = await startNode(service.db.serviceUrl, undefined, undefined, 'another secret');
    const api = node.api.as(shop.token);
    const refused = await api.get(`/webhooks/${id}/secret`);
    expect([refused.status, refused.code]).toEqual([409, 'webhook_secret_unreadable']);
    await api.patch(`/webhooks/${id}`, { rotate_secret: true });
    expect((await api.get(`/webhooks/${id}/secret`)).body.data).toMatchObject({ previous: null });
    await node.stop();
  });
});
