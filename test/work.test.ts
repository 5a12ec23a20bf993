// What a request costs in large tables, counted instead of timed: round trips, statements, touched
// rows, and plans. A counted cost is the same on every machine, so a change that makes requests
// more expensive fails here, and not at a customer.

import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Statement } from '../src/core/statement.ts';
import * as customer from '../src/customers/contract.ts';
import { pathOf } from '../src/database/cells.ts';
import { readHappenings } from '../src/events/store.ts';
import * as product from '../src/products/contract.ts';
import { listOf } from '../src/records/list-store.ts';
import { find } from '../src/records/store.ts';
import { type Answer, type Api, newKey } from './kit/api.ts';
import { homeCell } from './kit/cells.ts';
import { createTestDatabase, type TestDatabase } from './kit/database.ts';
import { startNode } from './kit/environment.ts';
import { extent } from './kit/extent.ts';
import { addProducts, createMerchants, hotProduct, settle, single } from './kit/many-rows.ts';
import { submitAdjustment } from './kit/submit.ts';
import { withoutIndexes } from './kit/without-indexes.ts';
import { WorkCounter } from './kit/work.ts';

/** Numbered from 0. With 300,000 and a million, plans and counts are the same. */
const lastProduct = extent(59_999, 299_999);
/** Other merchants, so that the planner expects small merchants. */
const smallMerchants = 300;
/** Movements of the one level that all requests want. */
const depth = 20_000;

const tables = ['products', 'customers', 'operations', 'inventory_levels', 'inventory_movements'];

let db: TestDatabase;
let node: Awaited<ReturnType<typeof startNode>>;
let api: Api;
let token: string;
let location: string;
let credential: string;
let products: readonly string[];
let hot: string;
let journal: string;
const counter = new WorkCounter();

beforeAll(async () => {
  db = await createTestDatabase();
  const owner = await db.session();
  // In this session no trigger and no foreign key checks inserted rows.
  await owner.query("set session_replication_role = 'replica'");
  const small = await createMerchants(owner, smallMerchants);
  const large = await createMerchants(owner, 1);
  await withoutIndexes(owner, tables, async () => {
    await addProducts(owner, small, 20);
    await addProducts(owner, large, lastProduct);
    await owner.query(`update products set external_id = 'shop ' || sku, low_stock_at = 0`);
    hot = hotProduct(large);
    await deepen(owner, single(large).id);
  });
  await settle(owner);
  const { productPrefix } = single(large);
  ({ token, location, credential } = single(large));
  journal = await journalOf(single(large).id);
  products = Array.from(
    { length: 100 },
    (_, n) => productPrefix + String(Math.floor((lastProduct * (n + 1)) / 101)).padStart(6, '0'),
  );
  await start();
  // A connection plans a statement again the first five times.
  for (let n = 0; n < 10; n += 1) await everything(n);
}, 400_000);
afterAll(async () => {
  await node.stop();
  await db.drop();
});

async function journalOf(merchant: string): Promise<string> {
  const [found] = await db.sql<{ id: string }>('select id from journals where merchant_id = $1', [
    merchant,
  ]);
  return found?.id ?? '';
}

async function start(): Promise<void> {
  node = await startNode(db.serviceUrl, (database) => counter.watch(database));
  api = node.api.as(token);
}

/** A level that has moved often, like that of a product that sells well. */
async function deepen(owner: pg.Client, merchant: string): Promise<void> {
  const id = `'imv_1' || lpad(n::text, 25, '0')`;
  await owner.query(
    `insert into inventory_movements (merchant_id, id, product_id, location_id, sequence, type,
       reason, quantity_before, quantity_delta, quantity_after, operation_id, position, line,
       credential_id, actor_kind, recorded_at)
     select merchant_id, ${id}, product_id, location_id, n, 'adjustment', 'correction',
       quantity + n - 2, 1, quantity + n - 1, 'op_none', 1, n, 'cred_none',
       'personal_access_token', now()
     from inventory_levels, generate_series(2, ${depth}) n
     where merchant_id = $1 and product_id = $2`,
    [merchant, hot],
  );
  await owner.query(
    `update inventory_levels set quantity = quantity + ${depth} - 1, sequence = ${depth},
       last_movement_id = (select ${id} from (values (${depth})) v (n))
     where merchant_id = $1 and product_id = $2`,
    [merchant, hot],
  );
}

let target = 1_000_000;

function body(product: string) {
  target += 1;
  return {
    product_id: product,
    location_id: location,
    target_quantity: `${target}`,
    reason: 'correction',
  };
}

function adjust(product: string, ask: { key?: string } = {}): Promise<Answer> {
  return api.post('/inventory/adjustments', body(product), ask);
}

/** The place in the middle of the journal, in the words of a parameter. */
const middle = (name: string) => `${name}=${Math.floor(lastProduct / 2)}&journal=${journal}`;

const rareEvents = () => `/events?product_id=${hot}&`;

/** Reads that name a place in the journal: each must be cheap wherever that is. */
const placedReads = () => [
  `/events?${middle('after_position')}`,
  `/events?location_id=${location}&${middle('after_position')}`,
  rareEvents() + middle('after_position'),
  `/inventory/movements?order=asc&${middle('after_position')}`,
  `/inventory/movements?order=asc&location_id=${location}&${middle('after_position')}`,
  `/inventory/movements?order=asc&product_id=${hot}&${middle('after_position')}`,
  `/inventory/levels?location_id=${location}&${middle('as_of_position')}`,
  `/inventory/levels?location_id=${location}&product_id=${hot}&${middle('as_of_position')}`,
  `/products/${hot}/levels?${middle('as_of_position')}`,
];

/** Nothing of the merchant is low, and any product may be. */
const lowEvents = () => `/events?low_stock=true&${middle('after_position')}`;
const lowLevels = () => `/inventory/levels?low_stock=true&location_id=${location}`;
const lowReads = () => [lowEvents(), lowLevels(), `${lowLevels()}&product_id=${hot}`];

const named = (n: number) => `shop%20OIL-${10 + n}`;

/** As many as a list takes. */
const listed = (name: string, prefix: string) =>
  products.map((_, n) => `${name}=${prefix}${n * 7 + 1}`).join('&');

const summedReads = () => {
  const day = new Date().toISOString().slice(0, 10);
  const path = `/inventory/daily?location_id=${location}&from=${day}&to=${day}`;
  const stock = `/stock?location_id=${location}`;
  const listed = [stock, `${stock}&sort=sku`, `${stock}&q=olive`, `${stock}&q=${lastProduct}`];
  return [path, `${path}&product_id=${hot}`, ...listed];
};

/** Each kind of request once. The number makes the requests of each run different. */
async function everything(n: number): Promise<Answer[]> {
  const product = products[n % products.length] ?? '';
  const key = newKey();
  const adjusted = await adjust(product, { key });
  target -= 1;
  return [
    adjusted,
    await adjust(product, { key }),
    await adjust(hot),
    await api.post('/customers', { name: 'Ada', email: `ada${n}@example.com` }),
    await api.patch(`/products/${product}`, { name: `Olive oil ${n}, ${target}` }),
    await api.patch(`/products?external_id=${named(n)}`, { name: `Rye ${n}`, unit: null }),
    await api.get(`/products/${product}`),
    await api.get('/products'),
    await api.get(`/products?external_id=${named(n)}`),
    await api.get(`/products?limit=100&${listed('external_id', 'shop%20OIL-')}`),
    await api.get(`/products?limit=100&${listed('sku', 'OIL-')}`),
    await api.get('/customers'),
    await api.get(`/inventory/levels?location_id=${location}`),
    await api.get('/inventory/movements'),
    await api.get(`/inventory/movements?product_id=${hot}`),
    await api.get(`/inventory/movements/${adjusted.body.data.id}`),
    await api.get('/operations'),
    await api.get(`/operations/${adjusted.body.meta.operation_id}`),
    await api.get(`/operations?request_id=${adjusted.body.meta.request_id}`),
    await api.get(`/operations?credential_id=${credential}`),
  ];
}

/** The round trips of one request, and its statements in their order. */
async function workOf(ask: () => Promise<Answer>): Promise<[status: number, number, string[]]> {
  counter.take();
  const { status } = await ask();
  const { trips, statements } = counter.take();
  return [status, trips, statements.map(({ name }) => name)];
}

describe('a request asks the database', () => {
  test('twice when it reads: the credential, and the record', async () => {
    const product = products[0] ?? '';
    const reads: [string, string][] = [
      [`/products/${product}`, 'find_products'],
      ['/products', 'list_products_51'],
      ['/products?limit=10', 'list_products_11'],
      ['/customers', 'list_customers_51'],
      [`/inventory/levels?location_id=${location}`, 'list_levels_51'],
      [
        `/inventory/levels?location_id=${location}&${middle('as_of_position')}`,
        'list_levels_as_of_51',
      ],
      ['/inventory/movements', 'walk_movements_desc_51'],
      [`/events?${middle('after_position')}`, 'feed_51'],
    ];
    for (const [path, statement] of reads) {
      const work = await workOf(() => api.get(path));
      expect(work, path).toEqual([200, 2, ['find_credentials', statement]]);
    }
  });

  test('three times when it adjusts a level, and twice when it creates', async () => {
    const locks = ['share_locations', 'create_levels', 'lock_levels'];
    const load = [...locks, 'find_products_to_move', 'find_reserved', 'find_last_counts'];
    expect(await workOf(() => adjust(products[1] ?? ''))).toEqual([
      201,
      3,
      [
        ...['find_credentials_and_keys', 'begin', ...load],
        ...['lock_journals', 'bind_keys save_levels save_movements', 'commit'],
      ],
    ]);
    const customer = { name: 'Ada', email: 'ada@example.com' };
    expect(await workOf(() => api.post('/customers', customer))).toEqual([
      201,
      2,
      [
        'find_credentials_and_keys',
        'begin',
        'lock_journals',
        'bind_keys insert_customers',
        'commit',
      ],
    ]);
  });

  test('three times when it creates or changes by an ID of the caller', async () => {
    const path = `/products?external_id=new%20${newKey()}`;
    const load = ['find_holders_of_products_sku', 'lock_named_products'];
    const line = { name: 'Rye', sku: newKey() };
    const saves = ['bind_keys insert_products', 'bind_keys update_products', 'bind_keys'];
    for (const [n, body] of [
      line,
      { ...line, name: 'Oats' },
      { ...line, name: 'Oats' },
    ].entries()) {
      const locking = n < 2 ? ['lock_journals'] : [];
      expect(await workOf(() => api.patch(path, body))).toEqual([
        n === 0 ? 201 : 200,
        3,
        ['find_credentials_and_keys', 'begin', ...load, ...locking, saves[n], 'commit'],
      ]);
    }
  });

  test('twice when it is a replay, without a transaction', async () => {
    const key = newKey();
    await adjust(products[2] ?? '', { key });
    target -= 1;
    expect(await workOf(() => adjust(products[2] ?? '', { key }))).toEqual([
      201,
      2,
      ['find_credentials_and_keys', 'find_adjustments'],
    ]);
  });

  test('twice for each of three batches when 64 adjust at the same moment', async () => {
    const { principal } = await caller();
    counter.take();
    await Promise.all(
      products
        .slice(0, 64)
        .map((product) => submitAdjustment(node.service, principal, body(product))),
    );
    // The first one runs at once, sixteen fill another batch, and the rest wait until one ends.
    const { trips, statements } = counter.take();
    expect([trips, statements.length]).toEqual([6, 30]);
  });

  test('once for all reads by ID at the same moment', async () => {
    counter.take();
    const { principal } = await caller();
    const reads = node.service.api.readerOf(principal.merchant);
    counter.take();
    const found = await Promise.all(
      products.map((id) =>
        reads.find((ids) => find(product.products, principal.merchant, ids), id),
      ),
    );
    expect(found.map((row) => row?.id)).toEqual(products);
    expect(counter.take().trips).toBe(1);
  });
});

async function caller() {
  const found = await node.service.api.authenticator.authenticate(token, location);
  if (found === undefined) throw new Error('the token is not valid');
  return found;
}

/** What happened to the rows of the tables, as connections report it when they end. */
async function counted() {
  await expect
    .poll(() =>
      db.sql(`select 1 from pg_stat_activity where application_name = 'tallybook'
        and datname = current_database()`),
    )
    .toEqual([]);
  const found = await db.sql<Record<string, string>>(
    `select relname as name, n_tup_ins as inserted, n_tup_upd as updated, n_tup_hot_upd as hot,
       n_tup_del as deleted, seq_tup_read as walked, coalesce(idx_tup_fetch, 0) as fetched
     from pg_stat_user_tables where relname = any ($1) and schemaname in ($2, 'public')`,
    [[...tables, 'locations'], homeCell],
  );
  return new Map(
    found.map(({ name = '', ...counts }) => [
      name,
      Object.fromEntries(Object.entries(counts).map(([what, count]) => [what, Number(count)])),
    ]),
  );
}

/** What one run touched, as the average of `runs`. */
async function touchedBy(runs: number, run: (n: number) => Promise<void>) {
  await node.stop();
  const before = await counted();
  await start();
  for (let n = 0; n < runs; n += 1) await run(n);
  await node.stop();
  const after = await counted();
  await start();
  return (table: string, what: string) =>
    ((after.get(table)?.[what] ?? 0) - (before.get(table)?.[what] ?? 0)) / runs;
}

test('a request touches only the rows that it needs, and scans no table', async () => {
  const touched = await touchedBy(20, async (n) => {
    const answers = await everything(n);
    expect(answers.map(({ status }) => status)).toEqual([
      ...[201, 201, 201, 201],
      ...Array(answers.length - 4).fill(200),
    ]);
  });
  for (const table of tables) {
    expect(touched(table, 'walked'), table).toBe(0);
    expect(touched(table, 'deleted'), table).toBe(0);
  }
  // Two adjustments, one of them replayed, a customer, a PATCH and an upsert.
  expect([touched('operations', 'inserted'), touched('operations', 'updated')]).toEqual([5, 0]);
  expect(touched('inventory_movements', 'inserted')).toBe(2);
  expect(touched('inventory_movements', 'updated')).toBe(0);
  // Every update of a level stays on its page: no index is written.
  expect(touched('inventory_levels', 'inserted')).toBe(0);
  expect([touched('inventory_levels', 'updated'), touched('inventory_levels', 'hot')]).toEqual([
    2, 2,
  ]);
  expect(touched('locations', 'updated')).toBe(0);
  // Pages of 51 and of 100, and the rows that writes read; a plan that scans would fetch thousands.
  expect(touched('products', 'fetched')).toBeLessThan(290);
  expect(touched('customers', 'fetched')).toBeLessThan(60);
  expect(touched('operations', 'fetched')).toBeLessThan(140);
  expect(touched('inventory_levels', 'fetched')).toBeLessThan(100);
  expect(touched('inventory_movements', 'fetched')).toBeLessThan(130);
});

test('a read from a place in the journal touches a page of rows, and scans no table', async () => {
  for (const path of [...placedReads(), ...lowReads()]) {
    const touched = await touchedBy(10, async () => {
      expect((await api.get(path)).status, path).toBe(200);
    });
    // A movement is judged, and shown. What is rare is looked for in 10,000 positions.
    const isRare = path.startsWith(rareEvents()) || path === lowEvents();
    // Of 2,000 products the levels are judged, and the last is where the next page goes on.
    const usual = path === lowLevels() ? 4_100 : 110;
    const most = isRare ? 10_100 : usual;
    for (const table of tables) {
      expect(touched(table, 'walked'), `${table} for ${path}`).toBe(0);
      expect(touched(table, 'fetched'), `${table} for ${path}`).toBeLessThan(most);
    }
  }
});

interface Plan {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly Plans?: readonly Plan[];
}

const nodesOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
const isOf = (type: string) => (plan: Plan) => plan['Node Type'] === type;

/** The plans a statement may have: for its values, and the one kept for all of them. */
async function plansOf(session: pg.Client, { name, text, values }: Statement): Promise<Plan[]> {
  const explain = async (how: string, given: readonly unknown[]) => {
    const { rows } = await session.query<{ 'QUERY PLAN': { Plan: Plan }[] }>(
      `explain (${how}format json) ${text}`,
      [...given],
    );
    return rows.flatMap((row) => row['QUERY PLAN'].map(({ Plan }) => Plan));
  };
  const [{ version } = { version: 0 }] = await db.sql<{ version: number }>(
    `select current_setting('server_version_num')::int as version`,
  );
  const isKept = name !== '' && version >= 160_000;
  return [...(await explain('', values)), ...(isKept ? await explain('generic_plan, ', []) : [])];
}

/** The statements for large rows, and that for whoever waits. */
async function rarePages(): Promise<Statement[]> {
  const { merchant } = (await caller()).principal;
  const start = { merchant, filters: {}, granted: null, after: undefined, limit: 51 };
  return [
    listOf(product.products, product.list)(start).cut,
    listOf(customer.customers, customer.list)(start).cut,
    readHappenings(merchant, Math.floor(lastProduct / 2)),
  ];
}

test('no plan of a frequent statement scans a table, and no page is sorted', async () => {
  counter.take();
  await everything(50);
  for (const path of [...placedReads(), ...lowReads(), ...summedReads()]) await api.get(path);
  const sent = counter.take().statements.filter(({ text }) => !/^(begin|commit)/.test(text));
  const statements = [...sent, ...(await rarePages())];
  const session = new pg.Client({ connectionString: db.serviceUrl });
  await session.connect();
  await session.query(`set search_path = ${pathOf(homeCell)}`);
  const seen = new Set<string>();
  for (const statement of statements) {
    const { name, text } = statement;
    if (seen.has(text)) continue;
    seen.add(text);
    for (const plan of await plansOf(session, statement)) {
      const nodes = nodesOf(plan);
      const walked = nodes.filter(
        (one) => one['Node Type'] === 'Seq Scan' && tables.includes(one['Relation Name'] ?? ''),
      );
      expect(walked, text).toEqual([]);
      // Pages follow an index. Those of several levels are merged from walks that do, and the feed
      // sorts what it has found; and writes sort the records of their batch, to lock in one order.
      const isPage = /order by \S+( desc)? limit/.test(text);
      const isMerged = name.startsWith('list_movements_');
      const isFeed = name.startsWith('feed_') || name === 'happenings';
      const parts = isMerged ? nodes.filter(isOf('Nested Loop')) : nodes.filter(isOf('Limit'));
      const walks = isMerged || isFeed ? parts.flatMap(nodesOf) : nodes;
      const sorted = walks.filter((one) => /Sort/.test(one['Node Type']));
      // A request has few operations, and a value that is unique one record: they are found first.
      const isUnique = (one: Plan) => /^products_(sku|external_id)$/.test(one['Index Name'] ?? '');
      const isFound = name.startsWith('operations_of_request_') || nodes.some(isUnique);
      if (isPage && !isFound) expect(sorted, text).toEqual([]);
      // Other indexes hold a position as well, behind all that the merchant has.
      const moved = nodes.filter((one) => one['Relation Name'] === 'inventory_movements');
      const indexes = new Set(moved.map((one) => one['Index Name']));
      if (/width_bucket/.test(text)) {
        const walked = nodes.filter(isOf('Limit')).flatMap(nodesOf);
        expect(walked.map((one) => one['Node Type'])).toEqual(['Limit', 'Index Scan']);
      }
      if (isFeed) expect([...indexes], text).toEqual(['inventory_movements_line']);
    }
  }
  await session.end();
  expect(seen.size).toBeGreaterThan(12);
});
