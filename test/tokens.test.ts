// Every fault that a token can have, on every route: all get the same answer, to the last
// character. And credentials that are no bearer token, in every place where a client may put them.

import { crc32 } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mintToken } from '../src/access/token.ts';
import { newKey } from './kit/api.ts';
import { Applications } from './kit/applications.ts';
import { type Case, cases, freshBody, pathOf } from './kit/cases.ts';
import { extent, extentName, shareOf, timeout } from './kit/extent.ts';
import { createTestMerchant, type TestMerchant } from './kit/merchant.ts';
import { exchange } from './kit/raw.ts';
import { type Reply, Sender, sameness } from './kit/sender.ts';
import { startWholeEnvironment, type WholeEnvironment } from './kit/whole-environment.ts';

let service: WholeEnvironment;
let applications: Applications;
let sender: Sender;
let shop: TestMerchant;
/** The answer to every bad token. */
let refusal: string;

beforeAll(async () => {
  service = await startWholeEnvironment();
  applications = new Applications(service.db);
  sender = new Sender(service.origin);
  shop = await createTestMerchant(service);
  const reply = await present(mintToken('pat'));
  expect([reply.status, reply.headers['content-type'], reply.headers['www-authenticate']]).toEqual([
    401,
    'application/json; charset=utf-8',
    'Bearer realm="tallybook", error="invalid_token"',
  ]);
  expect(JSON.parse(reply.text)).toEqual({
    error: {
      code: 'invalid_token',
      message: expect.any(String),
      retryable: false,
      doc_url: '/docs/errors#invalid_token',
      details: [],
    },
    meta: { request_id: reply.headers['x-request-id'] },
  });
  refusal = sameness(reply);
});
afterAll(async () => {
  sender.close();
  await service.stop();
});

/** A request with these headers that is valid otherwise. */
function request(
  one: Case | undefined,
  headers: Readonly<Record<string, string>>,
  search = '',
): Promise<Reply> {
  if (one === undefined) return sender.send('GET', `/api/v1/credential${search}`, headers);
  const path = `/api/v1${pathOf(one, shop, { search })}`;
  if (one.contract.kind !== 'write') return sender.send('GET', path, headers);
  const more = { 'content-type': 'application/json', 'idempotency-key': newKey() };
  return sender.send(
    one.method,
    path,
    { ...more, ...headers },
    JSON.stringify(freshBody(one, shop)),
  );
}

function present(token: string, one?: Case): Promise<Reply> {
  return request(one, { authorization: `Bearer ${token}` });
}

/** Of the routes each token tries one of so many, and the next token the next ones. */
const shares = 5;
let tokens = 0;

async function expectRefused(name: string, token: string): Promise<void> {
  tokens += 1;
  for (const one of shareOf(cases, shares, tokens)) {
    expect([name, one.name, sameness(await present(token, one))]).toEqual([
      name,
      one.name,
      refusal,
    ]);
  }
}

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** The same random part under another prefix, with the checksum that belongs to it. */
function forged(token: string, prefix: string): string {
  const body = prefix + token.slice(7, -6);
  let rest = crc32(body);
  let checksum = '';
  for (let i = 0; i < 6; i += 1) {
    checksum = alphabet.charAt(rest % 62) + checksum;
    rest = Math.floor(rest / 62);
  }
  return body + checksum;
}

test('a forged token has the form of a real one', () => {
  expect(forged(shop.token, 'tb_pat_')).toBe(shop.token);
});

describe(`a token is refused, in the same words on every route (${extentName}),`, () => {
  const other = (text: string) =>
    [...text]
      .map((letter) =>
        letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
      )
      .join('');
  const wrong: [string, (token: string) => string][] = [
    ['that is empty', () => ''],
    ['without its last character', (token) => token.slice(0, -1)],
    ['without its first character', (token) => token.slice(1)],
    ['that is one character longer', (token) => `${token}0`],
    ['twice in a row', (token) => token + token],
    ['without its prefix', (token) => token.slice(7)],
    ['in capitals', (token) => token.toUpperCase()],
    ['in small letters', (token) => token.toLowerCase()],
    ['in the other case', other],
    ['in quotes', (token) => `"${token}"`],
    ['with a comma', (token) => `${token},`],
    ['with a blank inside', (token) => `${token.slice(0, 20)} ${token.slice(20)}`],
    ['with a second word', (token) => `${token} ${token}`],
    ['with a parameter', (token) => `${token} realm="tallybook"`],
    ['in percent-encoding', (token) => token.replaceAll('_', '%5F')],
    ['with an encoded null', (token) => `${token}%00`],
    ['as its last characters', (token) => token.slice(-4)],
    ['of another kind, with a right checksum', (token) => forged(token, 'tb_oat_')],
    ['of the kind of a client secret', (token) => forged(token, 'tb_ocs_')],
    ['of no kind, with a right checksum', (token) => forged(token, 'tb_adm_')],
    ['that does not exist', () => mintToken('pat')],
    ['that no application has', () => mintToken('oat')],
  ];

  test.each(wrong)('%s', async (name, spoil) => {
    expect((await present(shop.token)).status).toBe(200);
    await expectRefused(name, spoil(shop.token));
  });
});

/** One of each record that a token can depend on. */
async function givenChain() {
  const { given } = service;
  const { merchant } = shop;
  const giver = await given.credential(merchant);
  const application = await applications.application();
  const other = await given.merchant();
  const approval = await applications.approval(merchant, application);
  const consent = await applications.consent(merchant, application, {
    approval,
    by: giver.token,
  });
  return {
    giver,
    application,
    approval,
    consent,
    ofApproval: await applications.token(merchant, approval),
    ofConsent: await applications.token(merchant, consent),
    elsewhere: await applications.token(other, await applications.approval(other, application)),
  };
}

type Chain = Awaited<ReturnType<typeof givenChain>>;

const revoke = 'update credentials set revoked_at = now() where id = $1';
const expire =
  'update credential_tokens set expires_at = clock_timestamp() where credential_id = $1';

describe(`a token that has ended is refused like one that never existed (${extentName}):`, () => {
  const ends: [string, (one: Chain) => [spoilt: string, ...statements: [string, string][]]][] = [
    ['expired a moment ago', ({ giver }) => [giver.token, [expire, giver.id]]],
    ['revoked', ({ giver }) => [giver.token, [revoke, giver.id]]],
    ['revoked and expired', ({ giver }) => [giver.token, [revoke, giver.id], [expire, giver.id]]],
    ['of an approval, expired', (one) => [one.ofApproval, [expire, one.approval]]],
    ['of an approval that is revoked', (one) => [one.ofApproval, [revoke, one.approval]]],
    ['of an application that is disabled', (one) => [one.ofApproval, [disable, one.application]]],
    ['of a consent, expired', (one) => [one.ofConsent, [expire, one.consent]]],
    ['of a consent that is revoked', (one) => [one.ofConsent, [revoke, one.consent]]],
    ['of a consent under a revoked approval', (one) => [one.ofConsent, [revoke, one.approval]]],
    ['of a consent to a disabled one', (one) => [one.ofConsent, [disable, one.application]]],
    ['of a consent whose giver is revoked', (one) => [one.ofConsent, [revoke, one.giver.id]]],
    ['of a consent whose token has ended', (one) => [one.ofConsent, [expire, one.giver.id]]],
  ];
  const disable = 'update applications set disabled_at = now() where id = $1';

  test.each(ends)('%s', async (name, end) => {
    const chain = await givenChain();
    const [token, ...statements] = end(chain);
    expect((await present(token)).status).toBe(200);
    for (const [statement, id] of statements) await service.db.sql(statement, [id]);
    await expectRefused(name, token);
  });

  test('while tokens of other records stay valid', async () => {
    const chain = await givenChain();
    await service.db.sql(revoke, [chain.consent]);
    expect((await present(chain.ofApproval)).status).toBe(200);
    await service.db.sql(revoke, [chain.giver.id]);
    expect((await present(chain.ofApproval)).status).toBe(200);
    await service.db.sql(revoke, [chain.approval]);
    expect((await present(chain.ofApproval)).status).toBe(401);
    expect((await present(chain.elsewhere)).status).toBe(200);
  });
});

test('no token with another character in one place is admitted', {
  timeout,
}, async () => {
  const { ofConsent } = await givenChain();
  const random = seeded(20_261_121);
  const bytes = Array.from({ length: 0x100 }, (_, code) => String.fromCharCode(code)).filter(
    (character) => /[\t\x20-\x7e\x80-\xff]/.test(character),
  );
  const flips = Array.from({ length: extent(400, 10_000) }, () => {
    const token = random() < 0.5 ? shop.token : ofConsent;
    const at = Math.floor(random() * token.length);
    const others = bytes.filter((character) => character !== token[at]);
    const character = others[Math.floor(random() * others.length)] ?? '';
    const one = cases[Math.floor(random() * cases.length)];
    return { token: token.slice(0, at) + character + token.slice(at + 1), one };
  });
  const admitted: string[] = [];
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (let flip = flips.pop(); flip !== undefined; flip = flips.pop()) {
        const reply = await present(flip.token, flip.one);
        if (sameness(reply) !== refusal) admitted.push(`${flip.token} ${reply.text}`);
      }
    }),
  );
  expect(admitted).toEqual([]);
  expect((await present(ofConsent)).status).toBe(200);
});

/** The same numbers from 0 to 1 in every run (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

describe.each(cases)('$name', (one) => {
  const head = () => {
    const { length } = JSON.stringify(freshBody(one, shop));
    const isWrite = one.contract.kind === 'write';
    const more = isWrite
      ? `Content-Type: application/json\r\nIdempotency-Key: ${newKey()}\r\n`
      : '';
    const line = `${one.method} /api/v1${pathOf(one, shop)} HTTP/1.1\r\nHost: x\r\n`;
    return { line: line + more, length: isWrite ? length : 0 };
  };

  test('takes a token from the header Authorization only', async () => {
    const { token } = shop;
    const base64 = (text: string) => Buffer.from(text).toString('base64');
    const places: [Readonly<Record<string, string>>, string?][] = [
      [{}],
      [{ authorization: '' }],
      [{ authorization: token }],
      [{ authorization: `Basic ${base64(`${token}:`)}` }],
      [{ authorization: `Basic ${base64(`tallybook:${token}`)}` }],
      [{ authorization: `Bearer:${token}` }],
      [{ authorization: `Bearer\t${token}` }],
      [{ authorization: `DPoP ${token}` }],
      [{ cookie: `access_token=${token}; authorization=Bearer ${token}` }],
      [{ 'proxy-authorization': `Bearer ${token}` }],
      [{ 'x-api-key': token, 'x-authorization': `Bearer ${token}` }],
      [{}, `access_token=${token}`],
      [{}, `token=${token}&authorization=Bearer+${token}`],
    ];
    const replies = await Promise.all(
      places.map(([headers, search]) => request(one, headers, search)),
    );
    expect(new Set(replies.map(sameness)).size).toBe(1);
    expect(replies[0]?.headers['www-authenticate']).toBe('Bearer realm="tallybook"');
    expect(JSON.parse(replies[0]?.text ?? '').error.code).toBe('authentication_required');
    if (one.contract.kind !== 'write') return;
    const inBody = JSON.stringify({ ...freshBody(one, shop), access_token: token });
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const path = `/api/v1${pathOf(one, shop)}`;
    const json = { 'content-type': 'application/json' };
    for (const reply of [
      await sender.send(one.method, path, json, inBody),
      await sender.send(one.method, path, form, `access_token=${token}`),
    ]) {
      expect(sameness(reply)).toBe(sameness(replies[0] as Reply));
    }
  });

  test('is 400 with two Authorization lines, for any content', async () => {
    const right = `Authorization: Bearer ${shop.token}\r\n`;
    for (const lines of [right + right, `${right}authorization: Bearer x\r\n`]) {
      const { answers } = await exchange(service.origin, [`${head().line}${lines}\r\n`]);
      expect(answers.map(({ status, json }) => [status, json.error.code])).toEqual([
        [400, 'malformed_request'],
      ]);
    }
  });

  test('is 431 with a token of a megabyte', async () => {
    const token = `tb_pat_${'a'.repeat(1 << 20)}`;
    const text = `${head().line}Authorization: Bearer ${token}\r\n\r\n`;
    const { answers } = await exchange(service.origin, [text]);
    expect(answers.map(({ status, json }) => [status, json.error.code])).toEqual([
      [431, 'headers_too_large'],
    ]);
  });
});

describe('a valid token is admitted', () => {
  // RFC 9110, sections 5.5, 11.1 and 11.4: blanks around a field are no part of it, the scheme has
  // no case, and one blank or more is between it and the token.
  test.each([
    ['after blanks', (token: string) => `   Bearer ${token}`],
    ['before blanks', (token: string) => `Bearer ${token} \t `],
    ['after two blanks', (token: string) => `Bearer  ${token}`],
    ['with a scheme in small letters', (token: string) => `bearer ${token}`],
    ['with a scheme in capitals', (token: string) => `BEARER ${token}`],
  ])('%s', async (_, field) => {
    const line = 'GET /api/v1/credential HTTP/1.1\r\nHost: x\r\n';
    const text = `${line}Authorization: ${field(shop.token)}\r\n\r\n`;
    const { answers } = await exchange(service.origin, [text]);
    expect(answers.map(({ status }) => status)).toEqual([200]);
  });
});
