// Cursors: the last row's sort key, encrypted and authenticated, bound to the route, the merchant
// and the filters it was issued for. A cursor grants nothing: rights are checked on every page.

import { createHash } from 'node:crypto';
import { Sealer } from '../core/sealer.ts';

/** What a cursor belongs to. */
export interface CursorScope {
  readonly route: string;
  readonly merchant: string;
  /** The filters of the request, in a canonical order. */
  readonly filters: string;
}

/** What a cursor from a request is. */
export type OpenedCursor =
  | { readonly kind: 'valid'; readonly after: string }
  | { readonly kind: 'malformed' }
  | { readonly kind: 'filter_mismatch' };

const digestBytes = 16;

/** Seals and opens cursors with a key derived from the service's secret. */
export class CursorSealer {
  readonly #sealer: Sealer;

  constructor(secret: string) {
    this.#sealer = new Sealer(secret, 'tallybook cursor v1');
  }

  seal({ route, merchant, filters }: CursorScope, after: string): string {
    // The filters are inside, so that other filters and tampering give different answers.
    const plain = Buffer.concat([digestOf(filters), Buffer.from(after, 'utf8')]);
    return this.#sealer.seal([route, merchant], plain).toString('base64url');
  }

  open({ route, merchant, filters }: CursorScope, cursor: string): OpenedCursor {
    const bytes = Buffer.from(cursor, 'base64url');
    const isCanonical = bytes.toString('base64url') === cursor;
    const plain = isCanonical ? this.#sealer.open([route, merchant], bytes) : undefined;
    if (plain === undefined || plain.length < digestBytes) return { kind: 'malformed' };
    if (!plain.subarray(0, digestBytes).equals(digestOf(filters))) {
      return { kind: 'filter_mismatch' };
    }
    return { kind: 'valid', after: plain.subarray(digestBytes).toString('utf8') };
  }
}

function digestOf(filters: string): Buffer {
  return createHash('sha256').update(filters).digest().subarray(0, digestBytes);
}
