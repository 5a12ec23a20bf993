import { readdir, readFile } from 'node:fs/promises';
import type { FastifyRequest } from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { endpoints } from '../app.ts';
import { problemKinds } from '../core/problem.ts';
import type { Api } from './pipeline.ts';
import { createServer, type HttpServer } from './server.ts';
import { sitesOf } from './sites.ts';

const state = { isReady: async () => true };
let server: HttpServer;
let origin: string;

beforeAll(async () => {
  server = createServer({
    // No page asks anything of it.
    api: {} as Api,
    endpoints,
    sites: sitesOf({ endpoints, isReady: () => state.isReady() }),
    oauthRoutes: [],
    trustedProxies: [],
    onRequest: () => undefined,
  });
  origin = await server.fastify.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(() => server.fastify.close());

async function get(path: string) {
  const response = await fetch(origin + path);
  return { status: response.status, headers: response.headers, text: await response.text() };
}

const anybody = {} as FastifyRequest;

describe('outside the version', () => {
  test('/openapi.json is the committed document', async () => {
    const { status, headers, text } = await get('/openapi.json');
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
    expect(text).toBe(await readFile(new URL('../../openapi.json', import.meta.url), 'utf8'));
  });

  test('pages are in memory once, however many ask and do not read', async () => {
    for (const { path, answer } of sitesOf({ endpoints, isReady: state.isReady })) {
      if (path === '/readyz') continue;
      const [first, second] = await Promise.all([answer(anybody), answer(anybody)]);
      expect([path, second.body === first.body]).toEqual([path, true]);
    }
  });

  test('/docs loads nothing but our own files, and its policy refuses anything else', async () => {
    const { status, headers, text } = await get('/docs');
    expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    const loaded = [...text.matchAll(/<(?:script|link)[^>]* (?:src|href)="([^"]+)"/g)];
    expect(loaded.map(([, address]) => address)).toEqual(['data:,', '/docs/start.js']);
    // Without the script it leads on.
    expect(text).toContain('<a href="/openapi.json">');
    expect(text).toContain('<a href="/docs/guide">');
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self';");
    expect(policy).toContain("connect-src 'self';");
    expect(policy).not.toMatch(/unsafe-eval|https?:|\*/);
    const start = await get('/docs/start.js');
    expect(start.text).toContain("import { init } from '/docs/redoc.js'");
    expect(start.text).toContain("fetch('/openapi.json')");
    expect(start.text).toContain('{ disableTelemetry: true,');
    expect(start.text).not.toMatch(/https?:/);
    const program = await get('/docs/redoc.js');
    expect([program.status, program.headers.get('content-type')]).toEqual([
      200,
      'text/javascript; charset=utf-8',
    ]);
    expect(program.text).toMatch(/export\s*\{[^}]*\binit\b/);
    expect(program.text).toContain('disableTelemetry');
    expect(program.text).not.toContain('https://cdn.redoc.ly');
  });

  test('/docs/errors explains every code, where doc_url points', async () => {
    const { status, headers, text } = await get('/docs/errors');
    expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(headers.get('content-security-policy')).not.toContain('unsafe');
    for (const [code, { title }] of Object.entries(problemKinds)) {
      expect(text).toContain(`<section id="${code}">`);
      expect(text).toContain(title);
    }
  });

  test('the pages for integrators are under /docs, and what they link to is there', async () => {
    const files = await readdir(new URL('../../docs/integrate/', import.meta.url));
    const paths = files.flatMap((name) =>
      name === 'README.md' ? [] : `/docs/${name.replace('.md', '')}`,
    );
    const links = new Set<string>();
    for (const path of paths) {
      const { status, headers, text } = await get(path);
      expect([path, status]).toEqual([path, 200]);
      expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(headers.get('content-security-policy')).toMatch(/default-src 'none'(?!.*unsafe)/);
      expect(text).not.toMatch(/<script|href="(?!https:|\/|#|data:,)/);
      for (const [, link = ''] of text.matchAll(/href="([/#][^"]*)"/g)) {
        links.add(link.startsWith('#') ? path + link : link);
      }
    }
    expect([...links]).toEqual(expect.arrayContaining(['/docs', ...paths]));
    for (const link of links) {
      const [path = '', anchor] = link.split('#');
      const { status, text } = await get(path);
      expect([link, status]).toEqual([link, 200]);
      if (anchor !== undefined) expect(text).toContain(`id="${anchor}"`);
    }
  });

  test('every page has X-Request-Id, answers HEAD and refuses other methods', async () => {
    for (const path of [
      '/openapi.json',
      '/docs',
      '/docs/guide',
      '/docs/errors',
      '/healthz',
      '/readyz',
    ]) {
      const head = await fetch(origin + path, { method: 'HEAD' });
      expect([path, head.status]).toEqual([path, 200]);
      expect(head.headers.get('x-request-id')).toMatch(/^req_/);
      const post = await fetch(origin + path, { method: 'POST', body: '{}' });
      expect([path, post.status, post.headers.get('allow')]).toEqual([path, 405, 'GET, HEAD']);
    }
  });

  test('/healthz says that the process lives, whatever the database does', async () => {
    state.isReady = async () => false;
    const { status, text } = await get('/healthz');
    expect([status, JSON.parse(text)]).toEqual([200, { status: 'ok' }]);
  });

  test('/readyz answers 503 with the error envelope while the service cannot serve', async () => {
    state.isReady = async () => true;
    const ready = await get('/readyz');
    expect([ready.status, JSON.parse(ready.text)]).toEqual([200, { status: 'ready' }]);
    for (const isReady of [async () => false, () => Promise.reject(new Error('database away'))]) {
      state.isReady = isReady;
      const { status, headers, text } = await get('/readyz');
      expect(status).toBe(503);
      expect(headers.get('retry-after')).toBe('1');
      const { error, meta } = JSON.parse(text);
      expect([error.code, error.retryable]).toEqual(['service_unavailable', true]);
      expect(meta.request_id).toBe(headers.get('x-request-id'));
      expect(text).not.toContain('database away');
    }
  });
});
