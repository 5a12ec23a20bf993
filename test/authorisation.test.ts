// Who may do what, over every route: each scope, each merchant, each location, against the answers
// in support/matrix.ts. A route without a row in the matrix fails here.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Contract, successStatus } from '../src/contract/contract.ts';
import { type IdPrefix, mintId } from '../src/core/id.ts';
import { resources, scopes } from '../src/resources.ts';
import { served } from './kit/again.ts';
import { type Answer, type Api, newKey } from './kit/api.ts';
import {
  type Case,
  type Change,
  cases,
  collections,
  freshBody,
  onceId,
  send,
  withoutRequestId,
  writes,
} from './kit/cases.ts';
import { examples } from './kit/examples.ts';
import { extent, extentName, sampleOf, shareOf, timeout } from './kit/extent.ts';
import { matrix, oauthPaths, pages } from './kit/matrix.ts';
import { consolePaths, type Row, sessionPaths } from './kit/matrix-row.ts';
import { createTestMerchant, type TestMerchant } from './kit/merchant.ts';
import { recordsOf } from './kit/mirror.ts';
import { startWholeEnvironment, type WholeEnvironment } from './kit/whole-environment.ts';

let service: WholeEnvironment;
let shop: TestMerchant;
let foreign: TestMerchant;
/** What only the foreign shop has, by the filter that would find it. */
const marks = {
  email: 'zora@foreign.example',
  external_id: 'foreign-7',
  sku: 'FOREIGN-7',
  barcode: '4006381333931',
  code: 'FOREIGN',
  q: 'Zanzibar',
};

beforeAll(async () => {
  service = await startWholeEnvironment();
  shop = await createTestMerchant(service);
  foreign = await createTestMerchant(service, 'Other Shop');
  const { email, external_id, sku, barcode, code, q } = marks;
  const made = await Promise.all([
    foreign.api.post('/customers', { name: q, email, external_id }),
    foreign.api.post('/products', { name: q, sku, barcode, external_id }),
    foreign.api.post('/locations', { name: q, code, external_id }),
  ]);
  expect(made.map(({ status }) => status)).toEqual([201, 201, 201]);
  // A webhook that is sent nothing: everyone who may list webhooks sees it.
  const { path = '', body } = examples['webhooks.update']?.own ?? {};
  expect((await (await caller({ scopes: ['webhooks.write'] })).post(path, body)).status).toBe(201);
});
afterAll(() => service.stop());

function rowOf({ name }: Case): Row {
  const row = matrix[name];
  if (row === undefined) throw new Error(`the matrix has no row for ${name}`);
  return row;
}

/** An answer as the matrix writes it. */
function outcome({ status, code, body }: Answer): string {
  if (code !== undefined) return `${status} ${code}`;
  return Array.isArray(body.data) && body.data.length === 0 ? `${status} none` : `${status}`;
}

async function caller(may: Parameters<typeof service.given.credential>[1] = {}): Promise<Api> {
  return service.api.as((await service.given.credential(shop.merchant, may)).token);
}

const thirdShop = () => createTestMerchant(service, 'Third Shop');

let read: Promise<TestMerchant> | undefined;

function readShop(): Promise<TestMerchant> {
  read ??= thirdShop();
  return read;
}

/** The valid request. For an operation it is one that was done at the first location. */
async function ask(one: Case, at: TestMerchant, api: Api, change: Change = {}): Promise<Answer> {
  if (one.name !== 'operations.get' || change.id !== undefined) return send(one, at, api, change);
  const { body } = await at.api.get(`/inventory/movements/${at.movements[0]}`);
  return send(one, at, api, { ...change, id: body.data.operation_id });
}

/** Names under which a request can mean a resource: IDs, and what a merchant finds them by. */
const isNaming = (name: string) => /(^|_)id$|^(email|sku|barcode|code|q)$/.test(name);

/** Where what is named has an ID that the service chose. */
const isOfId = (place: string) =>
  /^query\.id$|[._](location|product|operation|request|credential)_id$/.test(place);

/** Every place of a request that can name something of a merchant. */
function placesOf(contract: Contract): string[] {
  const places = contract.path.includes('{id}') ? ['path'] : [];
  const named = (prefix: string, properties: object) =>
    Object.keys(properties)
      .filter(isNaming)
      .map((name) => `${prefix}.${name}`);
  if (contract.kind === 'write') {
    const { properties } = contract.body;
    const query = named('query', contract.query?.properties ?? {});
    // A body that says the same as the query names nothing more.
    const body = named('body', properties).filter(
      (place) => !query.includes(place.replace('body', 'query')),
    );
    const lines = properties.lines as unknown as { items: { properties: object } } | undefined;
    const inLines = lines === undefined ? [] : named('body.lines', lines.items.properties);
    return [...places, ...query, ...body, ...inLines, 'header.idempotency-key'];
  }
  if (contract.kind === 'member') return places;
  const filters = named('query', contract.query.properties);
  const key = contract.keyFilter === true ? ['header.idempotency-key'] : [];
  return [...places, ...filters, ...key, 'query.cursor'];
}

describe('the matrix', () => {
  test('has a row for every route and no other', () => {
    expect(Object.keys(matrix).sort()).toEqual(cases.map(({ name }) => name).sort());
  });

  test('agrees with the contracts on path, scope and what a request can name', () => {
    for (const one of cases) {
      const { route, scope, ok, foreign: named } = rowOf(one);
      expect(`${one.method} ${one.contract.path}`).toBe(route);
      expect([route, one.contract.scope]).toEqual([route, scope]);
      expect([route, ok]).toEqual([route, String(successStatus(one.contract))]);
      expect([route, Object.keys(named).sort()]).toEqual([route, placesOf(one.contract).sort()]);
    }
  });
});

describe('outside of the version', () => {
  test('there are the pages and OAuth, and no route that the matrix does not have', () => {
    const versioned = Object.values(matrix).map(({ route }) => {
      const [, path = ''] = route.split(' ');
      return `/api/v1${path.replaceAll(/\{(\w+)\}/g, ':$1')}`;
    });
    const ofConsole = versioned.map((path) => `/console${path}`);
    const expected = new Set([
      ...[...versioned, ...ofConsole, ...pages, ...oauthPaths, ...sessionPaths, ...consolePaths],
    ]);
    const isPart = (path: string) => path.startsWith('/console/assets/');
    expect([...service.paths].some(isPart)).toBe(true);
    const others = [...service.paths].filter((path) => !isPart(path));
    expect(others.sort()).toEqual([...expected].sort());
  });

  test.each(pages)('%s asks for no credential, and judges none', async (path) => {
    const invalid = { authorization: `Bearer ${shop.token}x` };
    for (const headers of [{}, invalid, { authorization: `Bearer ${shop.token}` }]) {
      const { status, body } = await fetch(service.origin + path, { headers });
      await body?.cancel();
      expect([path, status]).toEqual([path, 200]);
    }
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      const { status } = await fetch(service.origin + path, { method });
      expect([method, path, status]).toEqual([method, path, 405]);
    }
  });

  test('no action of the operator’s commands has a route', async () => {
    const nouns = ['merchants', 'credentials', 'applications', 'limits', 'audit'];
    const paths = nouns.flatMap((noun) => [`/${noun}`, `/admin/${noun}`, `/api/v1/${noun}`]);
    for (const path of [...paths, '/metrics', '/admin', '/api', '/api/v2/products', '/oauth']) {
      for (const method of ['GET', 'POST']) {
        const headers = { authorization: `Bearer ${shop.token}` };
        const { status } = await fetch(service.origin + path, { method, headers });
        expect([method, path, status]).toEqual([method, path, 404]);
      }
    }
  });
});

const dataOf = (answer: Answer) => (withoutRequestId(answer) as { data: unknown }).data;

const idPrefixes: readonly IdPrefix[] = [
  ...resources.map(({ prefix }) => prefix),
  ...(['mer_', 'app_', 'req_'] as const),
];

/** Callers by what they hold: each asks every route. */
const holders = new Map<string, Promise<Api>>();

function holderOf(held: readonly string[]): Promise<Api> {
  const name = held.join(' ');
  const known = holders.get(name) ?? caller({ scopes: held });
  holders.set(name, known);
  return known;
}

describe.each(shareOf(cases, 2, 0))(`$name (${extentName})`, (one) => {
  const { scope, shown } = rowOf(one);
  // Those that decide are tried in every run, and some of the others.
  const deciding = [scope ?? [], ...(shown?.withAny ?? [])].flat();
  const others = scopes.filter((name) => !deciding.includes(name));
  const left = [...deciding, ...sampleOf(others, 2)];
  const alone = [...deciding, ...sampleOf(others, 3)];
  const kindsOfIds = sampleOf(idPrefixes, 4);

  test('asks for its scope and no other', async () => {
    const { ok } = rowOf(one);
    const expected = (held: readonly string[]) => {
      if (scope !== null && !held.includes(scope)) return '403 insufficient_scope';
      const isShown = shown?.withAny.some((set) => set.every((name) => held.includes(name)));
      return shown === undefined || isShown === true ? ok : shown.otherwise;
    };
    const sets: (readonly string[])[] = [
      scopes,
      [],
      ...left.map((without) => scopes.filter((name) => name !== without)),
      ...alone.map((name) => [name]),
    ];
    // What needs no scope shows what its caller has done.
    const asking = (held: readonly string[]) =>
      scope === null ? caller({ scopes: held }) : holderOf(held);
    for (const held of sets) {
      const answer = await ask(one, shop, await asking(held));
      expect([held, outcome(answer)]).toEqual([held, expected(held)]);
      if (answer.status !== 403 || scope === null || held.includes(scope)) continue;
      expect(answer.headers.get('www-authenticate')).toBe(
        `Bearer realm="tallybook", error="insufficient_scope", scope="${scope}"`,
      );
      expect(answer.body).not.toHaveProperty('data');
    }
  });

  test('shows and changes what is at a granted location, and nothing elsewhere', async () => {
    // What only reads may share one.
    const own = one.contract.kind === 'write' ? await thirdShop() : await readShop();
    const [first = '', , third = ''] = own.locations;
    const { ok, granted, showsGranted } = rowOf(one);
    const kinds = [
      { locations: 'all', shows: own.locations, expected: ok },
      { locations: [first], shows: [first], expected: granted.asked },
      { locations: [third], shows: [third], expected: granted.another },
      { locations: [], shows: [], expected: granted.none },
    ] as const;
    for (const { locations, shows, expected } of kinds) {
      const { token } = await service.given.credential(own.merchant, { locations });
      const query = one.contract.kind === 'collection' ? { limit: '200' } : {};
      const api = service.api.as(token);
      const key = newKey();
      const id = await onceId(one, own, api, key);
      const before = await recordsOf(service.db, own.merchant);
      const named = id === undefined ? {} : { id, key };
      const answer = await ask(one, own, api, { query, ...named });
      expect([locations, outcome(answer)]).toEqual([locations, expected]);
      if (answer.status >= 400) expect(await recordsOf(service.db, own.merchant)).toEqual(before);
      if (showsGranted !== true || answer.status >= 400) continue;
      const seen = new Set(JSON.stringify(answer.body.data).match(/loc_[0-9a-z]{26}/g));
      const asked = ['/inventory/levels', '/stock'].includes(one.contract.path) ? [first] : shows;
      expect([locations, [...seen].sort()]).toEqual([locations, [...asked].sort()]);
    }
  });

  test('gives one answer for what another merchant has and for what does not exist', async () => {
    const { granted, ok, foreign: places } = rowOf(one);
    const { id: credential } = await service.given.credential(foreign.merchant);
    const { customers, products, locations, movements, operations, merchant } = foreign;
    const ofEach = [customers, products, locations, movements, operations];
    const theirs = ofEach.flatMap((some) => some.slice(0, extent(1, some.length)));
    const minted = [one.contract.resource.prefix, ...kindsOfIds];
    const ids = [...theirs, merchant, credential, ...minted.map((kind) => mintId(kind)), 'x'];
    // Their webhooks may be called meanwhile.
    const records = () => recordsOf(service.db, merchant, 'webhook_progress');
    const before = await records();
    const [here = ''] = shop.locations;
    const callers = [
      { api: await caller(), otherwise: ok },
      { api: await caller({ locations: [here] }), otherwise: granted.asked },
      { api: await caller({ locations: [] }), otherwise: granted.none },
    ];
    for (const [place, expected] of Object.entries(places)) {
      if (place !== 'path' && !isOfId(place)) continue;
      for (const { api, otherwise } of callers) {
        const answers = await Promise.all(
          ids.map((id) => served(() => send(one, shop, api, naming(one, place, id)))),
        );
        const outcomes = new Set(answers.map(outcome));
        // A location that is not granted is said before anything about the rest.
        const said = otherwise.startsWith('20') ? expected : otherwise;
        expect([place, outcomes]).toEqual([place, new Set([said])]);
        expect([place, new Set(answers.map(words)).size]).toEqual([place, 1]);
      }
    }
    expect(await records()).toEqual(before);
  });

  test('does not find the names and keys of another merchant', async () => {
    for (const [place, expected] of Object.entries(rowOf(one).foreign)) {
      if (place === 'path' || isOfId(place)) continue;
      const { theirs, ours } = await sendToBoth(one, place);
      expect([place, outcome(theirs)]).toEqual([place, rowOf(one).ok]);
      expect([place, outcome(ours)]).toEqual([place, expected]);
      expect(ours.headers.get('idempotent-replayed')).toBeNull();
      for (const id of [...foreign.customers, ...foreign.products, ...foreign.locations]) {
        expect(JSON.stringify(ours.body)).not.toContain(id);
      }
      if (place !== 'body.external_id' || one.method !== 'PATCH') continue;
      // Upserts name it by what it was.
      const body = { external_id: `${one.contract.resource.noun}-1` };
      for (const at of [shop, foreign]) await send(one, at, at.api, { body });
    }
  });
});

/** A request that names an ID in one place. */
function naming(one: Case, place: string, id: string): Change {
  const [part, name = '', inLine] = place.split('.');
  if (part === 'path') return { id };
  if (part === 'query') return { query: { [name]: id } };
  const body = freshBody(one, shop);
  if (inLine === undefined) return { body: { ...body, [name]: id } };
  const [first, ...lines] = body.lines as object[];
  return { body: { ...body, lines: [{ ...first, [inLine]: id }, ...lines] } };
}

/** What an answer says, without the IDs that differ in every answer. */
function words({ status, body }: Answer): string {
  return JSON.stringify([status, body.data, body.error]);
}

let pairCount = 0;

/** Both merchants send the same request, with one name and one key: first the foreign one. */
async function sendToBoth(one: Case, place: string): Promise<{ theirs: Answer; ours: Answer }> {
  const [part, name = ''] = place.split('.');
  if (name === 'cursor') {
    const theirs = await send(one, foreign, foreign.api, { query: { limit: '1' } });
    const query = { cursor: theirs.body.meta.next_cursor };
    return { theirs, ours: await send(one, shop, shop.api, { query }) };
  }
  if (part === 'query' && one.contract.kind === 'write') {
    pairCount += 1;
    const query = { [name]: `same-${pairCount}` };
    await send(one, foreign, foreign.api, { query });
    const theirs = await send(one, foreign, foreign.api, { query });
    return { theirs, ours: await send(one, shop, shop.api, { query }) };
  }
  if (part === 'query') {
    const query = { [name]: marks[name as keyof typeof marks] };
    const theirs = await send(one, foreign, foreign.api, { query });
    return { theirs, ours: await send(one, shop, shop.api, { query }) };
  }
  if (one.contract.kind !== 'write') {
    const key = newKey();
    await foreign.api.post('/customers', { name: 'A', email: 'a@example.com' }, { key });
    const change = { headers: { 'idempotency-key': key }, query: { type: 'customers.create' } };
    const theirs = await send(one, foreign, foreign.api, change);
    return { theirs, ours: await send(one, shop, shop.api, change) };
  }
  pairCount += 1;
  const value = name === 'email' ? `same.${pairCount}@example.com` : `same-${pairCount}`;
  const key = newKey();
  const named = part === 'body' ? { [name]: value } : {};
  const ask = (at: TestMerchant) => ({ key, body: { ...freshBody(one, at), ...named } });
  const theirs = await send(one, foreign, foreign.api, ask(foreign));
  return { theirs, ours: await send(one, shop, shop.api, ask(shop)) };
}

const showGranted = collections.filter((one) => rowOf(one).showsGranted);

describe.each(shareOf(showGranted, 2, 0))(`$name (${extentName})`, (one) => {
  test('shows nothing more by a cursor from when a location was granted', async () => {
    const { id, token } = await service.given.credential(shop.merchant, {
      locations: shop.locations,
    });
    const api = service.api.as(token);
    const first = await send(one, shop, api, { query: { limit: '1' } });
    const query = { cursor: first.body.meta.next_cursor, limit: '200' };
    expect(outcome(await send(one, shop, api, { query }))).toBe('200');
    await service.db.sql(`update credentials set location_ids = '{}' where id = $1`, [id]);
    const next = await send(one, shop, api, { query });
    expect(outcome(next)).toBe(rowOf(one).granted.none);
    expect(JSON.stringify(next.body)).not.toMatch(/loc_/);
  });
});

describe.each(shareOf(writes, 2, 0))(`$name (${extentName})`, (one) => {
  test('is replayed only to a credential that may still do it', async () => {
    const { id, token } = await service.given.credential(shop.merchant);
    const change = { key: newKey(), body: freshBody(one, shop) };
    const api = service.api.as(token);
    const first = await send(one, shop, api, change);
    await service.db.sql(`update credentials set all_locations = false where id = $1`, [id]);
    const again = await send(one, shop, api, change);
    const { none } = rowOf(one).granted;
    expect(outcome(again)).toBe(none);
    if (none.startsWith('20')) expect(dataOf(again)).toEqual(dataOf(first));
    else expect(again.body).not.toHaveProperty('data');
    await service.db.sql(`update credentials set scopes = '{}' where id = $1`, [id]);
    const lost = await send(one, shop, api, change);
    // What a batch needs is what each of its writes needs.
    const [item] = lost.body.data?.results ?? [];
    expect(item?.error.code ?? lost.code).toBe('insufficient_scope');
  });
});

test('two merchants that ask at the same moments never see each other', { timeout }, async () => {
  const shops = [shop, foreign];
  const known = await Promise.all(shops.map((at) => at.api.get('/products?limit=200')));
  const seen = await Promise.all(
    Array.from({ length: 64 }, async (_, client) => {
      const mixed: unknown[] = [];
      for (let i = 0; i < extent(4, 40); i += 1) {
        const at = shops[(client + i) % 2] ?? shop;
        const products = known[(client + i) % 2]?.body.data;
        const [own, listed] = await Promise.all([
          served(() => at.api.get('/credential')),
          served(() => at.api.get('/products?limit=200')),
        ]);
        if (own.body.data.merchant.id !== at.merchant) mixed.push(own.body);
        if (JSON.stringify(listed.body.data) !== JSON.stringify(products)) mixed.push(listed.body);
      }
      return mixed;
    }),
  );
  expect(seen.flat()).toEqual([]);
});
