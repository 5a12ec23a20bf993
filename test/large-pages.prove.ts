// Pages of large rows: a page ends when its rows together reach a number of bytes, and says that
// more follows, as a full page does. And pages of every limit: a connection keeps few statements.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { limits } from '../src/core/limits.ts';
import type { Answer, Api } from './kit/api.ts';
import { createTestDatabase, withoutLimits } from './kit/database.ts';
import { type Environment, startEnvironment } from './kit/environment.ts';
import { WorkCounter } from './kit/work.ts';

const counter = new WorkCounter();

let service: Environment;

beforeAll(async () => {
  const db = await createTestDatabase();
  await withoutLimits(db);
  service = await startEnvironment({ db, watch: (database) => counter.watch(database) });
});
afterAll(() => service.stop());

type Table = 'products' | 'customers' | 'locations';

const makers = {
  products: (merchant: string) => service.given.product(merchant),
  customers: (merchant: string) => service.given.customer(merchant),
  locations: (merchant: string) => service.given.location(merchant),
};

/** A merchant of its own, with rows of one kind. */
async function merchantWith(table: Table, count: number) {
  const merchant = await service.given.merchant();
  const made = await Promise.all(Array.from({ length: count }, () => makers[table](merchant)));
  const { token } = await service.given.credential(merchant);
  return { merchant, ids: made.sort(), api: service.api.as(token) };
}

/** The largest row that the interface allows, which takes several PATCHes: some 120 KB. */
const largestMetadata = `(select jsonb_object_agg(lpad(n::text, 40, 'k'), repeat('😀', 500))
  from generate_series(1, 50) n)`;

function enlarge(table: Table, merchant: string, set: string): Promise<unknown> {
  return service.db.sql(`update ${table} set ${set} where merchant_id = $1`, [merchant]);
}

/** All pages, each with its IDs and its bytes. */
async function walk(api: Api, path: string) {
  const pages: { readonly ids: string[]; readonly bytes: number }[] = [];
  for (let more = ''; ; ) {
    const answer: Answer = await api.get(path + more);
    expect(answer.status, JSON.stringify(answer.body).slice(0, 500)).toBe(200);
    const { data, meta } = answer.body;
    const bytes = Buffer.byteLength(JSON.stringify(answer.body));
    pages.push({ ids: data.map((one: { id: string }) => one.id), bytes });
    if (meta.next_cursor === undefined) return pages;
    expect(data.length, path).toBeGreaterThan(0);
    more = `&cursor=${encodeURIComponent(meta.next_cursor)}`;
  }
}

const since = '&updated_after=2020-01-01T00:00:00Z';
const lists = [
  ['products', '', 200],
  ['products', '&status=active', 40],
  ['products', '&q=flour', 40],
  ['products', since, 40],
  ['customers', '', 200],
  ['customers', '&email=ada@example.com', 40],
  ['customers', since, 40],
  ['locations', '', 40],
  ['locations', '&status=active', 40],
] as const;

const texts = {
  products: `description = repeat('😀', 5000)`,
  customers: `note = repeat('😀', 2000)`,
  locations: `name = repeat('😀', 255)`,
};

describe.each(lists)('a walk over the largest %s%s', (table, filter, count) => {
  test('has each row once and in order, in pages of little more than a MiB', async () => {
    const { merchant, ids, api } = await merchantWith(table, count);
    await enlarge(table, merchant, `metadata = ${largestMetadata}, ${texts[table]}`);
    const pages = await walk(api, `/${table}?limit=200${filter}`);
    expect(pages.flatMap((page) => page.ids)).toEqual(ids);
    expect(Math.max(...pages.map(({ bytes }) => bytes))).toBeLessThan(1_500_000);
    // No page can be much longer, because rows of this size follow until the limit is reached.
    expect(Math.min(...pages.slice(0, -1).map(({ bytes }) => bytes))).toBeGreaterThan(1_000_000);
  });
});

const remarks = `repeat('😀', 500) as note, repeat('😀', 255) as reference`;
const author = `$2 as credential_id, 'personal_access_token' as actor_kind, now() as recorded_at`;
const most = '999999999999.99999';
const idOf = (prefix: string, n: string) => `'${prefix}' || lpad((${n})::text, 26, '0')`;
const linesOf = (count: number, members: string) => `(
  select json_agg(json_build_object('product_id', ${idOf('prod_', 'l')}, ${members}) order by l)
  from generate_series(1, ${count}) l) as lines`;
const lastPosition = String(Number.MAX_SAFE_INTEGER);

/** Rows of many lines, each as long as it can be; of a merchant, a credential and a location. */
const papers = {
  counts: `insert into inventory_counts (merchant_id, id, location_id, note, reference, lines,
      line_count, operation_id, position, credential_id, actor_kind, recorded_at)
    select $1, ${idOf('ict_', 'n')}, $3, p.* from generate_series(1, 9) n, (
      select ${remarks}, ${linesOf(
        limits.countLinesMax,
        `'counted_quantity', '${most}', 'expected_quantity', '${most}',
         'counted_at_position', '${lastPosition}', 'quantity_before', '${most}',
         'quantity_after', '${most}', 'movement_id', ${idOf('imv_', 'l')}`,
      )}, ${limits.countLinesMax} as line_count, 'op_1' as operation, ${lastPosition}::bigint as at,
        ${author}) p`,
  transfers: `insert into inventory_transfers (merchant_id, id, from_location_id, to_location_id,
      reason, note, reference, lines, is_short, operation_id, position, credential_id, actor_kind,
      recorded_at)
    select $1, ${idOf('itr_', 'n')}, null, $3, 'receipt', p.* from generate_series(1, 60) n, (
      select ${remarks}, ${linesOf(
        limits.transferLinesMax,
        `'quantity', '${most}', 'quantity_short', '${most}', 'out_movement_id', null,
         'in_movement_id', ${idOf('imv_', 'l')}`,
      )}, false as is_short, 'op_1' as operation, ${lastPosition}::bigint as at, ${author}) p`,
  reservations: `with made as (
      insert into inventory_reservations (merchant_id, id, location_id, status, operation_id,
        end_operation_id, ended_at, end_note, movement_ids, expires_at, note, reference,
        credential_id, actor_kind, recorded_at)
      select $1, ${idOf('rsv_', 'n')}, $3, 'fulfilled', 'op_1', 'op_2', now(), repeat('😀', 500),
        (select array_agg(${idOf('imv_', 'l')}) from generate_series(1, 200) l), now(), p.*
      from generate_series(1, 90) n, (select ${remarks}, ${author}) p
      returning merchant_id, id, location_id)
    insert into inventory_reservation_lines (merchant_id, reservation_id, line, product_id,
      location_id, quantity, is_active)
    select made.merchant_id, made.id, l, ${idOf('prod_', 'l')}, made.location_id, ${most}, false
    from made, generate_series(1, ${limits.transferLinesMax}) l`,
} as const;

const filters = [
  ['counts', ''],
  ['counts', '&location_id='],
  ['transfers', ''],
  ['transfers', '&location_id='],
  ['reservations', ''],
  ['reservations', '&location_id='],
  ['reservations', '&status=fulfilled'],
] as const;

describe.each(filters)('a walk over the largest %s%s', (name, filter) => {
  test('has each of them once, newest first, in pages of little more than a MiB', async () => {
    const merchant = await service.given.merchant();
    const location = await service.given.location(merchant);
    const { id, token } = await service.given.credential(merchant);
    const session = await service.db.session();
    await session.query("begin; set local session_replication_role = 'replica'");
    await session.query(papers[name], [merchant, id, location]);
    await session.query('commit');
    await session.end();
    const where = filter === '&location_id=' ? filter + location : filter;
    const pages = await walk(service.api.as(token), `/inventory/${name}?limit=200${where}`);
    const ids = pages.flatMap((page) => page.ids);
    expect(ids).toEqual([...new Set(ids)].sort().reverse());
    expect(ids.length).toBe({ counts: 9, transfers: 60, reservations: 90 }[name]);
    expect(Math.max(...pages.map(({ bytes }) => bytes))).toBeLessThan(1_500_000);
    expect(Math.min(...pages.slice(0, -1).map(({ bytes }) => bytes))).toBeGreaterThan(800_000);
  });
});

describe('a page', () => {
  test('ends with the row that makes it full', async () => {
    const rows = 200;
    const { merchant, ids, api } = await merchantWith('products', rows);
    await enlarge('products', merchant, `description = repeat('x', 100000)`);
    const fitting = Math.ceil(limits.pageBytesMax / 100_000);
    const counts = async (limit: number) =>
      (await walk(api, `/products?limit=${limit}`)).map((page) => page.ids.length);
    const whole = Math.floor(rows / fitting);
    expect(await counts(200)).toEqual([...Array(whole).fill(fitting), rows - whole * fitting]);
    // A cut after the asked number of rows, or exactly at it, also ends with the last row.
    expect(await counts(10)).toEqual(Array(rows / 10).fill(10));
    await enlarge('products', merchant, `description = case when id < '${ids[50]}' then 'x' end`);
    await service.db.sql('update products set description = $1 where id = $2', [
      'x'.repeat(2 * limits.pageBytesMax),
      ids[7],
    ]);
    expect(await counts(200)).toEqual([8, 192]);
    expect(await counts(8)).toEqual(Array(rows / 8).fill(8));
    expect((await counts(1)).length).toBe(rows);
  });

  test('has the same rows, cut or whole', async () => {
    for (const table of ['products', 'customers', 'locations'] as const) {
      const { merchant, ids, api } = await merchantWith(table, 9);
      await enlarge(table, merchant, `metadata = ${largestMetadata}`);
      const { body } = await api.get(`/${table}?limit=9`);
      const singles = await Promise.all(ids.map((id) => api.get(`/${table}/${id}`)));
      expect(body.data).toEqual(singles.slice(0, body.data.length).map((one) => one.body.data));
      expect(body.data.length).toBeGreaterThan(7);
    }
  });
});

test('pages of every size are read by few statements, which each connection keeps', async () => {
  const { merchant, api } = await merchantWith('products', 1);
  const location = await service.given.location(merchant);
  const paths = [
    '/products?',
    '/customers?',
    '/locations?',
    '/operations?',
    `/inventory/levels?location_id=${location}&`,
    '/inventory/movements?',
    '/inventory/movements?order=asc&',
  ];
  counter.take();
  for (const path of paths) {
    for (let limit = 1; limit <= limits.pageSizeMax; limit += 10) {
      const sizes = Array.from({ length: 10 }, (_, more) => limit + more);
      const answers = await Promise.all(sizes.map((size) => api.get(`${path}limit=${size}`)));
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    }
  }
  const names = new Set(counter.take().statements.map(({ name }) => name));
  names.delete('');
  expect([...names].sort()).toEqual(
    [
      'find_credentials',
      'find_journal',
      'list_locations',
      ...[2, 11, 51, 101, 201].flatMap((size) => [
        `list_customers_${size}`,
        `list_levels_${size}`,
        `list_products_${size}`,
        `walk_movements_asc_${size}`,
        `walk_movements_desc_${size}`,
      ]),
    ].sort(),
  );
});
