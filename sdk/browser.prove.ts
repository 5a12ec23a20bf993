// The client in a real browser.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { browserFlags, browserPath } from '../test/kit/browser.ts';
import { type Environment, startEnvironment } from '../test/kit/environment.ts';

let service: Environment;
let profile: string;
let browser: string;
let page: string;
/** Whether the service answers. */
let isOnline = false;
let heard: ((report: unknown) => void) | undefined;

const server = createServer((request, response) => {
  answer(request, response).catch(() => response.destroy());
});

/** The page, what it reports, and the service, as if all came from one address. */
async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = '', url = '', headers } = request;
  const body = await text(request);
  if (url === '/report') heard?.(JSON.parse(body));
  if (!url.startsWith('/api/')) {
    response.setHeader('content-type', 'text/html').end(`<script type="module">${page}</script>`);
    return;
  }
  if (!isOnline) return void response.destroy();
  const names = ['authorization', 'content-type', 'idempotency-key'];
  const passed = names.flatMap((name) => {
    const value = headers[name];
    return typeof value === 'string' ? [[name, value] as [string, string]] : [];
  });
  const init = { method, headers: passed, ...(method === 'GET' ? {} : { body }) };
  const answered = await fetch(service.api.origin + url, init);
  response.writeHead(answered.status, { 'content-type': 'application/json' });
  response.end(await answered.text());
}

beforeAll(async () => {
  service = await startEnvironment();
  browser = await browserPath();
  profile = await mkdtemp(join(tmpdir(), 'tallybook-browser-'));
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL('../test/kit/till-page.ts', import.meta.url))],
    ...{ bundle: true, minify: true, write: false, format: 'esm', platform: 'browser' },
  });
  page = outputFiles[0]?.text ?? '';
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await service.stop();
  await rm(profile, { recursive: true, force: true, maxRetries: 5 });
});

/** Opens the page in a browser of its own, waits for its report, and kills the browser. */
async function visit(words: Readonly<Record<string, string>>): Promise<unknown> {
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/?${new URLSearchParams(words)}`;
  const report = new Promise<unknown>((resolve) => {
    heard = resolve;
  });
  const flags = [...browserFlags, `--user-data-dir=${profile}`];
  // A process group of its own: the browser is many processes.
  const child = spawn(browser, [...flags, url], { detached: true, stdio: 'ignore' });
  const gone = once(child, 'exit').then(() => ({ error: 'the browser ended' }));
  try {
    return await Promise.race([report, gone]);
  } finally {
    kill(child);
    await gone;
  }
}

function kill({ pid, exitCode }: ChildProcess): void {
  if (pid !== undefined && exitCode === null) process.kill(-pid, 'SIGKILL');
}

test('what a browser stored while nothing answered is done once after it was killed', async () => {
  const merchant = await service.given.merchant();
  const { id, token } = await service.given.credential(merchant);
  const location = await service.given.location(merchant);
  const product = await service.given.product(merchant, { precision: 1 });
  const sale = JSON.stringify({ location, product, count: 20 });
  expect(await visit({ do: 'sell', token, sale })).toEqual({
    stored: 20,
    second: 'tallybook-outbox is used by another page.',
  });
  isOnline = true;
  expect(await visit({ do: 'send', token })).toEqual({ waiting: 20, left: 0, credential: id });
  const rows = await service.db.sql<{ quantity_after: string }>(
    'select quantity_after from inventory_movements where product_id = $1 order by sequence',
    [product],
  );
  const expected = Array.from({ length: 20 }, (_, n) => (n + 1) / 2);
  expect(rows.map((row) => Number(row.quantity_after))).toEqual(expected);
}, 120_000);

test('a page of another origin reads nothing of the service, and is told why', async () => {
  const { token } = await service.given.credential(await service.given.merchant());
  const other = service.api.origin;
  const { code, message } = (await visit({ do: 'call', token, other })) as Record<string, string>;
  expect(code).toBe('connection_lost');
  expect(message).toMatch(
    /^No answer came from http:.*; a page of http:\S+ may call its own origin only\)\.$/,
  );
}, 120_000);
