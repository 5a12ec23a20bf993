import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Api } from '../../test/kit/api.ts';
import { type Environment, startEnvironment } from '../../test/kit/environment.ts';

let service: Environment;

beforeAll(async () => {
  service = await startEnvironment();
});
afterAll(() => service.stop());

/** A caller of a merchant of its own, so that lists hold only what a test made. */
async function caller(): Promise<Api> {
  const merchant = await service.given.merchant();
  return service.api.as((await service.given.credential(merchant)).token);
}

async function create(api: Api, name: string, members: object = {}): Promise<string> {
  const body = { name, email: 'ada@example.com', ...members };
  const answer = await api.post('/customers', body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body.data.id;
}

/** All IDs that a filter finds, page by page. */
async function idsOf(api: Api, filter = '', limit = 200): Promise<string[]> {
  const ids: string[] = [];
  let cursor = '';
  do {
    const answer = await api.get(`/customers?limit=${limit}${filter}${cursor}`);
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    expect(answer.body.data.length).toBeLessThanOrEqual(limit);
    ids.push(...answer.body.data.map((one: { id: string }) => one.id));
    const next = answer.body.meta.next_cursor;
    cursor = next === undefined ? '' : `&cursor=${encodeURIComponent(next)}`;
  } while (cursor !== '');
  return ids;
}

const q = (words: string) => `&q=${encodeURIComponent(words)}`;

describe('a list of customers', () => {
  test('is by ID, of every status, and ends without a cursor', async () => {
    const api = await caller();
    expect((await api.get('/customers')).body).toMatchObject({ data: [] });
    const ids = [];
    for (let i = 0; i < 5; i += 1) ids.push(await create(api, `c${i}`));
    await api.patch(`/customers/${ids[2]}`, { status: 'archived' });
    expect(await idsOf(api)).toEqual(ids);
    for (const limit of [1, 2, 3, 4, 5, 6]) expect(await idsOf(api, '', limit)).toEqual(ids);
    const whole = await api.get('/customers?limit=5');
    expect(whole.body.meta).not.toHaveProperty('next_cursor');
    const read = await api.get(`/customers/${ids[2]}`);
    expect(whole.body.data[2]).toEqual(read.body.data);
  });

  test("never shows another merchant's", async () => {
    const [one, two] = [await caller(), await caller()];
    const id = await create(one, 'Ada', { external_id: 'e' });
    for (const filter of ['', q('ada'), '&email=ada@example.com', '&external_id=e']) {
      expect(await idsOf(one, filter)).toEqual([id]);
      expect(await idsOf(two, filter)).toEqual([]);
    }
  });

  test('paged through while others are created shows each customer once and in order', async () => {
    const api = await caller();
    const before: string[] = [];
    for (let i = 0; i < 30; i += 1) before.push(await create(api, `before ${i}`));
    let isDone = false;
    const inserting = (async () => {
      while (!isDone) await Promise.all([1, 2, 3].map((i) => create(api, `during ${i}`)));
    })();
    const seen: string[] = [];
    for (let round = 0; round < 5; round += 1) seen.push(...(await idsOf(api, q('before'), 3)));
    const [first = ''] = before;
    const everything: string[] = [];
    let path = '/customers?limit=4';
    for (let page = 0; page < 30; page += 1) {
      const { data, meta } = (await api.get(path)).body;
      everything.push(...data.map((one: { id: string }) => one.id));
      if (meta.next_cursor === undefined) break;
      path = `/customers?limit=4&cursor=${encodeURIComponent(meta.next_cursor)}`;
    }
    isDone = true;
    await inserting;
    expect(seen).toEqual([...before, ...before, ...before, ...before, ...before]);
    expect(everything[0]).toBe(first);
    expect(everything).toEqual([...new Set(everything)].sort());
    expect(everything.filter((id) => before.includes(id))).toEqual(before);
  });

  test('refuses filters it does not know, twice the same, and values that cannot be', async () => {
    const api = await caller();
    const expected = {
      'name=Ada': 'unknown_parameter',
      'status=active&status=archived': 'invalid_parameter',
      'status=gone': 'invalid_parameter',
      'email=ada': 'invalid_parameter',
      'updated_after=yesterday': 'invalid_parameter',
      'q=': 'invalid_parameter',
      'q=%00': 'invalid_parameter',
      'external_id=%0a': 'invalid_parameter',
      [`q=${'x'.repeat(201)}`]: 'invalid_parameter',
    };
    for (const [query, code] of Object.entries(expected)) {
      const answer = await api.get(`/customers?${query}`);
      expect([answer.status, answer.code], query).toEqual([400, code]);
    }
  });

  test('takes a cursor only with the filters it was issued for', async () => {
    const api = await caller();
    for (let i = 0; i < 3; i += 1) await create(api, `c${i}`);
    const { next_cursor: cursor } = (await api.get('/customers?limit=1&status=active')).body.meta;
    const answer = await api.get(`/customers?limit=2&cursor=${cursor}`);
    expect([answer.status, answer.code]).toEqual([400, 'invalid_cursor']);
    expect((await api.get(`/customers?status=active&limit=2&cursor=${cursor}`)).status).toBe(200);
  });
});

describe('filters', () => {
  test('email ignores the case of the domain and of nothing else', async () => {
    const api = await caller();
    const one = await create(api, 'a', { email: 'Ada@Example.COM' });
    const two = await create(api, 'b', { email: 'ada@example.com' });
    expect(await idsOf(api, '&email=Ada@eXample.com')).toEqual([one]);
    expect(await idsOf(api, '&email=ada@EXAMPLE.com')).toEqual([two]);
    expect(await idsOf(api, '&email=ADA@example.com')).toEqual([]);
    const three = await create(api, 'c', { email: 'x@BÜCHER.example' });
    expect(await idsOf(api, `&email=${encodeURIComponent('x@bücher.example')}`)).toEqual([three]);
  });

  test('email, external_id and status find exactly, and all given must hold', async () => {
    const api = await caller();
    const one = await create(api, 'One', { external_id: 'X', email: 'one@example.com' });
    const two = await create(api, 'Two', { external_id: 'x', email: 'one@example.com' });
    await api.patch(`/customers/${two}`, { status: 'archived' });
    const found: Record<string, string[]> = {
      '&external_id=X': [one],
      '&external_id=x': [two],
      '&external_id=x%20': [],
      '&external_id=X&external_id=x&external_id=y': [one, two],
      '&email=one@example.com': [one, two],
      '&status=archived': [two],
      '&status=active': [one],
      '&email=one@example.com&status=archived': [two],
      '&external_id=X&status=archived': [],
      [`${q('one')}&status=archived&email=one@example.com&external_id=x`]: [two],
    };
    for (const [filter, ids] of Object.entries(found)) {
      expect(await idsOf(api, filter, 1), filter).toEqual(ids);
    }
  });

  test('updated_after is inclusive and sees old customers that changed and new ones', async () => {
    const api = await caller();
    const ids = [];
    for (let i = 0; i < 6; i += 1) ids.push(await create(api, `c${i}`));
    const [a, b, c, d, e, f] = ids;
    // The first four are a year old; one of them changed half a year ago and one just now.
    await service.db.sql(
      `update customers set id = 'cus_' || lpad(right(id, 20), 26, '0'),
         created_at = now() - interval '1 year', updated_at = now() - interval '1 year'
       where id = any ($1)`,
      [[a, b, c, d]],
    );
    const [oldA, oldB, oldC, oldD] = [a, b, c, d].map(
      (id) => `cus_${(id ?? '').slice(-20).padStart(26, '0')}`,
    );
    const half = new Date(Date.now() - 180 * 86_400_000).toISOString();
    await service.db.sql('update customers set updated_at = $2 where id = $1', [oldB, half]);
    await api.patch(`/customers/${oldC}`, { note: 'changed' });
    const old = [oldA, oldB, oldC, oldD].sort();
    for (const limit of [1, 2, 200]) {
      const since = (time: string) =>
        idsOf(api, `&updated_after=${encodeURIComponent(time)}`, limit);
      expect(await since('1970-01-01T00:00:00Z')).toEqual([...old, e, f]);
      expect(await since(half)).toEqual([...[oldB, oldC].sort(), e, f]);
      expect(await since(new Date(Date.parse(half) + 1).toISOString())).toEqual([oldC, e, f]);
      const { updated_at } = (await api.get(`/customers/${f}`)).body.data;
      expect(await since(updated_at)).toContain(f);
      expect(await since(updated_at.replace('Z', '000001Z'))).not.toContain(f);
      expect(await since('2999-01-01T00:00:00+14:00')).toEqual([]);
    }
  });

  test('updated_after takes every RFC 3339 time', async () => {
    const api = await caller();
    const id = await create(api, 'Ada');
    const past = ['0001-01-01T00:00:00+23:59', '2000-02-29t23:59:59.123456789z'];
    for (const time of past) {
      expect(await idsOf(api, `&updated_after=${encodeURIComponent(time)}`), time).toEqual([id]);
    }
    for (const time of ['9999-12-31T23:59:59-23:59', '9999-12-31T23:59:59Z']) {
      expect(await idsOf(api, `&updated_after=${encodeURIComponent(time)}`), time).toEqual([]);
    }
  });
});

describe('q', () => {
  test('finds all words as beginnings in name and address, in any order and case', async () => {
    const api = await caller();
    const ada = await create(api, 'Ada Lovelace', { email: 'ada.l@example.com' });
    const alan = await create(api, 'Alan Turing', { email: 'alan@shop.example.com' });
    const zoe = await create(api, "Zoë O'Brien-Ångström", { email: 'zoe+news@mail.org' });
    const found: Record<string, string[]> = {
      ada: [ada],
      'ada love': [ada],
      'LOVE ada': [ada],
      'ada@exa': [ada],
      'ada.l@example.com': [ada],
      'a example': [ada, alan],
      'shop.exa': [alan],
      turing: [alan],
      uring: [],
      'ada turing': [],
      zoe: [zoe],
      'ZOË ang': [zoe],
      "o'br": [zoe],
      'news@mail': [zoe],
      com: [ada, alan],
    };
    for (const [words, ids] of Object.entries(found)) {
      expect(await idsOf(api, q(words), 1), words).toEqual(ids);
    }
  });

  test('follows a change of name and address', async () => {
    const api = await caller();
    const id = await create(api, 'Ada Byron');
    await api.patch(`/customers/${id}`, { name: 'Ada King', email: 'king@example.org' });
    for (const words of ['byron', 'com']) expect(await idsOf(api, q(words))).toEqual([]);
    for (const words of ['king', 'org']) expect(await idsOf(api, q(words))).toEqual([id]);
  });

  test('of signs alone finds nothing, and no sign means anything', async () => {
    const api = await caller();
    const id = await create(api, 'Ada Lovelace');
    await create(api, 'Alan Turing', { email: 'alan@example.com' });
    const nothing = [`'`, `"`, ':*', '!', '&', '|', '()', '<->', '\\', '%', '*', '👍🏽', '…', ' '];
    for (const words of [...nothing, nothing.join('')]) {
      expect(await idsOf(api, q(words)), words).toEqual([]);
    }
    const ada = [`ada'`, `'ada'`, '!ada', 'ada:*', 'ada & love', 'ada<->love', '(ada', `ada\\`];
    for (const words of [...ada, 'ada %', 'ada:A', 'ada love 👍', `ada'; --`]) {
      expect(await idsOf(api, q(words)), words).toEqual([id]);
    }
    for (const words of ['ada | alan', '!ada alan', 'ada or turing']) {
      expect(await idsOf(api, q(words)), words).toEqual([]);
    }
  });

  test('takes every character there is without an error', async () => {
    const api = await caller();
    let batch = '';
    for (let point = 0x20; point < 0x30000; point += point < 0x3000 ? 1 : 257) {
      if (point >= 0xd800 && point <= 0xdfff) continue;
      batch += String.fromCodePoint(point);
      if ([...batch].length < 199) continue;
      const answer = await api.get(`/customers?q=${encodeURIComponent(batch)}`);
      expect([200, 400, 414]).toContain(answer.status);
      await create(api, `x${[...batch].join('').replace(/\p{Cc}/gu, '')}`);
      batch = '';
    }
    expect((await idsOf(api, q('x'), 7)).length).toBeGreaterThan(10);
  });
});
