// Checks an HTTP message before its route is known: version, URL and header lines. Node joins or
// drops repeated headers silently, so the raw lines are counted here.

import type { IncomingMessage } from 'node:http';
import { limits } from '../../core/limits.ts';
import { Problem } from '../../core/problem.ts';

/** Repeating one of these makes the request mean two things at once. */
const singular = new Set([
  'host',
  'authorization',
  'idempotency-key',
  'content-type',
  'content-encoding',
  'if-match',
  'accept',
]);

/** Names, addresses and a port: RFC 9110, section 7.2, requires to refuse all else. */
const hostGrammar = /^[\w.~!$&'()*+,;=%:[\]-]*$/;

/** @throws Problem malformed_request, uri_too_long or headers_too_large. */
export function checkMessage(request: IncomingMessage): void {
  const { rawHeaders, url = '', httpVersion } = request;
  if (httpVersion !== '1.1' && httpVersion !== '1.0') throw malformed('use HTTP/1.1');
  if (url.length > limits.urlBytesMax) throw new Problem('uri_too_long', closing);
  if (rawHeaders.length / 2 > limits.headerLinesMax) {
    throw new Problem('headers_too_large', closing);
  }
  let size = 0;
  let hosts = 0;
  const seen: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] ?? '').toLowerCase();
    size += name.length + (rawHeaders[i + 1] ?? '').length + 4;
    if (name === 'host') hosts += 1;
    if (!singular.has(name)) continue;
    if (seen.includes(name)) throw malformed(`the header ${name} appears twice`);
    seen.push(name);
  }
  if (size > limits.headerBytesMax) throw new Problem('headers_too_large', closing);
  if (hosts === 0) throw malformed('the header Host is missing');
  if (!hostGrammar.test(request.headers.host ?? '')) throw malformed('the Host is not one');
  const coding = request.headers['transfer-encoding'];
  if (coding !== undefined && httpVersion === '1.0') throw malformed('HTTP/1.0 has no chunks');
  if (coding !== undefined && coding.trim().toLowerCase() !== 'chunked') {
    throw malformed('the only transfer coding is chunked');
  }
  if (url === '*') throw new Problem('method_not_allowed', { headers: { Allow: servedMethods } });
  if (!url.startsWith('/') || url.includes('#')) throw malformed('the target must be a path');
}

/** In the answer to a request that names no path. */
export const servedMethods = 'GET, HEAD, POST, PATCH';

/**
 * Whether a path spells its route literally. One resource has one path: with an encoded letter in
 * the route's own name, it is an unknown one.
 */
export function isLiteral(url: string, template: string): boolean {
  const [path = ''] = url.split('?');
  const segments = path.split('/');
  const isOpen = (name: string) => name.startsWith(':') || name === '*';
  return template.split('/').every((name, i) => isOpen(name) || name === segments[i]);
}

/** The query as name and value pairs, decoded strictly. */
export function searchOf(url: string): URLSearchParams {
  const start = url.indexOf('?');
  const search = new URLSearchParams();
  if (start < 0) return search;
  for (const pair of url.slice(start + 1).split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = equals < 0 ? pair : pair.slice(0, equals);
    search.append(decoded(name), equals < 0 ? '' : decoded(pair.slice(equals + 1)));
  }
  return search;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw new Problem('malformed_request', { message: 'The query is not valid percent-encoding.' });
  }
}

const closing = { headers: { Connection: 'close' } };

function malformed(why: string): Problem {
  return new Problem('malformed_request', { ...closing, message: `Malformed request: ${why}.` });
}
