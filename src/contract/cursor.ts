// Cursors: the last row's sort key, encrypted and authenticated (AES-256-GCM), bound to the route,
// the merchant and the filters it was issued for. A cursor grants nothing: rights are checked on
// every page.

import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';

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
    // The filters are inside, so that other filters and tampering give different answers.
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
