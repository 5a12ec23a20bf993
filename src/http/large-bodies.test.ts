// Bodies beyond 64 KiB cost whoever sends them more than they cost the service.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newKey } from '../../test/kit/api.ts';
import { type Environment, startEnvironment } from '../../test/kit/environment.ts';
import { RawConnection } from '../../test/kit/raw.ts';
import { mintToken } from '../access/token.ts';
import { limits } from '../core/limits.ts';

let service: Environment;
let noisy: string;
let quiet: string;

beforeAll(async () => {
  service = await startEnvironment();
  const caller = async () => (await service.given.credential(await service.given.merchant())).token;
  [noisy, quiet] = [await caller(), await caller()];
});
afterAll(() => service.stop());

const mebibyte = 1024 * 1024;

interface Begun {
  readonly token?: string;
  readonly path?: string;
  readonly lines?: readonly string[];
  readonly length?: number;
  /** What is sent of the body. */
  readonly part?: string;
}

/** Sends the beginning of a request. */
async function begin({ token, path = '/batches', lines = [], length, part = '' }: Begun) {
  const connection = await RawConnection.open(service.api.origin);
  const head = [
    `POST /api/v1${path} HTTP/1.1`,
    'Host: localhost',
    'Content-Type: application/json',
    `Idempotency-Key: ${newKey()}`,
    ...(token === undefined ? [] : [`Authorization: Bearer ${token}`]),
    length === undefined ? 'Transfer-Encoding: chunked' : `Content-Length: ${length}`,
    ...lines,
  ];
  connection.send(`${head.join('\r\n')}\r\n\r\n${part}`);
  return connection;
}

const list = () =>
  JSON.stringify({
    operations: [
      {
        type: 'customers.create',
        idempotency_key: newKey(),
        body: { name: 'Ada', email: 'ada@example.com' },
      },
    ],
  });

describe('a body of a MiB', () => {
  test('is not waited for when its caller is unknown, or takes no JSON', async () => {
    const refused: [Begun, number][] = [
      [{ length: mebibyte }, 401],
      [{ length: mebibyte, token: mintToken('pat') }, 401],
      [{ length: mebibyte, token: noisy, lines: ['Accept: text/html'] }, 406],
      // How long it will be is not known.
      [{ token: mintToken('pat') }, 401],
    ];
    for (const [begun, status] of refused) {
      const connection = await begin({
        ...begun,
        part: begun.length === undefined ? '1\r\n{\r\n' : '{',
      });
      const answer = await connection.next();
      expect([begun, answer?.status]).toEqual([begun, status]);
      expect(answer?.json.meta.request_id).toBe(answer?.headers['x-request-id']);
      connection.end();
    }
  });

  test('is refused at once when it is longer, or the route takes less', async () => {
    for (const begun of [{ length: mebibyte + 1 }, { length: 65_537, path: '/customers' }]) {
      const connection = await begin(begun);
      expect((await connection.next())?.status).toBe(413);
      await connection.hungUp();
    }
  });

  test('is asked for with 100 Continue where the route takes it, and nowhere else', async () => {
    const body = list().padEnd(200_000);
    const expecting = { lines: ['Expect: 100-continue'], length: body.length, token: noisy };
    const taken = await begin(expecting);
    taken.send(body);
    expect((await taken.next())?.status).toBe(200);
    taken.end();
    const refused = await begin({ ...expecting, path: '/customers' });
    expect((await refused.next())?.status).toBe(413);
    refused.end();
  });

  test('comes in chunks, too', async () => {
    const body = list().padEnd(200_000);
    const connection = await begin({ token: noisy });
    connection.send(`${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`);
    expect((await connection.next())?.status).toBe(200);
    connection.end();
  });
});

test('half of them are one caller’s at most; others wait, and are served', async () => {
  const half = ' '.repeat(mebibyte / 2);
  const slow = await Promise.all(
    Array.from({ length: limits.largeBodiesMax }, () =>
      begin({ token: noisy, length: mebibyte, part: half }),
    ),
  );
  const ask = (token: string) =>
    service.api.as(token).send('POST', '/batches', list().padEnd(100_000), { key: newKey() });
  // What is small waits for nothing.
  const small = service.api.as(noisy).send('POST', '/batches', list(), { key: newKey() });
  expect((await small).status).toBe(200);
  expect((await ask(quiet)).status).toBe(200);
  const late = await ask(noisy);
  expect([late.status, late.code]).toEqual([503, 'service_unavailable']);
  const waiting = ask(noisy);
  for (const connection of slow) connection.end();
  expect((await waiting).status).toBe(200);
});
