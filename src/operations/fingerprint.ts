// What makes two requests "the same": equal after parsing and normalising the whole command. The
// fingerprint is keyed by the client's own Idempotency-Key, so a copy of the database allows no
// dictionary attack on the e-mail addresses inside. Frozen vectors in the tests keep it stable: a
// changed one would turn retries across an upgrade into conflicts.

import { createHash, createHmac } from 'node:crypto';
import type { OperationType } from '../contract/resource.ts';

export const fingerprintVersion = 1;

/** What a write means. `body` is normalised: defaults filled in, decimals canonical. */
export interface Meaning {
  readonly type: OperationType;
  readonly id: string;
  /** Of an upsert. */
  readonly externalId?: string | undefined;
  readonly ifMatch: number | undefined;
  readonly body: unknown;
}

/** SHA-256 of the key. The raw key may hold personal data and is never stored. */
export function hashKey(key: string): Buffer {
  return createHash('sha256').update('tallybook key 1\0').update(key, 'latin1').digest();
}

export function fingerprint(key: string, meaning: Meaning): Buffer {
  const text = canonicalJson({
    v: fingerprintVersion,
    type: meaning.type,
    id: meaning.id,
    external_id: meaning.externalId,
    if_match: meaning.ifMatch ?? null,
    body: meaning.body,
  });
  return createHmac('sha256', Buffer.from(key, 'latin1')).update(text, 'utf8').digest();
}

/**
 * JSON with sorted members and no white space (RFC 8785; no number here is but a small integer).
 * Members that are undefined are absent, which a PATCH tells apart from null.
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (value === null) return 'null';
  if (typeof value !== 'object') return JSON.stringify(value);
  const object = value as Readonly<Record<string, unknown>>;
  const members: string[] = [];
  for (const name of Object.keys(object).sort()) {
    const member = object[name];
    if (member !== undefined) members.push(`${JSON.stringify(name)}:${canonicalJson(member)}`);
  }
  return `{${members.join(',')}}`;
}
