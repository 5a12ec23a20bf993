// What no answer may show. The test looks for it in all kinds of answers: each table has one more
// column than the service knows, each request carries a value that no refusal may repeat, and the
// database fails in between.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { approve } from '../src/access/operator/applications.ts';
import { mintToken } from '../src/access/token.ts';
import type { MerchantId } from '../src/core/principal.ts';
import { connectDatabase, type Database } from '../src/database/connect.ts';
import { cases, writes } from './kit/cases.ts';
import { Crawl, canary, type Found } from './kit/crawl.ts';
import { createTestMerchant, type TestMerchant } from './kit/merchant.ts';
import {
  authorizationRequest,
  Browser,
  type GivenApplication,
  givenApplication,
  redirectUri,
} from './kit/oauth.ts';
import { DatabaseProxy } from './kit/proxy.ts';
import { type Reply, Sender } from './kit/sender.ts';
import { startWholeEnvironment, type WholeEnvironment } from './kit/whole-environment.ts';

/** Name and value of the column that no contract has. */
const unseen = 'unseen8214';

let service: WholeEnvironment;
let proxy: DatabaseProxy;
let operator: Database;
let sender: Sender;
let shop: TestMerchant;
let crawl: Crawl;
let found: readonly Found[];
let tables: readonly string[];

beforeAll(async () => {
  service = await startWholeEnvironment(async (url) => {
    proxy = new DatabaseProxy(url);
    return proxy.listen();
  });
  tables = await addColumns();
  operator = connectDatabase({ url: service.db.serviceUrl, writers: 1 });
  sender = new Sender(service.origin);
  shop = await createTestMerchant(service);
  crawl = new Crawl(service.origin, sender, shop, await givenCallers());
  await crawl.routes();
  await crawl.pages();
  await crawl.messages();
  await askOAuth();
  await failDatabase();
  found = crawl.found;
});
afterAll(async () => {
  sender.close();
  await operator.close();
  await service.stop();
  await proxy.close();
});

/** One more column in every table, and rows that are all marked by it. */
async function addColumns(): Promise<string[]> {
  const rows = await service.db.sql<{ name: string }>(
    `select table_name as name from information_schema.tables
     where table_schema = any (current_schemas(false)::text[]) and table_type = 'BASE TABLE'`,
  );
  for (const { name } of rows) {
    await service.db.sql(
      `alter table ${name} add column ${unseen} text not null default '${unseen}'`,
    );
  }
  return rows.map(({ name }) => name);
}

async function givenCallers() {
  const { given, db } = service;
  const withoutScopes = await given.credential(shop.merchant, { scopes: [] });
  const tooFast = await given.credential(shop.merchant);
  const limit = 'update credentials set requests_per_minute = $2, request_burst = $2 where id = $1';
  const [full] = await db.sql<{ id: string }>(
    'select id from credentials where merchant_id = $1 and scopes <> $2 and id <> $3',
    [shop.merchant, [], tooFast.id],
  );
  await db.sql(limit, [full?.id, 1_000_000]);
  await db.sql(limit, [tooFast.id, 1]);
  const authorization = `Bearer ${tooFast.token}`;
  await sender.send('GET', '/api/v1/credential', { authorization });
  return {
    full: shop.token,
    withoutScopes: withoutScopes.token,
    tooFast: tooFast.token,
    unknown: mintToken('pat'),
  };
}

/** Both OAuth grants, with the refusals in between. */
async function askOAuth(): Promise<void> {
  const scopes = ['inventory.read', 'locations.read'] as const;
  const redirectUris = [redirectUri];
  const made = await givenApplication(operator, service.origin, { scopes, redirectUris });
  // One without locations of that name.
  const merchant = (await service.given.merchant()) as MerchantId;
  const person = await service.given.credential(merchant);
  await approve(operator, made.id, { merchant, scopes, locations: 'all' });
  for (const path of ['oauth-authorization-server', 'oauth-protected-resource']) {
    await crawl.request(path, 200, 'GET', `/.well-known/${path}`);
  }
  await askForTokens(made);
  await askForConsent(made, person.token);
}

async function askForTokens({ id, secret }: GivenApplication): Promise<void> {
  const form = (name: string, expected: number, path: string, fields: object, password = secret) =>
    crawl.request(
      `OAuth: ${name}`,
      expected,
      'POST',
      `/oauth/${path}`,
      {
        'content-type': 'application/x-www-form-urlencoded',
        authorization: `Basic ${Buffer.from(`${id}:${password}`).toString('base64')}`,
      },
      new URLSearchParams(fields as Record<string, string>).toString(),
    );
  const own = { grant_type: 'client_credentials' };
  const { text } = await form('a token', 200, 'token', own);
  const { access_token: token } = JSON.parse(text);
  await form('introspection', 200, 'introspect', { token });
  await form('introspection of nothing', 200, 'introspect', { token: canary });
  await form('a wrong secret', 401, 'token', own, `tb_ocs_${canary}`);
  await form('a code that is none', 400, 'token', {
    grant_type: 'authorization_code',
    code: canary,
    redirect_uri: redirectUri,
    code_verifier: canary.repeat(5),
  });
  await form('a refresh token that is none', 400, 'token', {
    grant_type: 'refresh_token',
    refresh_token: canary,
  });
  await form('a password', 400, 'token', { grant_type: 'password', password: canary });
  await form('a scope beyond', 400, 'token', { ...own, scope: 'products.write' });
  await form('a merchant that is none', 400, 'token', { ...own, merchant_id: canary });
  await form('revocation', 200, 'revoke', { token });
  await crawl.request('OAuth: no form', 405, 'GET', '/oauth/token');
}

async function askForConsent(made: GivenApplication, token: string): Promise<void> {
  const { url } = await authorizationRequest(made, { scope: 'inventory.read' });
  await crawl.request('OAuth: a redirect', 303, 'GET', url.slice(service.origin.length));
  await crawl.request(
    'OAuth: an unknown application',
    400,
    'GET',
    `/oauth/authorize?client_id=${canary}`,
  );
  await crawl.request('OAuth: no browser', 400, 'GET', `/console/consent/${canary}`);
  const browser = new Browser(service.origin);
  const decide = async (name: string, expected: number, fields: [string, string][]) => {
    let answer = await browser.submit(fields);
    // A busy machine may be too slow for a connection: then the same again, as the page says.
    for (let tries = 1; answer.status === 503 && tries < 5; tries += 1) {
      answer = await browser.submit(fields);
    }
    const { status, headers, text } = answer;
    const reply = { status, headers: Object.fromEntries(headers), text };
    crawl.found.push({ name: `OAuth: ${name}`, expected, reply });
  };
  await browser.get(url);
  const prove = (shown: string): [string, string][] => [
    ['decision', 'prove'],
    ['token', shown],
  ];
  await decide('a proof that is none', 403, prove(`tb_pat_${canary}`));
  await decide('a token that does not exist', 403, prove(mintToken('pat')));
  await decide('a choice', 200, prove(token));
  await decide('a location that is none', 403, [
    ['decision', 'allow'],
    ['location', canary],
  ]);
}

/** The database refuses reads of records, then reads of credentials, and then is away. */
async function failDatabase(): Promise<void> {
  const role = new URL(service.db.serviceUrl).username;
  const owned =
    'customers, products, locations, operations, inventory_levels, inventory_movements, ' +
    'inventory_transfers, inventory_counts, inventory_last_counts, inventory_reservations, ' +
    'inventory_reservation_lines, inventory_reserved';
  const rights = 'select, insert, update';
  await service.db.sql(`revoke ${rights} on ${owned} from ${role}`);
  const reading = cases.filter(({ name }) => name !== 'credential.get');
  await crawl.valid('no rights', 500, reading);
  await service.db.sql(`revoke select on credentials from ${role}`);
  await crawl.valid('credentials cannot be read', 500);
  await service.db.sql(`grant select on credentials, ${owned} to ${role}`);
  proxy.refuses = true;
  proxy.cut();
  await crawl.valid('the database is away', 503);
  await crawl.request('not ready', 503, 'GET', '/readyz');
  await crawl.request(
    'OAuth: the database is away',
    503,
    'POST',
    '/oauth/token',
    { 'content-type': 'application/x-www-form-urlencoded' },
    `grant_type=client_credentials&client_id=app_1&client_secret=${mintToken('ocs')}`,
  );
}

/** The names of the answers with a fault, each with its fault. */
function wrong(judge: (one: Found) => string | undefined): string[] {
  return found.flatMap((one) => {
    const fault = judge(one);
    return fault === undefined ? [] : [`${one.name} (${one.reply.status}): ${fault}`];
  });
}

const isError = ({ reply }: Found) => reply.status >= 400;

test('every route answers with what was wrong, and no failure admits a caller', () => {
  const unexpected = wrong(({ expected, reply }) =>
    expected === undefined || expected === reply.status
      ? undefined
      : `${expected} expected: ${reply.text.slice(0, 300)}`,
  );
  expect(unexpected).toEqual([]);
  const statusesOf = (name: string) =>
    new Set(
      found.filter((one) => one.name.startsWith(`${name}: `)).map(({ reply }) => reply.status),
    );
  const ofEach = [401, 405, 406, 414, 429, 431, 500, 503];
  for (const { name } of cases) {
    expect([...statusesOf(name)]).toEqual(expect.arrayContaining(ofEach));
  }
  for (const { name, contract } of writes) {
    // What a batch may do is asked of each of its writes.
    const refused = contract.scope === null ? [] : [403];
    expect([...statusesOf(name)]).toEqual(expect.arrayContaining([400, ...refused, 409, 415, 422]));
  }
  expect(found.length).toBeGreaterThan(500);
});

/** The first answer to these shows what no other answer does. */
const showsOnce = /^(people\.invite|people\.invite_again|tokens\.(?:create|rotate)): /;

describe('no answer', () => {
  test('has a header that it should not have, and each has those that it must', () => {
    expect(wrong(headerFault)).toEqual([]);
  });

  test('shows a column of the database that no contract names', async () => {
    // The rows that answers come from do have the marks.
    // Nobody signs in here.
    const ofPeople = ['person_passwords', 'person_passkeys', 'sign_in_tries', 'sign_in_challenges'];
    const empty = ['rate_buckets', ...ofPeople];
    for (const table of tables.filter((name) => !empty.includes(name))) {
      const [row] = await service.db.sql<{ text: string }>(
        `select row_to_json(t)::text as text from ${table} t limit 1`,
      );
      expect([table, row?.text]).toEqual([table, expect.stringContaining(unseen)]);
    }
    const shown = wrong(({ reply }) => (textOf(reply).includes(unseen) ? 'shows it' : undefined));
    expect(shown).toEqual([]);
  });

  test('to an error repeats a value that was sent', () => {
    const repeated = (one: Found) =>
      isError(one) && textOf(one.reply).includes(canary) ? one.reply.text : undefined;
    expect(wrong(repeated)).toEqual([]);
    const tokens = wrong((one) => {
      const isShown = showsOnce.test(one.name) && !isError(one);
      return isShown ? undefined : /tb_(?:pat|ocs|ort|inv)_\w{20}/.exec(textOf(one.reply))?.[0];
    });
    expect(tokens).toEqual([]);
  });

  test('to an error shows how the service is built', async () => {
    const rows = await service.db.sql<{ name: string }>(
      `select relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where nspname = any (current_schemas(false)) and relname like '%\\_%'
       union select conname from pg_constraint union select proname from pg_proc
       where pronamespace::regnamespace::text = any (current_schemas(false)::text[])`,
    );
    const names = rows.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['inventory_levels', 'operations_key']));
    const leaked = (one: Found) => {
      if (!isError(one)) return undefined;
      const text = withoutRandom(textOf(one.reply));
      const inside = insides.map((pattern) => pattern.exec(text)?.[0]).find((hit) => hit);
      return inside ?? names.find((name) => text.includes(name));
    };
    expect(wrong(leaked)).toEqual([]);
    const example = withoutRandom(insideExample);
    expect(insides.map((pattern) => pattern.test(example))).toEqual(insides.map(() => true));
  });
});

/** Stacks, paths, statements, and the names of what it is made of. */
const insides = [
  /\bat \S+ \(|\.[cm]?[jt]s:\d/,
  /node_modules|file:\/\/|\/(?:dist|src)\//,
  /\b(?:select|insert into|delete from|update \w+ set|violates|relation|permission denied)\b/i,
  /fastify|FST_|koa|oidc|postgres|pg_|node\.?js|ECONN|socket/i,
];
const insideExample = `error: relation "a" does not exist, select 1
  at Client.query (file:///srv/dist/a.js:1) FST_ERR`;

/** Without the random values of forms and tokens, which may hold any few letters. */
const withoutRandom = (text: string): string =>
  text.replace(/(?=[\w-]*[A-Z])(?=[\w-]*\d)[\w-]{22,}/g, '');

function textOf({ headers, text }: Reply): string {
  return JSON.stringify(headers) + text;
}

/** Of the transport; of every answer; and those that a status or a kind of page calls for. */
const transport = ['connection', 'content-length', 'date', 'keep-alive', 'transfer-encoding'];
const always: Readonly<Record<string, RegExp>> = {
  'x-request-id': /^req_[0-9a-z]{26}$/,
  'cache-control': /^no-store$/,
  'x-content-type-options': /^nosniff$/,
};
const types = /^(?:application\/json|text\/html|text\/javascript); charset=utf-8$/;
const forStatus: Readonly<Record<number, Readonly<Record<string, RegExp>>>> = {
  201: { location: /^\/api\/v1\/[a-z/]+\/[a-z]+_[0-9a-z]{26}$/ },
  303: { location: /^\/console\/consent\/|^https?:/ },
  401: { 'www-authenticate': /^(?:Bearer realm="tallybook"|Basic realm=)/ },
  405: { allow: /^[A-Z]+(?:, [A-Z]+)*$/ },
  429: { 'retry-after': /^[1-9]\d*$/ },
  503: { 'retry-after': /^[1-9]\d*$/ },
};
const allowed: Readonly<Record<string, RegExp>> = {
  etag: /^"[1-9]\d*"$/,
  vary: /^Accept-Encoding$/,
  'idempotent-replayed': /^true$/,
  ratelimit: /^"credential";r=\d+;t=\d+$/,
  'ratelimit-policy': /^"credential";q=\d+;w=60$/,
  'retry-after': /^[1-9]\d*$/,
  'www-authenticate': /^Bearer realm="tallybook", error="insufficient_scope", scope="[a-z.]+"$/,
  'set-cookie':
    /^tallybook_\w+(?:\.sig)?=[^;]*; path=\/(?:oauth|console\/consent)\/[^;]*;(?: expires=.+;)? /,
};

function headerFault({ name, reply }: Found): string | undefined {
  const { status, headers, text } = reply;
  const isPage = status !== 303 && /^text\/html/.test(String(headers['content-type']));
  const required: Readonly<Record<string, RegExp>> = {
    ...always,
    ...forStatus[status],
    ...(text === '' ? {} : { 'content-type': types }),
    ...(isPage
      ? { 'content-security-policy': /default-src '(?:none|self)'.*frame-ancestors 'none'/ }
      : {}),
  };
  const missing = Object.entries(required).find(([key, is]) => !is.test(String(headers[key])));
  if (missing !== undefined) return `${missing[0]} is ${headers[missing[0]]}`;
  const others = Object.entries(headers).filter(
    ([key]) => !(key in required) && !transport.includes(key) && key !== 'content-type',
  );
  const odd = others.find(([key, value]) =>
    [value ?? ''].flat().some((one) => !(allowed[key]?.test(one) ?? false)),
  );
  if (odd !== undefined) return `${odd[0]} is ${odd[1]}`;
  const isOAuth = name.startsWith('OAuth: ');
  return 'set-cookie' in headers && !isOAuth ? 'a cookie' : undefined;
}
