// Encryption with a key derived from the service's secret, one for each use: AES-256-GCM, bound to
// what the sealed bytes belong to, so that they cannot be opened as another's. Layout: version,
// nonce, ciphertext, tag.

import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const cipherName = 'aes-256-gcm';
const version = 1;
const nonceBytes = 12;
const tagBytes = 16;

export class Sealer {
  readonly #key: Buffer;

  /** Sealers with different uses cannot open what the other has sealed. */
  constructor(secret: string, use: string) {
    this.#key = Buffer.from(hkdfSync('sha256', secret, '', use, 32));
  }

  seal(owner: readonly string[], plain: Buffer): Buffer {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv(cipherName, this.#key, nonce);
    cipher.setAAD(associatedData(owner));
    const sealed = Buffer.concat([cipher.update(plain), cipher.final()]);
    return Buffer.concat([Buffer.of(version), nonce, sealed, cipher.getAuthTag()]);
  }

  /** Undefined when it was sealed with another secret, for another use or owner, or was changed. */
  open(owner: readonly string[], bytes: Buffer): Buffer | undefined {
    if (bytes[0] !== version || bytes.length < 1 + nonceBytes + tagBytes) return undefined;
    const nonce = bytes.subarray(1, 1 + nonceBytes);
    const decipher = createDecipheriv(cipherName, this.#key, nonce);
    decipher.setAAD(associatedData(owner));
    decipher.setAuthTag(bytes.subarray(-tagBytes));
    try {
      const sealed = bytes.subarray(1 + nonceBytes, -tagBytes);
      return Buffer.concat([decipher.update(sealed), decipher.final()]);
    } catch {
      return undefined;
    }
  }
}

function associatedData(owner: readonly string[]): Buffer {
  return Buffer.from(JSON.stringify([version, ...owner]), 'utf8');
}
