// What an earlier version bound and answered, as it was recorded from it. Frozen: a present version
// that binds or answers otherwise breaks every client that retries across an upgrade.

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';

const folder = new URL('kept/', import.meta.url);

export interface Kept {
  readonly commit: string;
  /** The version of the schema. */
  readonly schema: number;
  /** In two parts, so that nobody takes it for a token in use. */
  readonly token: readonly [string, string];
  readonly exchanges: readonly Exchange[];
  readonly lists: readonly { readonly path: string; readonly data: readonly unknown[] }[];
}

export interface Exchange {
  readonly name: string;
  readonly key: string;
  readonly method: 'POST' | 'PATCH';
  readonly path: string;
  readonly ifMatch: string | null;
  /** The bodies as they were sent, or would be. */
  readonly body: string;
  readonly again: string;
  readonly changed: string;
  /** The answer to `again`, after all else had happened. */
  readonly status: number;
  readonly answer: Answered;
}

/** Without the request's own ID. */
export interface Answered {
  readonly data?: unknown;
  readonly error?: unknown;
  readonly meta: { readonly operation_id?: string };
}

/** None before the first migration that follows the foundation. */
export function keptVersions(): number[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .map((name) => Number(name.slice(0, 4)))
    .sort((a, b) => a - b);
}

export function readKept(schema: number): { kept: Kept; rows: string } {
  return {
    kept: JSON.parse(readFileSync(fileOf(schema, 'json'), 'utf8')),
    rows: readFileSync(fileOf(schema, 'sql'), 'utf8'),
  };
}

export function writeKept(kept: Kept, rows: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(fileOf(kept.schema, 'json'), `${JSON.stringify(kept, undefined, 2)}\n`);
  writeFileSync(fileOf(kept.schema, 'sql'), rows);
}

function fileOf(schema: number, kind: 'json' | 'sql'): URL {
  return new URL(`${String(schema).padStart(4, '0')}.${kind}`, folder);
}

/** An answer without what differs from one request to the next, and what may be worded anew. */
export function withoutRequest(body: {
  meta: Record<string, unknown>;
  error?: Record<string, unknown>;
}): Answered {
  const { request_id: _, ...meta } = body.meta;
  const { message: __, ...error } = body.error ?? {};
  return { ...body, ...(body.error === undefined ? {} : { error }), meta };
}
