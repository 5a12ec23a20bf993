// No column of the database can be set or asked for by naming it in a request, unless the contract
// names it too.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { resources } from '../src/resources.ts';
import { newKey } from './kit/api.ts';
import { cases, freshBody, pathOf, writes } from './kit/cases.ts';
import { extentName, shareOf, timeout } from './kit/extent.ts';
import { createTestMerchant, type TestMerchant } from './kit/merchant.ts';
import { type Reply, Sender } from './kit/sender.ts';
import { startWholeEnvironment, type WholeEnvironment } from './kit/whole-environment.ts';

let service: WholeEnvironment;
let sender: Sender;
let shop: TestMerchant;
/** A value that would do harm in many columns. */
let foreign: string;
/** Each name as it is, and in camel case, as an object mapper spells it. */
let columns: readonly string[];

beforeAll(async () => {
  service = await startWholeEnvironment();
  sender = new Sender(service.origin);
  shop = await createTestMerchant(service);
  foreign = await service.given.merchant('Other Shop');
  const rows = await service.db.sql<{ name: string }>(
    `select distinct column_name as name from information_schema.columns
     where table_schema = any (current_schemas(false)::text[])`,
  );
  const names = rows.map(({ name }) => name);
  columns = [...new Set([...names, ...names.map(camelCase)])];
  expect(columns).toEqual(expect.arrayContaining(['merchant_id', 'merchantId', 'sequence']));
});
afterAll(async () => {
  sender.close();
  await service.stop();
});

const camelCase = (name: string) => name.replaceAll(/_(.)/g, (_, letter) => letter.toUpperCase());

/** Of names that are sent by themselves, each is sent to one of so many routes in turn. */
const shares = 10;

/** As many as fit into a body together with its own members. */
function partsOf(names: readonly string[]): string[][] {
  const most = 100;
  const starts = Array.from({ length: Math.ceil(names.length / most) }, (_, part) => part * most);
  return starts.map((from) => names.slice(from, from + most));
}

const codeOf = ({ status, text }: Reply) => `${status} ${JSON.parse(text).error?.code}`;

function fieldsOf({ text }: Reply): string[] {
  return JSON.parse(text).error.details.map(({ field }: { field: string }) => field);
}

/** A fingerprint of all that the merchant has, its operations included. */
async function records(): Promise<unknown> {
  const owned = resources.flatMap(({ tables }) => tables.map(({ name }) => name));
  const queries = owned.map(
    (table) =>
      `select '${table}' as name, count(*), md5(string_agg(t::text, '|' order by t::text)) as sum
       from ${table} t where merchant_id = $1`,
  );
  return service.db.sql(queries.join(' union all '), [shop.merchant]);
}

describe.each(writes)('$name', (one) => {
  const members = Object.keys(one.contract.body.properties);

  function write(body: object): Promise<Reply> {
    const headers = {
      authorization: `Bearer ${shop.token}`,
      'content-type': 'application/json',
      'idempotency-key': newKey(),
    };
    const path = `/api/v1${pathOf(one, shop)}`;
    return sender.send(one.method, path, headers, JSON.stringify(body));
  }

  test(`takes no column that is not one of its members (${extentName})`, { timeout }, async () => {
    const before = await records();
    const others = columns.filter((name) => !members.includes(name));
    const taken = await Promise.all(
      shareOf(others, shares, writes.indexOf(one)).map(async (name) => {
        const reply = await write({ ...freshBody(one, shop), [name]: foreign });
        const isNamed = codeOf(reply) === '422 validation_failed' && fieldsOf(reply)[0] === name;
        return isNamed ? [] : [`${name}: ${reply.text}`];
      }),
    );
    expect(taken.flat()).toEqual([]);
    for (const some of partsOf(others)) {
      const all = Object.fromEntries(some.map((name) => [name, foreign]));
      const reply = await write({ ...freshBody(one, shop), ...all });
      expect(fieldsOf(reply).sort()).toEqual([...some].sort());
    }
    expect(await records()).toEqual(before);
  });

  test('takes no column inside of a member', async () => {
    const before = await records();
    const valid = freshBody(one, shop);
    const objects = Object.entries({ price: { amount: '1.00', currency: 'EUR' }, ...valid }).filter(
      ([name, value]) => members.includes(name) && typeof value === 'object' && name !== 'metadata',
    );
    for (const [name, member] of objects) {
      const value = Array.isArray(member) ? member[0] : member;
      if (typeof value !== 'object') continue;
      const place = Array.isArray(member) ? `${name}.0` : name;
      const inner = columns.filter((column) => !Object.hasOwn(value as object, column));
      for (const some of partsOf(inner)) {
        const all = Object.fromEntries(some.map((column) => [column, foreign]));
        const spoilt = { ...(value as object), ...all };
        const body = { ...valid, [name]: Array.isArray(member) ? [spoilt] : spoilt };
        const reply = await write(body);
        expect(codeOf(reply)).toBe('422 validation_failed');
        expect(fieldsOf(reply).sort()).toEqual(some.map((column) => `${place}.${column}`).sort());
      }
    }
    expect(await records()).toEqual(before);
  });

  if (!members.includes('metadata')) return;

  test('stores such names in metadata, and sets no column by them', async () => {
    const some = columns.slice(0, 50);
    const wanted = Object.fromEntries(some.map((name) => [name, foreign]));
    const reply = await write({ ...freshBody(one, shop), metadata: wanted });
    const { id, metadata, version, status, created_at, updated_at } = JSON.parse(reply.text).data;
    const [first] = one.method === 'POST' ? [1] : [version];
    expect([metadata, version]).toEqual([expect.objectContaining(wanted), first]);
    expect(['active', undefined]).toContain(status);
    const [row] = await service.db.sql<{ merchant_id: string }>(
      `select merchant_id from ${one.name.split('.')[0]} where id = $1`,
      [id],
    );
    expect(row).toEqual({ merchant_id: shop.merchant });
    expect(Date.parse(created_at)).toBeLessThanOrEqual(Date.parse(updated_at));
  });
});

test(`no route takes a column as a parameter that is not one of its filters (${extentName})`, {
  timeout,
}, async () => {
  const authorization = `Bearer ${shop.token}`;
  for (const [route, one] of cases.filter(({ method }) => method === 'GET').entries()) {
    const { contract } = one;
    const filters = contract.kind === 'collection' ? Object.keys(contract.query.properties) : [];
    const others = columns.filter((name) => !filters.includes(name));
    const taken = await Promise.all(
      shareOf(others, shares, route).map(async (name) => {
        const path = `/api/v1${pathOf(one, shop, { search: `${name}=${foreign}` })}`;
        const reply = await sender.send('GET', path, { authorization });
        return codeOf(reply) === '400 unknown_parameter' ? [] : [`${name}: ${reply.text}`];
      }),
    );
    expect([one.name, taken.flat()]).toEqual([one.name, []]);
  }
});
