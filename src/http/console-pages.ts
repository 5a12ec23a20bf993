// The page of the console, as `npm run build` made it: one document for all of its addresses, which
// is never kept, and its parts, which are kept for ever because their names say what is in them.

import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { Problem } from '../core/problem.ts';
import { notFoundOutside } from './server.ts';
import type { Site } from './site.ts';

const folder = new URL('../../dist/console/', import.meta.url);

const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
};

/** What stands in the document where a nonce belongs: console/vite.config.ts writes it. */
const placeOfNonce = /__NONCE__/g;

/** @throws Error when it was not built. */
export function consolePages(): readonly Site[] {
  const document = readFileSync(new URL('index.html', folder), 'utf8');
  const names = readdirSync(new URL('assets/', folder));
  return [
    { path: '/', answer: async ({ headers }) => leadThere(headers.accept) },
    ...names.map(part),
    ...['/console', '/console/*'].map((path) => ({
      path,
      answer: async ({ url }: { readonly url: string }) => page(url, document),
    })),
  ];
}

/** The parts of Mantine write styles into the page, each with the nonce that this page has. */
function page(url: string, document: string) {
  if (/^\/console\/(api|assets|session|consent)(\/|\?|$)/.test(url)) throw new Problem('not_found');
  const nonce = randomBytes(16).toString('base64url');
  const policy = [
    "default-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
  return {
    status: 200,
    type: 'text/html; charset=utf-8',
    body: document.replaceAll(placeOfNonce, nonce),
    policy,
  };
}

function part(name: string): Site {
  const answer = {
    status: 200,
    type: types[extname(name)] ?? 'application/octet-stream',
    body: readFileSync(new URL(`assets/${name}`, folder)),
    headers: { 'Cache-Control': 'public, max-age=31536000, immutable' },
  };
  return { path: `/console/assets/${name}`, answer: async () => answer };
}

/** Programs that ask for `/` by mistake are told so, in JSON. */
function leadThere(accept = '') {
  if (!accept.includes('text/html')) throw notFoundOutside();
  return { status: 303, type: 'text/plain', body: '', headers: { Location: '/console' } };
}
