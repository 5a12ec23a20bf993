// The certificate of a service without a proxy before it: read from two files, and read again when
// they change, so that a renewed one is used without a restart.

import { createHash, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { Server as SecureServer } from 'node:https';
import { createSecureContext } from 'node:tls';
import { systemReason } from '../core/system-failure.ts';

/** Paths of PEM files: the certificate with its chain, and its key. */
export interface CertificateFiles {
  readonly cert: string;
  readonly key: string;
}

interface Watching {
  readonly everyMs: number;
  /** The certificate has changed, and is used from now on. */
  onChange(): void;
  /** The files changed and are of no use. The certificate before stays in use. */
  onFailure(error: unknown): void;
}

interface Pair {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly validTo: Date;
}

/** The one in use. */
export class Certificate {
  readonly #files: CertificateFiles;
  #pair: Pair;

  /** @throws Error saying which file cannot be read, or why the two are of no use together. */
  constructor(files: CertificateFiles) {
    this.#files = files;
    this.#pair = readPair(files);
  }

  get cert(): Buffer {
    return this.#pair.cert;
  }

  get key(): Buffer {
    return this.#pair.key;
  }

  get validTo(): Date {
    return this.#pair.validTo;
  }

  /**
   * Looks at intervals whether the files hold something else, because a renewal may replace files,
   * links or folders. Connections that are open keep their certificate. It ends with the process.
   */
  watch(server: Server, { everyMs, onChange, onFailure }: Watching): void {
    if (!(server instanceof SecureServer)) throw new Error('the server speaks no TLS');
    let seen = sumOf(this.#files);
    const look = () => {
      const sum = sumOf(this.#files);
      if (sum === seen) return;
      seen = sum;
      try {
        const pair = readPair(this.#files);
        server.setSecureContext(pair);
        this.#pair = pair;
        onChange();
      } catch (error) {
        onFailure(error);
      }
    };
    setInterval(look, everyMs).unref();
  }
}

function readPair(files: CertificateFiles): Pair {
  const cert = read(files.cert);
  const key = read(files.key);
  try {
    createSecureContext({ cert, key });
    return { cert, key, validTo: new Date(new X509Certificate(cert).validTo) };
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(
      `${files.cert} and ${files.key} are not a certificate and its key in PEM form: ${reason}`,
      { cause },
    );
  }
}

function read(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw new Error(`cannot read ${path}: ${systemReason(cause)}`, { cause });
  }
}

/** Of what both files hold; one that cannot be read has a sum as well. */
function sumOf({ cert, key }: CertificateFiles): string {
  const hash = createHash('sha256');
  for (const path of [cert, key]) {
    try {
      hash.update(readFileSync(path));
    } catch {
      hash.update('cannot be read');
    }
  }
  return hash.digest('hex');
}
