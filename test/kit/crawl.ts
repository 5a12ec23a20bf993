// Every answer that the service can be brought to give: each route with each thing that can be
// wrong with a request, the pages, OAuth, and what never becomes a request. Tests look at all of
// them at once for what no answer may show.

import { type Contract, isUpsert, successStatus } from '../../src/contract/contract.ts';
import { asked } from './again.ts';
import { newKey } from './api.ts';
import { type Case, cases, freshBody, onceId, pathOf } from './cases.ts';
import { pages } from './matrix.ts';
import type { TestMerchant } from './merchant.ts';
import { exchange } from './raw.ts';
import type { Reply, Sender } from './sender.ts';

/** Sent as a value wherever a request has room for one; never as a name. */
export const canary = 'canary4711';

/** One answer, and the status it should have; undefined where the contract leaves it open. */
export interface Found {
  /** Which route, and what was wrong. */
  readonly name: string;
  readonly expected: number | undefined;
  readonly reply: Reply;
}

/** Who asks. */
export interface Callers {
  /** With all scopes and all locations. */
  readonly full: string;
  readonly withoutScopes: string;
  /** Has used up what it may send. */
  readonly tooFast: string;
  /** Has the form of a token, and nobody has it. */
  readonly unknown: string;
}

interface Request {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

interface Change {
  readonly token?: string | undefined;
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

type Variant = readonly [name: string, expected: number | undefined, change: Change];

export class Crawl {
  readonly #origin: string;
  readonly #sender: Sender;
  readonly #shop: TestMerchant;
  readonly #callers: Callers;
  readonly found: Found[] = [];

  constructor(origin: string, sender: Sender, shop: TestMerchant, callers: Callers) {
    this.#origin = origin;
    this.#sender = sender;
    this.#shop = shop;
    this.#callers = callers;
  }

  /** Every route of the version, with everything that can be wrong. */
  async routes(): Promise<void> {
    await Promise.all(
      cases.map(async (one) => {
        for (const variant of this.#variants(one)) await this.#send(one, variant);
        if (one.contract.kind === 'write') await this.#repeat(one);
      }),
    );
  }

  /** Only the valid request of each route, with what it is expected to meet. */
  async valid(what: string, expected: number, of: readonly Case[] = cases): Promise<void> {
    await Promise.all(of.map((one) => this.#send(one, [what, expected, {}])));
  }

  async pages(): Promise<void> {
    for (const path of pages) {
      await this.request(`GET ${path}`, 200, 'GET', path);
      await this.request(`HEAD ${path}`, 200, 'HEAD', path);
      await this.request(`POST ${path}`, 405, 'POST', path);
    }
    for (const path of ['/', '/nothing', '/api/v1', `/api/v1/${canary}`, '/metrics']) {
      await this.request(`GET ${path}`, 404, 'GET', path);
    }
  }

  /** What no route is asked about: the message itself is wrong. */
  async messages(): Promise<void> {
    const head = 'POST /api/v1/customers HTTP/1.1\r\nHost: x\r\n';
    const texts: readonly (readonly [string, number, string])[] = [
      ['no host', 400, `GET /${canary} HTTP/1.1\r\n\r\n`],
      ['two hosts', 400, `${head}Host: ${canary}\r\n\r\n`],
      ['no header line', 400, `${head}${canary}\r\n\r\n`],
      ['no HTTP', 400, `${canary}\r\n\r\n`],
      ['two lengths', 400, `${head}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`],
      ['CONNECT', 405, `CONNECT ${canary}:443 HTTP/1.1\r\nHost: x\r\n\r\n`],
      ['OPTIONS *', 405, 'OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'],
      ['a body too large', 413, `${head}Content-Length: 70000\r\n\r\n`],
      ['an expectation', 417, `${head}Expect: ${canary}\r\nContent-Length: 2\r\n\r\n`],
      ['endless headers', 431, `${head}X-A: ${canary.repeat(4_000)}\r\n\r\n`],
    ];
    for (const [name, expected, text] of texts) {
      const { answers } = await exchange(this.#origin, [text]);
      const [reply] = answers;
      if (reply === undefined) throw new Error(`no answer to ${name}`);
      this.found.push({ name, expected, reply });
    }
  }

  /** One request of any kind. */
  async request(
    name: string,
    expected: number | undefined,
    method: string,
    path: string,
    headers: Readonly<Record<string, string>> = {},
    body?: string,
  ): Promise<Reply> {
    return asked(
      async () => {
        const reply = await this.#sender.send(method, path, headers, body);
        const isBusy = reply.status === 503 && expected !== 503;
        // That a busy machine refuses for a moment is an answer, too.
        this.found.push({ name, expected: isBusy ? undefined : expected, reply });
        return reply;
      },
      ({ status }) => (status === 503 && expected !== 503 ? `503 to ${name}` : undefined),
    );
  }

  async #send(one: Case, [name, expected, change]: Variant): Promise<void> {
    const valid = this.#validRequest(one);
    const token = 'token' in change ? change.token : this.#callers.full;
    const headers = {
      ...valid.headers,
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...change.headers,
    };
    const { method, path, body } = { ...valid, ...change };
    await this.request(`${one.name}: ${name}`, expected, method, path, headers, body);
  }

  #validRequest(one: Case): Request {
    const isWrite = one.contract.kind === 'write';
    return {
      method: one.method,
      path: `/api/v1${pathOf(one, this.#shop)}`,
      headers: isWrite ? { 'content-type': 'application/json', 'idempotency-key': newKey() } : {},
      body: isWrite ? JSON.stringify(freshBody(one, this.#shop)) : undefined,
    };
  }

  /** The same key again: with the same request, and with another. */
  async #repeat(one: Case): Promise<void> {
    const { headers, body } = this.#validRequest(one);
    const other = JSON.stringify(freshBody(one, this.#shop));
    const ok = okOf(one);
    const id = await onceId(one, this.#shop, this.#shop.api, newKey());
    const named = id === undefined ? {} : { id };
    const again = { path: `/api/v1${pathOf(one, this.#shop, named)}`, headers };
    await this.#send(one, ['a first time', ok, { ...again, body }]);
    await this.#send(one, ['a replay', ok, { ...again, body }]);
    await this.#send(one, ['a key used again', 409, { ...again, body: other }]);
  }

  #variants(one: Case): readonly Variant[] {
    const { contract } = one;
    const path = `/api/v1${pathOf(one, this.#shop)}`;
    const and = (search: string) => ({ path: `${path}${path.includes('?') ? '&' : '?'}${search}` });
    const unknownId = { path: `/api/v1${pathOf(one, this.#shop, { id: canary })}` };
    const variants: readonly (Variant | false)[] = [
      ['valid', okOf(one), {}],
      ['no token', 401, { token: undefined }],
      ['an unknown token', 401, { token: this.#callers.unknown }],
      ['no token at all', 401, { token: `tb_pat_${canary}` }],
      contract.scope !== null && ['no scope', 403, { token: this.#callers.withoutScopes }],
      ['too many requests', 429, { token: this.#callers.tooFast }],
      ['another method', 405, { method: 'DELETE', body: undefined }],
      ['no JSON wanted', 406, { headers: { accept: 'text/html' } }],
      ['a URL too long', 414, and(`x=${'x'.repeat(8_200)}`)],
      ['headers too long', 431, { headers: { 'x-long': 'x'.repeat(17_000) } }],
      ['an unknown parameter', 400, and(`nothing=${canary}`)],
      one.method === 'GET' && ['HEAD', 200, { method: 'HEAD' }],
      contract.path.includes('{id}') && ['an unknown ID', 404, unknownId],
    ];
    const more = contract.kind === 'write' ? bodyVariants(one, this.#shop) : [];
    return [...variants.filter((one) => one !== false), ...listVariants(contract, path), ...more];
  }
}

function okOf(one: Case): number {
  return successStatus(one.contract);
}

function listVariants(contract: Contract, path: string): readonly Variant[] {
  if (contract.kind !== 'collection') return [];
  const [plain = '', search] = path.split('?');
  const elsewhere = new URLSearchParams(search);
  elsewhere.set('location_id', canary);
  const and = (search: string) => ({ path: `${path}${path.includes('?') ? '&' : '?'}${search}` });
  const filters = Object.keys(contract.query.properties);
  const isNeeded = (contract.query.required ?? []).includes('location_id');
  const variants: readonly (Variant | false)[] = [
    ['a limit that is none', 400, and(`limit=${canary}`)],
    ['a cursor that is none', 400, and(`cursor=${canary}`)],
    isNeeded && ['no location', 400, { path: plain }],
    filters.includes('location_id') && [
      'an unknown location',
      403,
      { path: `${plain}?${elsewhere}` },
    ],
    ...filters
      .filter((name) => name !== 'location_id')
      .map((name): Variant => [`${name} of no meaning`, undefined, and(`${name}=${canary}`)]),
  ];
  return variants.filter((one) => one !== false);
}

function bodyVariants(one: Case, shop: TestMerchant): readonly Variant[] {
  if (one.contract.kind !== 'write') return [];
  const names = Object.keys(one.contract.body.properties);
  const withAll = (value: unknown) =>
    JSON.stringify(Object.fromEntries(names.map((name) => [name, value])));
  const withOne = (name: string) =>
    JSON.stringify({ ...freshBody(one, shop), [name]: `${canary}${name}` });
  const header = (name: string, value: string) => ({ headers: { [name]: value } });
  return [
    ['no key', 400, header('idempotency-key', '')],
    ['a key that is none', 400, header('idempotency-key', `${canary} with blanks`)],
    ['another type', 415, header('content-type', 'text/plain')],
    ['no JSON', 400, { body: `{"name":"${canary}` }],
    ['not UTF-16', 400, { body: `{"name":"${canary}\\ud800"}` }],
    // Of locations a list is right, and this one is not granted.
    ['lists everywhere', names.includes('location_ids') ? 403 : 422, { body: withAll([canary]) }],
    ['objects everywhere', 422, { body: withAll({ value: canary }) }],
    ['too much text', 422, { body: withAll(canary.repeat(540)) }],
    // What is right in itself meets itself: a SKU, a code and an external ID are taken once.
    ...[...names, ...names].map(
      (name): Variant => [`${name} of its own`, undefined, { body: withOne(name) }],
    ),
    ...(one.method === 'PATCH'
      ? [
          [
            'another version',
            isUpsert(one.contract) ? 400 : 412,
            header('if-match', '"999"'),
          ] as const,
        ]
      : []),
  ];
}
