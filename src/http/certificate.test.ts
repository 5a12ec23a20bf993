// A service without a proxy before it: HTTPS with a certificate from two files, which may change.

import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import {
  makeCertificate,
  type TestCertificate,
  writeCertificate,
} from '../../test/kit/certificates.ts';
import { endpoints } from '../app.ts';
import { Certificate } from './certificate.ts';
import type { Api } from './pipeline.ts';
import { createServer, type HttpServer } from './server.ts';
import { sitesOf } from './sites.ts';

const directory = mkdtempSync(join(tmpdir(), 'tallybook-tls-'));
const files = { cert: join(directory, 'cert.pem'), key: join(directory, 'key.pem') };
const first = makeCertificate(30);
const second = makeCertificate(60);
const changes: Date[] = [];
const failures: string[] = [];
let server: HttpServer;
let port: number;

beforeAll(async () => {
  writeCertificate(first, files);
  const certificate = new Certificate(files);
  server = createServer({
    // No page asks anything of it.
    api: {} as Api,
    endpoints,
    sites: sitesOf({ endpoints, isReady: async () => true }),
    oauthRoutes: [],
    trustedProxies: [],
    certificate,
    onRequest: () => undefined,
  });
  await server.fastify.listen({ host: '127.0.0.1', port: 0 });
  port = (server.fastify.server.address() as AddressInfo).port;
  certificate.watch(server.fastify.server, {
    everyMs: 20,
    onChange: () => changes.push(certificate.validTo),
    onFailure: (error) => failures.push(String(error)),
  });
});
afterAll(async () => {
  await server.fastify.close();
  rmSync(directory, { recursive: true, force: true });
});

interface Asked {
  readonly status: number | undefined;
  readonly text: string;
  /** Whose certificate the server showed. */
  readonly ends: number;
}

function ask(path: string, { cert }: TestCertificate, method = 'GET'): Promise<Asked> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path, method, ca: cert, agent: false };
    const asked = request(options, async (response) => {
      const { valid_to } = (response.socket as TLSSocket).getPeerCertificate();
      let text = '';
      for await (const chunk of response) text += String(chunk);
      resolve({ status: response.statusCode, text, ends: Date.parse(valid_to) });
    });
    asked.on('error', reject).end();
  });
}

test('serves HTTPS, errors of its own included', async () => {
  expect(await ask('/healthz', first)).toMatchObject({ status: 200, text: '{"status":"ok"}' });
  const unknown = await ask('/nothing', first);
  expect([unknown.status, JSON.parse(unknown.text).error.code]).toEqual([404, 'not_found']);
  expect((await ask('/healthz', first, 'POST')).status).toBe(405);
});

test('hangs up on who speaks no TLS, and serves on', async () => {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n');
  const answer = await new Promise<string>((resolve) => {
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
    });
    socket.on('close', () => resolve(text));
  });
  expect(answer).not.toContain('HTTP/1.1');
  expect((await ask('/healthz', first)).status).toBe(200);
});

describe('files that change', () => {
  test('are of no use while they do not belong together: the certificate stays', async () => {
    writeCertificate({ cert: second.cert }, files);
    await vi.waitFor(() => expect(failures).toHaveLength(1), 10_000);
    expect(failures[0]).toContain(files.key);
    expect((await ask('/healthz', first)).ends).toBe(first.validTo.getTime());
    expect(changes).toEqual([]);
  });

  test('are used once they do, without a restart', async () => {
    writeCertificate({ key: second.key }, files);
    await vi.waitFor(() => expect(changes).toHaveLength(1), 10_000);
    expect(changes).toEqual([second.validTo]);
    const answer = await ask('/healthz', second);
    expect([answer.status, answer.ends]).toEqual([200, second.validTo.getTime()]);
    await expect(ask('/healthz', first)).rejects.toThrow(/self-signed|certificate/);
  });

  test('may be missing for a while', async () => {
    rmSync(files.key);
    await vi.waitFor(() => expect(failures).toHaveLength(2), 10_000);
    expect(failures[1]).toContain(`cannot read ${files.key}: there is no such file`);
    expect((await ask('/healthz', second)).status).toBe(200);
  });
});

test('files that are no certificate and its key are refused, by their names', () => {
  const others = { cert: join(directory, 'other.pem'), key: join(directory, 'other-key.pem') };
  expect(() => new Certificate(others)).toThrow(
    `cannot read ${others.cert}: there is no such file`,
  );
  writeCertificate({ cert: first.cert, key: second.key }, others);
  expect(() => new Certificate(others)).toThrow(
    `${others.cert} and ${others.key} are not a certificate and its key in PEM form`,
  );
  writeCertificate({ cert: 'no certificate', key: first.key }, others);
  expect(() => new Certificate(others)).toThrow('not a certificate and its key');
});
