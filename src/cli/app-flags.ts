// What `tallybook app create` takes: addresses that are exact and safe, and keys that are public.

import { createPublicKey, type JsonWebKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { InvalidArgumentError } from 'commander';
import type { KeySet } from '../access/operator/application-store.ts';
import { systemReason } from '../core/system-failure.ts';

/** Exact addresses, because a redirect address is compared as a whole. */
export function redirectsOf(text: string, before: readonly string[]): readonly string[] {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isLocal =
    url?.protocol === 'http:' && /^(localhost|127\.0\.0\.1|\[::1\])$/.test(url.hostname);
  const isUsable = url?.protocol === 'https:' || isLocal;
  if (isUsable && !text.includes('#') && `${url?.username}` === '') return [...before, text];
  throw new InvalidArgumentError(
    'It must be an https address (http only on this machine) without a fragment.',
  );
}

/** The public keys in a file. */
export function keySetOf(path: string): KeySet {
  let parsed: unknown;
  try {
    parsed = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    const isText = error instanceof SyntaxError;
    const reason = isText ? 'it is not JSON' : systemReason(error);
    throw new InvalidArgumentError(`It cannot be read: ${reason}.`);
  }
  const keys = (parsed as { readonly keys?: unknown } | null)?.keys;
  if (!Array.isArray(keys) || keys.length === 0 || !keys.every(isPublicKey)) {
    throw new InvalidArgumentError(
      'It must be {"keys": […]} with public RSA, EC or OKP keys, and no private ones.',
    );
  }
  return { keys };
}

function isPublicKey(key: unknown): key is object {
  if (typeof key !== 'object' || key === null) return false;
  const { kty, d } = key as { readonly kty?: unknown; readonly d?: unknown };
  if (!['RSA', 'EC', 'OKP'].includes(String(kty)) || d !== undefined) return false;
  try {
    createPublicKey({ key: key as JsonWebKey, format: 'jwk' });
    return true;
  } catch {
    return false;
  }
}
