// What a call does with receivers that are slow, large, false or somewhere else. The receivers are
// real; names are looked up by a function of the test, as the sender takes one.

import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import {
  type AddressInfo,
  createServer,
  type LookupFunction,
  type Server,
  type Socket,
} from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest';
import { makeCertificate } from '../../test/kit/certificates.ts';
import { freePort } from '../../test/kit/port.ts';
import { runProgram, thisCheckout } from '../../test/kit/program.ts';
import { readConfig } from '../config.ts';
import { Destinations } from './address.ts';
import { type CallOutcome, WebhookSender } from './send.ts';

const ended: (() => unknown)[] = [];
afterAll(async () => {
  for (const end of ended) await end();
});
afterEach(() => vi.unstubAllEnvs());

/** What a receiver has seen. */
interface Receiver {
  readonly port: number;
  connections: number;
  readonly sockets: Set<Socket>;
}

async function listening(server: Server): Promise<Receiver> {
  const sockets = new Set<Socket>();
  const receiver: Receiver = { port: 0, connections: 0, sockets };
  server.on('connection', (socket: Socket) => {
    receiver.connections += 1;
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  ended.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return Object.assign(receiver, { port: (server.address() as AddressInfo).port });
}

const answering = (listener: RequestListener) => listening(createHttpServer(listener));

const silent = () => listening(createServer((socket) => socket.resume()));

/** Answers each request with the same bytes, and does what else it is told to. */
const saying = (text: string, then: (socket: Socket) => void = () => undefined) =>
  listening(
    createServer((socket) => {
      socket.on('data', () => {
        socket.write(text);
        then(socket);
      });
    }),
  );

function senderFor(list: string, lookup?: LookupFunction): WebhookSender {
  const { webhookAllow } = readConfig({}, { TALLYBOOK_WEBHOOK_ALLOW: list });
  const sender = new WebhookSender(new Destinations(webhookAllow), lookup);
  ended.push(() => sender.close());
  return sender;
}

function call(sender: WebhookSender, url: string, body = '{}'): Promise<CallOutcome> {
  return sender.send({ url, headers: { 'webhook-id': 'evt_1' }, body });
}

/** Every name has these addresses, until they are changed. */
function names(addresses: string[]): LookupFunction {
  return (_, options, callback) => {
    const found = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    expect(options.all).toBe(true);
    process.nextTick(() => callback(null, found));
  };
}

const local = senderFor('127.0.0.1');
const failed = (failure: string, status: number | null = null) =>
  expect.objectContaining({ failure, status });

describe('a call', () => {
  test('sends the body and the headers as they are, and a 2xx is a success', async () => {
    const seen: unknown[] = [];
    const receiver = await answering(async (request, response) => {
      let text = '';
      for await (const chunk of request) text += String(chunk);
      const { method, url, headers } = request;
      seen.push({ method, url, id: headers['webhook-id'], type: headers['content-type'], text });
      response.writeHead(204).end();
    });
    const outcome = await call(local, `http://127.0.0.1:${receiver.port}/a%20b?c=d#e`, '{"ä":1}');
    expect(outcome).toEqual({ status: 204, failure: null, milliseconds: expect.any(Number) });
    expect(Number.isInteger(outcome.milliseconds)).toBe(true);
    expect(seen).toEqual([
      { method: 'POST', url: '/a%20b?c=d', id: 'evt_1', type: 'application/json', text: '{"ä":1}' },
    ]);
  });

  test.each([400, 404, 410, 429, 500, 503])('with another status fails: %i', async (status) => {
    const receiver = await answering((_, response) => response.writeHead(status).end('no'));
    const outcome = await call(local, `http://127.0.0.1:${receiver.port}/`);
    expect(outcome).toEqual(failed('status', status));
  });

  test.each([301, 302, 303, 307, 308])('follows no redirect: %i', async (status) => {
    const other = await answering((_, response) => response.end());
    const receiver = await answering((_, response) => {
      response.writeHead(status, { location: `http://127.0.0.1:${other.port}/` }).end();
    });
    const outcome = await call(local, `http://127.0.0.1:${receiver.port}/`);
    expect(outcome).toEqual(failed('redirect', status));
    expect(other.connections).toBe(0);
  });

  test('uses a connection again after an answer of usual size', async () => {
    const receiver = await answering((_, response) => response.end('x'.repeat(60_000)));
    for (let count = 0; count < 5; count += 1) {
      expect((await call(local, `http://127.0.0.1:${receiver.port}/`)).failure).toBeNull();
      // The connection is free a moment after the end of its answer.
      await setImmediate();
    }
    expect(receiver.connections).toBe(1);
  });

  test('uses no proxy that the environment names', async () => {
    const proxy = await answering((_, response) => response.end());
    for (const name of ['HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'NODE_USE_ENV_PROXY']) {
      vi.stubEnv(name, name === 'NODE_USE_ENV_PROXY' ? '1' : `http://127.0.0.1:${proxy.port}`);
    }
    const receiver = await answering((_, response) => response.end());
    const outcome = await call(senderFor('127.0.0.1'), `http://127.0.0.1:${receiver.port}/`);
    expect([outcome.failure, receiver.connections, proxy.connections]).toEqual([null, 1, 0]);
  });

  test('ends with the service', async () => {
    const receiver = await silent();
    const sender = senderFor('127.0.0.1');
    const calls = [call(sender, `http://127.0.0.1:${receiver.port}/`)];
    await vi.waitFor(() => expect(receiver.connections).toBe(1), 10_000);
    await sender.close();
    calls.push(call(sender, `http://127.0.0.1:${receiver.port}/`));
    expect(await Promise.all(calls)).toEqual([failed('stopped'), failed('stopped')]);
  });
});

describe('a receiver', () => {
  const slow: [string, number | null, () => Promise<Receiver>][] = [
    ['accepts and says nothing', null, () => silent()],
    ['sends its headers byte by byte', null, () => dripping('HTTP/1.1 200 OK\r\nX: ')],
    ['sends its body byte by byte', 200, () => dripping('HTTP/1.1 200 OK\r\n\r\n')],
    ['sends interim answers without end', null, () => dripping('', 'HTTP/1.1 103 X\r\n\r\n')],
    ['never ends its body', 200, () => saying('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n')],
  ];

  test.concurrent.each(slow)('that %s is left after 10 s', async (_, status, start) => {
    const receiver = await start();
    const outcome = await call(local, `http://127.0.0.1:${receiver.port}/`);
    expect(outcome).toEqual(failed('timeout', status));
    expect(outcome.milliseconds).toBeGreaterThanOrEqual(9_990);
    expect(outcome.milliseconds).toBeLessThan(14_000);
    await vi.waitFor(() => expect(receiver.sockets.size).toBe(0), 10_000);
  });

  test.concurrent('whose name is never found is left after 10 s', async () => {
    const outcome = await call(
      senderFor('', () => undefined),
      'https://example.com/',
    );
    expect(outcome).toEqual(failed('timeout'));
    expect(outcome.milliseconds).toBeLessThan(14_000);
  });

  test.concurrent('that begins no TLS is left after 10 s', async () => {
    const receiver = await silent();
    const outcome = await call(local, `https://127.0.0.1:${receiver.port}/`);
    expect(outcome).toEqual(failed('timeout'));
    expect(outcome.milliseconds).toBeLessThan(14_000);
  });

  test.each([
    ['a gigabyte of known length', { 'content-length': String(2 ** 30) }],
    ['without end', {}],
  ])('that answers %s is cut off after 64 KiB', async (_, headers) => {
    let sent = 0;
    const chunk = Buffer.alloc(64 * 1024, 'x');
    const receiver = await answering((_, response) => {
      response.writeHead(200, headers);
      const more = () => {
        while (!response.destroyed && sent < 2 ** 30) {
          sent += chunk.length;
          if (!response.write(chunk)) break;
        }
      };
      response.on('drain', more);
      more();
    });
    const outcome = await call(local, `http://127.0.0.1:${receiver.port}/`);
    expect(outcome).toMatchObject({ status: 200, failure: null });
    await vi.waitFor(() => expect(receiver.sockets.size).toBe(0), 10_000);
    // What fits into the buffers of two sockets.
    expect(sent).toBeLessThan(16 * 1024 * 1024);
  });

  const ok = 'HTTP/1.1 200 OK\r\n';
  const switching = 'HTTP/1.1 101 X\r\nUpgrade: x\r\n';
  test.each([
    ['closes at once', '', null, 'connection_closed'],
    ['closes within its headers', `${ok}X:`, null, 'connection_closed'],
    ['closes within its body', `${ok}Content-Length: 9\r\n\r\nabc`, 200, 'connection_closed'],
    [
      'closes within a chunk',
      `${ok}Transfer-Encoding: chunked\r\n\r\n9\r\nabc`,
      200,
      'connection_closed',
    ],
    ['speaks no HTTP', 'SSH-2.0-OpenSSH_9.6\r\n', null, 'malformed_answer'],
    ['has headers without end', `${ok}${'X: y\r\n'.repeat(9_000)}`, null, 'malformed_answer'],
    ['switches protocols', `${switching}\r\n`, null, 'malformed_answer'],
    ['upgrades', `${switching}Connection: upgrade\r\n\r\n`, null, 'connection_closed'],
  ])('that %s fails', async (_, text, status, failure) => {
    const receiver = await saying(text, (socket) => setTimeout(() => socket.end(), 20));
    const outcome = await call(local, `http://127.0.0.1:${receiver.port}/`);
    expect(outcome).toEqual(failed(failure, status));
  });

  test('that answers with any mixture of lines gets an outcome and harms nobody', async () => {
    const lines = [
      ...[
        'HTTP/1.1 200 OK',
        'HTTP/1.0 200',
        'HTTP/1.1 100 Continue\r\n',
        '',
        '\r\n',
        'abc',
        'HTTP/2',
      ],
      ...[
        'HTTP/1.1 101 X',
        'Connection: upgrade',
        'Upgrade: h2c',
        'HTTP/1.1 204 X',
        ': x',
        'x: \0',
      ],
      ...[
        'Content-Length: 3',
        'Content-Length: 99999999999999999999',
        '3\r\nabc',
        '0\r\n',
        'FFFFFFFFF',
      ],
      ...[
        'Transfer-Encoding: chunked',
        'Keep-Alive: timeout=-1',
        'Connection: close',
        'Trailer: x',
      ],
      ...['HTTP/1.1 99 X', 'HTTP/1.1 304 X', 'HTTP/1.1 103 X\r\n', 'Content-Encoding: gzip'],
    ];
    const mixture = fc.array(fc.constantFrom(...lines), { minLength: 1, maxLength: 8 });
    const answers = fc.sample(mixture, 500).map((chosen) => `${chosen.join('\r\n')}\r\n`);
    const receiver = await listening(
      createServer((socket) => {
        socket.on('data', (bytes) => {
          const [, index] = /^POST \/([0-9]+) /.exec(String(bytes)) ?? [];
          socket.write(answers[Number(index)] ?? '', 'latin1');
          setTimeout(() => socket.end(), 2);
        });
      }),
    );
    const url = `http://127.0.0.1:${receiver.port}/`;
    const outcomes = await Promise.all(answers.map((_, index) => call(local, `${url}${index}`)));
    expect(new Set(outcomes.map(({ failure }) => failure)).size).toBeGreaterThan(2);
    answers.push('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    const usual = await call(local, `${url}${answers.length - 1}`);
    expect(usual).toMatchObject({ status: 200, failure: null });
  });

  test('that is not there fails', async () => {
    const url = `http://127.0.0.1:${await freePort()}/`;
    expect(await call(local, url)).toEqual(failed('connection_refused'));
    const unknown: LookupFunction = (_, __, callback) =>
      callback(Object.assign(new Error('not found'), { code: 'ENOTFOUND' }), []);
    const outcome = await call(senderFor('', unknown), 'https://example.com/');
    expect(outcome).toEqual(failed('name_not_found'));
  });
});

/** Goes on with a byte, or a text, each tenth of a second. */
function dripping(start: string, drop = 'x'): Promise<Receiver> {
  return saying(start, (socket) => {
    const timer = setInterval(() => socket.write(drop), 100);
    socket.on('close', () => clearInterval(timer));
  });
}

describe('an address that is not allowed', () => {
  test('is not connected to, though the URL names it itself', async () => {
    const receiver = await answering((_, response) => response.end());
    const sender = senderFor('10.0.0.0/8');
    for (const host of ['127.0.0.1', '0x7f.1', '2130706433', '[::ffff:127.0.0.1]', 'localhost']) {
      for (const scheme of ['http', 'https']) {
        const outcome = await call(sender, `${scheme}://${host}:${receiver.port}/`);
        expect(outcome, host).toEqual(failed('address_not_allowed'));
      }
    }
    expect(receiver.connections).toBe(0);
  });

  test('is not connected to when a name that was judged means it a moment later', async () => {
    const receiver = await answering((_, response) => response.end());
    const addresses = ['93.184.215.14'];
    const url = `https://rebinding.example:${receiver.port}/`;
    const sender = senderFor('', names(addresses));
    expect(new Destinations([]).urlFault(url)).toBeUndefined();
    addresses.splice(0, 1, '127.0.0.1', '::1', '::ffff:127.0.0.1', '169.254.169.254');
    expect(await call(sender, url)).toEqual(failed('address_not_allowed'));
    expect(receiver.connections).toBe(0);
  });

  test('is left out when a name has an allowed one as well, though nobody is there', async () => {
    const receiver = await answering((_, response) => response.end());
    const sender = senderFor('127.0.0.2', names(['127.0.0.1', '127.0.0.2', '::1']));
    const outcome = await call(sender, `http://several.example:${receiver.port}/`);
    expect([outcome.status, receiver.connections]).toEqual([null, 0]);
    expect(outcome.failure).toMatch(/^connection_|^timeout$/);
  });

  test('is not connected to after a connection to an allowed one of its name', async () => {
    const receiver = await answering((_, response) => response.end());
    const other = await answering((_, response) => response.end());
    const addresses = ['127.0.0.1'];
    const sender = senderFor('127.0.0.1', names(addresses));
    const url = `http://good.example:${receiver.port}/`;
    expect((await call(sender, url)).failure).toBeNull();
    addresses[0] = '127.0.0.3';
    await setImmediate();
    expect((await call(sender, url)).failure).toBeNull();
    expect(receiver.connections).toBe(1);
    for (const socket of receiver.sockets) socket.destroy();
    await vi.waitFor(
      async () => expect(await call(sender, url)).toEqual(failed('address_not_allowed')),
      10_000,
    );
    expect(await call(sender, `http://good.example:${other.port}/`)).toEqual(
      failed('address_not_allowed'),
    );
    expect([receiver.connections, other.connections]).toEqual([1, 0]);
  });

  test('is not reached over the open connection of an allowed name, port or protocol', async () => {
    const receiver = await answering((_, response) => response.end());
    const { port } = receiver;
    const sender = senderFor(`good.example:${port}`, names(['127.0.0.1']));
    expect((await call(sender, `http://good.example:${port}/`)).failure).toBeNull();
    for (const host of ['evil.example', 'a.good.example', 'good.example.evil.example']) {
      const outcome = await call(sender, `http://${host}:${port}/`);
      expect(outcome, host).toEqual(failed('address_not_allowed'));
    }
    expect((await call(sender, `http://127.0.0.1:${port}/`)).failure).toBe('address_not_allowed');
    expect((await call(sender, 'http://good.example/')).failure).toBe('address_not_allowed');
    expect(receiver.connections).toBe(1);
  });

  test('is any address without TLS, unless the operator allows it', async () => {
    const sender = senderFor('10.0.0.0/8', names(['93.184.215.14']));
    expect(await call(sender, 'http://example.com/')).toEqual(failed('address_not_allowed'));
  });
});

describe('over TLS', () => {
  const certificate = makeCertificate();
  const serving = () => {
    let requests = 0;
    const server = createHttpsServer(certificate, (_, response) => {
      requests += 1;
      response.end(String(requests));
    });
    return { server, requests: () => requests };
  };

  test('nothing is sent to a receiver with a certificate that is not trusted', async () => {
    const { server, requests } = serving();
    const { port } = await listening(server);
    for (const unsafe of ['', '0']) {
      vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', unsafe);
      const outcome = await call(senderFor('127.0.0.1'), `https://127.0.0.1:${port}/`);
      expect(outcome).toEqual(failed('tls_failed'));
    }
    expect(requests()).toBe(0);
  });

  test('a receiver without TLS fails', async () => {
    const receiver = await answering((_, response) => response.end());
    const outcome = await call(local, `https://127.0.0.1:${receiver.port}/`);
    expect(outcome).toEqual(failed('tls_failed'));
  });

  test('a trusted certificate counts for its own host only', async () => {
    const { server, requests } = serving();
    const { port } = await listening(server);
    const file = join(tmpdir(), `tallybook-ca-${process.pid}.pem`);
    writeFileSync(file, certificate.cert);
    ended.push(() => rmSync(file));
    const script = `
      import { Destinations } from './src/webhooks/address.ts';
      import { WebhookSender } from './src/webhooks/send.ts';
      const allowed = [{ kind: 'range', address: '127.0.0.1', prefix: 32 }];
      const lookup = (name, options, done) => done(null, [{ address: '127.0.0.1', family: 4 }]);
      const sender = new WebhookSender(new Destinations(allowed), lookup);
      const outcomes = [];
      const call = { headers: {}, body: '{}' };
      for (const host of ['localhost', '127.0.0.1', 'other.example', 'localhost']) {
        const url = 'https://' + host + ':${port}/';
        outcomes.push(await sender.send({ ...call, url }));
      }
      console.log(JSON.stringify(outcomes));
      await sender.close();
    `;
    const args = ['--import', 'tsx', '--input-type=module', '--eval', script];
    const env = { NODE_EXTRA_CA_CERTS: file };
    const options = { limitMs: 30_000, cwd: thisCheckout, env };
    const outcomes: unknown = JSON.parse(await runProgram(process.execPath, args, options));
    const success = expect.objectContaining({ status: 200, failure: null });
    expect(outcomes).toEqual([success, success, failed('tls_failed'), success]);
    expect(requests()).toBe(3);
  });
});
