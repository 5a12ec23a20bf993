// The request headers that mean something to the service, each judged by its own grammar.

import type { IncomingHttpHeaders } from 'node:http';
import { limits } from '../core/limits.ts';
import { Problem } from '../core/problem.ts';

/** @throws Problem not_acceptable when no JSON may be sent. */
export function requireJsonAccepted({ accept }: IncomingHttpHeaders): undefined {
  if (accept === undefined || accept.trim() === '') return;
  // The most specific range decides (RFC 9110, section 12.5.1).
  const ranges = accept.split(',').map((range) => {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const weight = parameters.find((parameter) => parameter.startsWith('q='));
    return { type, isRefused: weight !== undefined && Number(weight.slice(2)) === 0 };
  });
  const decisive = ['application/json', 'application/*', '*/*']
    .map((type) => ranges.find((range) => range.type === type))
    .find((range) => range !== undefined);
  if (decisive === undefined || decisive.isRefused) throw new Problem('not_acceptable');
}

/** @throws Problem unsupported_media_type. */
export function requireJsonBody(contentType: string | undefined, encoding: string | undefined) {
  const isJson = /^application\/json(?: *; *charset *= *"?utf-8"? *)?$/i.test(contentType ?? '');
  const isPlain = encoding === undefined || encoding.toLowerCase() === 'identity';
  if (!isJson || !isPlain) throw new Problem('unsupported_media_type');
}

/**
 * The raw value, byte for byte: quotes are ordinary characters.
 * @throws Problem idempotency_key_required or idempotency_key_invalid.
 */
export function idempotencyKey(headers: IncomingHttpHeaders): string {
  const key = headers['idempotency-key'];
  const field = 'header.idempotency-key';
  if (key === undefined) {
    throw new Problem('idempotency_key_required', {
      details: [{ field, code: 'required', message: 'is required' }],
    });
  }
  const { idempotencyKeyLengthMin: min, idempotencyKeyLengthMax: max } = limits;
  if (typeof key !== 'string' || key.length < min || key.length > max || !isVisible(key)) {
    const message = `must be ${min} to ${max} visible ASCII characters`;
    throw new Problem('idempotency_key_invalid', {
      details: [{ field, code: 'invalid_format', message }],
    });
  }
  return key;
}

function isVisible(text: string): boolean {
  return /^[\x21-\x7e]*$/.test(text);
}

/**
 * The version that If-Match names: `"7"`. Weak tags, lists and `*` are of no use for a write that
 * must meet exactly one version.
 * @throws Problem malformed_request.
 */
export function ifMatchVersion(
  headers: IncomingHttpHeaders,
  isSupported: boolean,
): number | undefined {
  const value = headers['if-match'];
  if (value === undefined) return undefined;
  const version = /^"([1-9][0-9]{0,14})"$/.exec(value)?.[1];
  if (version === undefined || !isSupported) {
    throw new Problem('malformed_request', {
      message: isSupported
        ? 'Malformed request: If-Match must be one ETag such as "7".'
        : 'Malformed request: this route takes no If-Match.',
      details: [{ field: 'header.if-match', code: 'invalid_format', message: 'is not usable' }],
    });
  }
  return Number(version);
}

/**
 * Whether If-None-Match names the ETag: one of a list, weak or not, or `*` (RFC 9110, sections
 * 8.8.3.2 and 13.1.2).
 */
export function isNoneMatch(headers: IncomingHttpHeaders, etag: string | undefined): boolean {
  const value = headers['if-none-match'];
  if (value === undefined || etag === undefined) return false;
  const tags: readonly string[] = value.match(/"[^"]*"/g) ?? [];
  return value.trim() === '*' || tags.includes(etag);
}
