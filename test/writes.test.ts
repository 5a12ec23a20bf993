// What every write promises, derived from its contract: keys, bodies, replays and refusals.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bodyLimitsOf, isUpsert, successStatus } from '../src/contract/contract.ts';
import { mintId } from '../src/core/id.ts';
import { type Answer, type Api, newKey } from './kit/api.ts';
import { freshBody, pathOf, send, withoutRequestId, writes } from './kit/cases.ts';
import { type Environment, startEnvironment } from './kit/environment.ts';
import { extentName, shareOf } from './kit/extent.ts';
import { createTestMerchant, type TestMerchant } from './kit/merchant.ts';
import { exchange } from './kit/raw.ts';

let service: Environment;
let shop: TestMerchant;

beforeAll(async () => {
  service = await startEnvironment();
  shop = await createTestMerchant(service);
});
afterAll(() => service.stop());

const faultsOf = (answer: Answer): [string, string][] =>
  answer.body.error.details.map((one: { field: string; code: string }) => [one.field, one.code]);

const isReplay = (answer: Answer): boolean => answer.headers.get('idempotent-replayed') === 'true';

async function otherCaller(): Promise<Api> {
  return service.api.as((await service.given.credential(shop.merchant)).token);
}

test('one key serves every kind of write once, for every credential', async () => {
  const key = newKey();
  const operations = new Set<string>();
  for (const api of [shop.api, await otherCaller()]) {
    for (const one of writes) {
      const answer = await send(one, shop, api, { key });
      expect([one.name, answer.status]).toEqual([one.name, successStatus(one.contract)]);
      expect(isReplay(answer)).toBe(false);
      operations.add(answer.body.meta.operation_id);
    }
  }
  expect(operations.size).toBe(2 * writes.length);
});

/** Members of which one must be there, by the one that is asked for. */
const oneOfSeveral: Readonly<Record<string, readonly string[]>> = {
  'inventory.transfer': ['from_location_id'],
};

describe.each(shareOf(writes, 2, 0))(`$name (${extentName})`, (one) => {
  const { contract, method } = one;
  const ok = successStatus(contract);
  const schema = contract.body as unknown as {
    properties: Record<string, { type?: string; maxLength?: number; anyOf?: { type: string }[] }>;
    required?: string[];
  };
  const required = schema.required ?? [];

  test('needs an Idempotency-Key of 16 to 255 visible ASCII characters', async () => {
    const path = pathOf(one, shop);
    const missing = await shop.api.send(method, path, JSON.stringify(freshBody(one, shop)));
    expect([missing.status, missing.code]).toEqual([400, 'idempotency_key_required']);
    expect(faultsOf(missing)).toEqual([['header.idempotency-key', 'required']]);
    const bad = ['', 'k'.repeat(15), 'k'.repeat(256), `${newKey()} x`, `${newKey()}\tx`];
    for (const key of [...bad, `${newKey()}\u00e9`, `${newKey()}\u00a0x`]) {
      const answer = await send(one, shop, shop.api, { key });
      expect([key, answer.status, answer.code]).toEqual([key, 400, 'idempotency_key_invalid']);
      expect(faultsOf(answer)).toEqual([['header.idempotency-key', 'invalid_format']]);
    }
    const long = newKey().padEnd(255, '~');
    for (const key of [newKey().slice(0, 16), long, '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~']) {
      const answer = await send(one, shop, shop.api, { key: key });
      expect([key, answer.status]).toEqual([key, ok]);
    }
  });

  test('judges the bytes of the key, and refuses two of them', async () => {
    const ask = (lines: string) => {
      const body = JSON.stringify(freshBody(one, shop));
      const head = `${method} /api/v1${pathOf(one, shop)} HTTP/1.1\r\nHost: x\r\n`;
      const type = `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}`;
      const text = `${head}Authorization: Bearer ${shop.token}\r\n${type}\r\n${lines}\r\n${body}`;
      return exchange(service.api.origin, [Buffer.from(text, 'latin1')]);
    };
    const key = newKey();
    for (const bad of ['\u00e9', '\u0080', '\u00ff']) {
      const { answers } = await ask(`Idempotency-Key: ${key}${bad}\r\n`);
      expect(answers[0]?.json.error.code).toBe('idempotency_key_invalid');
    }
    const twice = await ask(`Idempotency-Key: ${key}\r\nidempotency-key: ${key}\r\n`);
    expect([twice.answers[0]?.status, twice.answers[0]?.json.error.code]).toEqual([
      400,
      'malformed_request',
    ]);
    const { answers } = await ask(`Idempotency-Key: ${key}\r\n`);
    expect(answers[0]?.status).toBe(ok);
  });

  test('takes the key as it is: quotes and letter case make another one', async () => {
    const key = `Key-${newKey()}`;
    for (const other of [key, `"${key}"`, key.toLowerCase()]) {
      const answer = await send(one, shop, shop.api, { key: other });
      expect([other, answer.status, isReplay(answer)]).toEqual([other, ok, false]);
    }
  });

  test('takes exactly one media type', async () => {
    const bad = ['text/plain', 'application/x-www-form-urlencoded', 'application/merge-patch+json'];
    const worse = ['application/json; charset=latin1', 'application/jsonp', 'json', ''];
    for (const type of [...bad, ...worse]) {
      const answer = await send(one, shop, shop.api, { headers: { 'content-type': type } });
      expect([type, answer.status, answer.code]).toEqual([type, 415, 'unsupported_media_type']);
    }
    const coded = await send(one, shop, shop.api, { headers: { 'content-encoding': 'gzip' } });
    expect([coded.status, coded.code]).toEqual([415, 'unsupported_media_type']);
    for (const type of ['application/json', 'APPLICATION/JSON; charset="UTF-8"']) {
      const answer = await send(one, shop, shop.api, { headers: { 'content-type': type } });
      expect([type, answer.status]).toEqual([type, ok]);
    }
  });

  test('takes one strict JSON object, no larger than its contract says', async () => {
    const bad = ['', ' ', '{', '[]', '"x"', 'null', '1', '{}{}', '{"a":1,}', "{'a':1}", '\ufeff{}'];
    const worse = ['{"a":1,"\\u0061":2}', '{"a":"\\ud800"}', '{"__proto__":{}}', '{"a":1e999}'];
    const deep = `{"a":${'['.repeat(40)}${']'.repeat(40)}}`;
    for (const text of [...bad, ...worse, deep, Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x7d)]) {
      const answer = await send(one, shop, shop.api, { text });
      expect([text, answer.status, answer.code]).toEqual([text, 400, 'invalid_json']);
    }
    const most = bodyLimitsOf(contract).bytes;
    const valid = JSON.stringify(freshBody(one, shop));
    const full = await send(one, shop, shop.api, { text: valid.padEnd(most) });
    expect(full.status).toBe(ok);
    const over = await send(one, shop, shop.api, { text: valid.padEnd(most + 1) });
    expect([over.status, over.code]).toEqual([413, 'content_too_large']);
    const size = most === 2 ** 20 ? '1 MiB' : `${most / 2 ** 10} KiB`;
    expect(over.body.error.message).toBe(`The body is larger than this route takes: ${size}.`);
  });

  test('refuses members that it does not know or sets itself, and names all at once', async () => {
    const body = { ...freshBody(one, shop), colour: 'red', created_at: '2026', id: 'x' };
    const answer = await send(one, shop, shop.api, { body });
    expect([answer.status, answer.code]).toEqual([422, 'validation_failed']);
    const known = Object.keys((contract.data as unknown as typeof schema).properties);
    expect(faultsOf(answer).sort()).toEqual([
      ['colour', 'unknown_field'],
      ['created_at', known.includes('created_at') ? 'read_only' : 'unknown_field'],
      ['id', 'read_only'],
    ]);
  });

  test('names every member that is missing, of another type or too long', async () => {
    const key = newKey();
    const empty = await send(one, shop, shop.api, { body: {}, key });
    expect(empty.status).toBe(required.length === 0 ? ok : 422);
    if (required.length > 0) {
      const missing = [...required, ...(oneOfSeveral[one.name] ?? [])];
      expect(faultsOf(empty).sort()).toEqual(missing.map((name) => [name, 'required']).sort());
    }
    const nulls = Object.fromEntries(required.map((name) => [name, null]));
    const nothing = await send(one, shop, shop.api, {
      body: { ...freshBody(one, shop), ...nulls },
    });
    expect(nothing.status).toBe(required.length === 0 ? ok : 422);
    const members = Object.entries(schema.properties);
    const wrong = Object.fromEntries(members.map(([name]) => [name, [1]]));
    const mistyped = await send(one, shop, shop.api, { body: wrong });
    expect([mistyped.status, mistyped.code]).toEqual([422, 'validation_failed']);
    expect(new Set(faultsOf(mistyped).map(([field]) => field.split('.')[0]))).toEqual(
      new Set(Object.keys(schema.properties)),
    );
    const limited = members.filter(([, member]) => member.maxLength !== undefined);
    for (const [name, { maxLength = 0 }] of limited) {
      const body = { ...freshBody(one, shop), [name]: 'x'.repeat(maxLength + 1) };
      const answer = await send(one, shop, shop.api, { body });
      expect([name, answer.status]).toEqual([name, 422]);
      expect(faultsOf(answer).map(([field]) => field)).toEqual([name]);
    }
  });

  test('binds no key to a refusal of the request itself', async () => {
    const key = newKey();
    const body = freshBody(one, shop);
    const attempts = [
      { text: '{' },
      { body: { ...body, colour: 'red' } },
      { body, search: 'unknown=1' },
      { body, headers: { 'content-type': 'text/plain' } },
      { body, headers: { accept: 'text/html' } },
    ];
    for (const attempt of attempts) {
      const answer = await send(one, shop, shop.api, { ...attempt, key });
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(answer.body.meta).not.toHaveProperty('operation_id');
    }
    const done = await send(one, shop, shop.api, { body, key });
    expect([done.status, isReplay(done)]).toEqual([ok, false]);
  });

  test('replays the same request: same status, operation and resource', async () => {
    const key = newKey();
    const body = freshBody(one, shop);
    const done = await send(one, shop, shop.api, { body, key });
    expect([done.status, isReplay(done)]).toEqual([ok, false]);
    const reversed = Object.fromEntries(Object.entries(body).reverse());
    const texts = [JSON.stringify(body), JSON.stringify(reversed, null, 2)];
    for (const text of texts) {
      const again = await send(one, shop, shop.api, { text, key });
      expect([again.status, isReplay(again)]).toEqual([ok, true]);
      expect(withoutRequestId(again)).toEqual(withoutRequestId(done));
      expect(again.body.meta.request_id).not.toBe(done.body.meta.request_id);
      expect(again.headers.get('location')).toBe(done.headers.get('location'));
    }
  });

  test('names the resource it created in Location, where it can be read', async () => {
    const answer = await send(one, shop, shop.api);
    const location = answer.headers.get('location');
    if (ok !== 201) {
      expect(location).toBeNull();
      return;
    }
    const path = contract.resource.path.replace('{id}', answer.body.data.id);
    expect(location).toBe(`/api/v1${path}`);
    const read = await shop.api.get(path);
    expect(withoutRequestId(answer)).toMatchObject({ data: read.body.data });
  });

  test('answers 409 to the same key with another request, and does nothing', async () => {
    const key = newKey();
    const done = await send(one, shop, shop.api, { key });
    const before = await counts();
    const others = [freshBody(one, shop), { ...freshBody(one, shop), colour: 'red' }, { x: 1 }];
    for (const body of others) {
      const answer = await send(one, shop, shop.api, { key, body });
      expect([answer.status, answer.code]).toEqual([409, 'idempotency_key_reused']);
      expect(answer.body.error.details[0].operation_id).toBe(done.body.meta.operation_id);
    }
    expect(await counts()).toEqual(before);
  });

  test('judges the message, and the location, before the key is looked up', async () => {
    const key = newKey();
    await send(one, shop, shop.api, { key });
    const broken = await send(one, shop, shop.api, { key, text: '{' });
    expect([broken.status, broken.code]).toEqual([400, 'invalid_json']);
    const unknown = await send(one, shop, shop.api, { key, search: 'unknown=1' });
    expect([unknown.status, unknown.code]).toEqual([400, 'unknown_parameter']);
    if (schema.properties.location_id === undefined) return;
    const bodies = new Set<string>();
    const { token } = await service.given.credential(shop.merchant, { locations: [] });
    for (const api of [service.api.as(token), shop.api]) {
      const location_id = api === shop.api ? mintId('loc_') : shop.locations[0];
      const body = { ...freshBody(one, shop), location_id };
      const answer = await send(one, shop, api, { key, body });
      expect([answer.status, answer.code]).toEqual([403, 'location_not_granted']);
      bodies.add(JSON.stringify(withoutRequestId(answer)));
    }
    expect(bodies.size).toBe(1);
  });

  test('shows its own answer to a caller who may no more than it needs', async () => {
    const scopes = [contract.scope ?? '', ...(one.example.reads ?? [])];
    const { token } = await service.given.credential(shop.merchant, { scopes });
    const answer = await send(one, shop, service.api.as(token));
    expect(answer.status).toBe(ok);
    expect(answer.body.data.id).toEqual(expect.any(String));
  });

  if (method === 'POST' || isUpsert(contract)) {
    test('takes no If-Match, because nothing may exist yet', async () => {
      const answer = await send(one, shop, shop.api, { headers: { 'if-match': '"1"' } });
      expect([answer.status, answer.code]).toEqual([400, 'malformed_request']);
    });
  } else {
    test('changes only the version that If-Match names, and binds the refusal', async () => {
      const current = await shop.api.get(pathOf(one, shop));
      const tag = `"${current.body.data.version}"`;
      // One that changes without a new version has no tag.
      expect([tag, null]).toContain(current.headers.get('etag'));
      for (const bad of ['*', '7', 'W/"1"', '"1", "2"', '"0"', '"x"', '']) {
        const answer = await send(one, shop, shop.api, { headers: { 'if-match': bad } });
        expect([bad, answer.status, answer.code]).toEqual([bad, 400, 'malformed_request']);
      }
      const change = { headers: { 'if-match': tag }, body: freshBody(one, shop), key: newKey() };
      const done = await send(one, shop, shop.api, change);
      expect([done.status, done.headers.get('etag')]).toEqual([
        200,
        `"${current.body.data.version + 1}"`,
      ]);
      const stale = { headers: { 'if-match': tag }, body: freshBody(one, shop), key: newKey() };
      const refused = await send(one, shop, shop.api, stale);
      expect([refused.status, refused.code]).toEqual([412, 'precondition_failed']);
      const again = await send(one, shop, shop.api, stale);
      expect([isReplay(refused), isReplay(again)]).toEqual([false, true]);
      expect(withoutRequestId(again)).toEqual(withoutRequestId(refused));
      const unmatched = await send(one, shop, shop.api, { ...change, headers: {} });
      expect([unmatched.status, unmatched.code]).toEqual([409, 'idempotency_key_reused']);
    });
  }
});

/** How many rows every table has. */
async function counts() {
  const tables = [
    ...['customers', 'products', 'locations', 'operations', 'inventory_movements'],
    ...['inventory_transfers', 'inventory_counts', 'inventory_last_counts'],
    ...['inventory_reservations', 'inventory_reserved'],
  ];
  const parts = tables.map((table) => `(select count(*) from ${table}) as ${table}`);
  return service.db.sql(
    `select ${parts.join(', ')}, (select sum(version) from customers) as edits`,
  );
}
