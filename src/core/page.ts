// Keyset pages: over-fetch by one, no counts, no offsets, so page 5,000 costs what page 1 costs. A
// cursor is the last row's sort key, encrypted and authenticated (AES-256-GCM), bound to the route,
// the merchant and the filters it was issued for. It grants nothing: rights are checked every page.

import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';
import Type from 'typebox';
import { limits } from './limits.ts';

export const pageQuery = {
  limit: Type.Integer({
    minimum: 1,
    maximum: limits.pageSizeMax,
    default: limits.pageSizeDefault,
    description: 'How many to return. It may change between pages.',
  }),
  // Any text up to what a URL holds: what is no cursor is an invalid cursor, however long it is.
  cursor: Type.String({
    maxLength: limits.urlBytesMax,
    description: 'meta.next_cursor of the page before, with the same filters.',
  }),
};

export interface PageRequest {
  readonly limit: number;
  /** The sort key of the last row of the page before. */
  readonly after: string | undefined;
}

export interface Page<Item> {
  readonly items: readonly Item[];
  /** The sort key to continue after, when more follows. */
  readonly next: string | undefined;
}

/** How many rows a statement asks for so that `takePage` can tell whether more follows. */
export const fetchSize = (page: PageRequest): number => page.limit + 1;

/** Trims the over-fetched row and names where the next page starts. */
export function takePage<Row, Item>(
  rows: readonly Row[],
  page: PageRequest,
  key: (row: Row) => string,
  present: (row: Row) => Item,
): Page<Item> {
  const shown = rows.slice(0, page.limit);
  const last = shown.at(-1);
  return {
    items: shown.map(present),
    next: rows.length > page.limit && last !== undefined ? key(last) : undefined,
  };
}

/**
 * A page comes out of the database by columns, each as one JSON array: the driver takes its time
 * for every single value, and for those of 51 rows it was half of what a list cost the service.
 */
export type ByColumn<Row> = { readonly [Name in keyof Row]: readonly Row[Name][] | null };

/** The columns of an inner select as a page needs them, in its order. */
export function byColumn(names: readonly string[]): string {
  return names.map((name) => `json_agg(${name}) as ${name}`).join(', ');
}

/** The rows of a page. Columns without values make none. */
export function rowsOf<Row extends object>([answer]: readonly ByColumn<Row>[]): Row[] {
  const columns = Object.entries<readonly unknown[] | null>(answer ?? {}).map(([name, values]) => ({
    name,
    values: values ?? [],
    isTime: name.endsWith('_at'),
  }));
  return Array.from(columns[0]?.values ?? [], (_, index) => {
    const row: Record<string, unknown> = {};
    for (const { name, values, isTime } of columns) {
      const value = values[index];
      row[name] = isTime && typeof value === 'string' ? utcMilliseconds(value) : value;
    }
    return row as Row;
  });
}

/** PostgreSQL writes `2026-01-31T12:00:00.5+00:00` into JSON, without trailing zeros. */
function utcMilliseconds(text: string): string {
  const isWhole = text.length === 29 && text.endsWith('+00:00');
  return isWhole ? `${text.slice(0, 23)}Z` : new Date(text).toISOString();
}

/** What a cursor belongs to. */
export interface CursorScope {
  readonly route: string;
  readonly merchant: string;
  /** The filters of the request, in a canonical order. */
  readonly filters: string;
}

/** What a presented cursor turns out to be. */
export type OpenedCursor =
  | { readonly kind: 'valid'; readonly after: string }
  | { readonly kind: 'malformed' }
  | { readonly kind: 'filter_mismatch' };

const version = 1;
const nonceBytes = 12;
const tagBytes = 16;
const digestBytes = 16;

/** Seals and opens cursors with a key derived from the service's secret. */
export class CursorSealer {
  readonly #key: Buffer;

  constructor(secret: string) {
    this.#key = Buffer.from(hkdfSync('sha256', secret, '', 'tallybook cursor v1', 32));
  }

  seal(scope: CursorScope, after: string): string {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce);
    cipher.setAAD(associatedData(scope));
    // The filters travel inside, so that other filters can be told apart from tampering.
    const plain = Buffer.concat([filterDigest(scope), Buffer.from(after, 'utf8')]);
    const sealed = Buffer.concat([cipher.update(plain), cipher.final()]);
    return Buffer.concat([Buffer.of(version), nonce, sealed, cipher.getAuthTag()]).toString(
      'base64url',
    );
  }

  open(scope: CursorScope, cursor: string): OpenedCursor {
    const bytes = Buffer.from(cursor, 'base64url');
    const isCanonical = bytes.toString('base64url') === cursor;
    if (!isCanonical || bytes.length < 1 + nonceBytes + tagBytes + digestBytes) {
      return { kind: 'malformed' };
    }
    if (bytes[0] !== version) return { kind: 'malformed' };
    const plain = this.#decrypt(scope, bytes);
    if (plain === undefined) return { kind: 'malformed' };
    if (!plain.subarray(0, digestBytes).equals(filterDigest(scope))) {
      return { kind: 'filter_mismatch' };
    }
    return { kind: 'valid', after: plain.subarray(digestBytes).toString('utf8') };
  }

  #decrypt(scope: CursorScope, bytes: Buffer): Buffer | undefined {
    const nonce = bytes.subarray(1, 1 + nonceBytes);
    const decipher = createDecipheriv('aes-256-gcm', this.#key, nonce);
    decipher.setAAD(associatedData(scope));
    decipher.setAuthTag(bytes.subarray(-tagBytes));
    try {
      const sealed = bytes.subarray(1 + nonceBytes, -tagBytes);
      return Buffer.concat([decipher.update(sealed), decipher.final()]);
    } catch {
      return undefined;
    }
  }
}

function associatedData(scope: CursorScope): Buffer {
  return Buffer.from(JSON.stringify([version, scope.route, scope.merchant]), 'utf8');
}

function filterDigest(scope: CursorScope): Buffer {
  return createHash('sha256').update(scope.filters).digest().subarray(0, digestBytes);
}
