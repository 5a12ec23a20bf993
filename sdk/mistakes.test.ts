// What somebody reads who used the client wrongly, or whose network did: it says what to change.

import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Environment, startEnvironment } from '../test/kit/environment.ts';
import { freePort } from '../test/kit/port.ts';
import { type ClientOptions, Tallybook, type TallybookError, verifyWebhook } from './main.ts';

let service: Environment;
let token: string;
let usual: ClientOptions;

beforeAll(async () => {
  service = await startEnvironment();
  token = (await service.given.credential(await service.given.merchant())).token;
  usual = { baseUrl: `${service.api.origin}/api/v1`, token, budgetMs: 30_000 };
});
afterAll(() => service.stop());

/** What somebody gave who has no compiler. */
const client = (wrong: Readonly<Record<string, unknown>>) =>
  new Tallybook({ ...usual, ...wrong } as ClientOptions);

async function failureOf(attempt: PromiseLike<unknown>): Promise<TallybookError> {
  return Promise.resolve(attempt).then(
    () => {
      throw new Error('it succeeded');
    },
    (error: TallybookError) => error,
  );
}

describe('before anything is sent', () => {
  test.each([
    [{ token: undefined }, /^The token must be a text .* There is none\.$/],
    [{ token: ' ' }, /There is none/],
    [{ token: 'Bearer tb_pat_a' }, /This one has blanks or other characters/],
    [{ token: 'tb_pat_…' }, /This one has blanks or other characters/],
    [{ baseUrl: undefined }, /^baseUrl must be an address such as https:.*, and not undefined\.$/],
    [{ baseUrl: 'localhost:8080/api/v1' }, /and not localhost:8080/],
    [{ baseUrl: 'https://a.example/api/v1?x=1' }, /and not https:\/\/a\.example\/api\/v1\?x=1/],
    [{ budgetMs: Number.NaN }, /^budgetMs must be milliseconds, not NaN\.$/],
  ])('%j is refused', (wrong, words) => {
    expect(() => client(wrong)).toThrow(words);
    expect(() => client(wrong)).toThrow(TypeError);
  });

  test('a function that gives no token fails the call at once', async () => {
    const error = await failureOf(client({ token: async () => undefined }).credential.get());
    expect(error).toBeInstanceOf(TypeError);
    expect(error.message).toContain('There is none');
  });

  test('a line break behind a token does no harm', async () => {
    const { data } = await client({ token: `${token}\n` }).credential.get();
    expect(data.kind).toBe('personal_access_token');
  });

  test('a webhook that was parsed, or has no secret, is told from a forged one', async () => {
    const headers = {
      'webhook-id': 'evt_1',
      'webhook-timestamp': `${Math.floor(Date.now() / 1000)}`,
      'webhook-signature': 'v1,AAAA',
    };
    const parsed = verifyWebhook({} as string, headers, 'whsec_AAAA');
    expect((await failureOf(parsed)).message).toMatch(/the text or the bytes that came/);
    const without = verifyWebhook('{}', headers, undefined as unknown as string);
    expect((await failureOf(without)).message).toMatch(/webhooks\.secret\.get/);
  });
});

describe('when something else answers', () => {
  const answering = async (answer: RequestListener, budgetMs = 30_000): Promise<TallybookError> => {
    const server = createServer(answer);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const tb = client({ baseUrl: `http://127.0.0.1:${port}/api/v1`, budgetMs });
    const error = await failureOf(tb.credential.get());
    server.closeAllConnections();
    server.close();
    return error;
  };

  test('a page of a proxy is named as what it is', async () => {
    // Longer than it is tried: the first answer is what the error tells.
    const headers = { 'content-type': 'text/html', 'retry-after': '60' };
    for (const status of [200, 404, 502]) {
      const { code, message } = await answering((_, response) =>
        response.writeHead(status, headers).end('<h1>Hotel</h1>'),
      );
      expect(code).toBe('unexpected_answer');
      expect(message).toMatch(
        `The answer ${status} (text/html) is not one of Tallybook: something`,
      );
    }
  });

  test('a redirect says where it leads', async () => {
    const { message } = await answering((_, response) =>
      response.writeHead(301, { location: 'https://new.example/' }).end(),
    );
    expect(message).toContain('which leads to https://new.example/');
  });

  test('silence says how long it was', async () => {
    const { code, message } = await answering(() => undefined, 300);
    expect(code).toBe('connection_lost');
    expect(message).toMatch(/^No answer came from http:\/\/127\.0\.0\.1:\d+ within 0\.3 s\.$/);
  });
});

test('an address where nobody listens is named with the reason', async () => {
  const baseUrl = `http://127.0.0.1:${await freePort()}/api/v1`;
  const { message } = await failureOf(client({ baseUrl, budgetMs: 300 }).credential.get());
  expect(message).toMatch(/^No answer came from http:\/\/127\.0\.0\.1:\d+ \(.*ECONNREFUSED.*\)\.$/);
});

test('an address without the version leads to the right one', async () => {
  const { message } = await failureOf(client({ baseUrl: service.api.origin }).credential.get());
  expect(message).toContain('The API begins at /api/v1');
});

test('a refusal says in its message which fields are wrong', async () => {
  const { message, details } = await failureOf(
    client({}).customers.create({ email: 'ada' } as never),
  );
  expect(details.length).toBeGreaterThan(1);
  expect(message).toContain('(name is required; email ');
  const many = { metadata: { a: 1, b: 2, c: 3, d: 4, e: 5 } };
  const error = await failureOf(client({}).customers.create(many as never));
  expect(error.message).toMatch(/; and \d+ more\)$/);
});
