// The secret of a webhook: made here, kept encrypted, and bound to its webhook and merchant, so
// that a row copied to another webhook does not give its secret away.

import { randomBytes } from 'node:crypto';
import { Sealer } from '../core/sealer.ts';

/** Whose secret it is. */
export interface SecretOwner {
  readonly merchant: string;
  readonly webhook: string;
}

/** As long as the digest that it keys: longer adds nothing. */
const secretBytes = 32;

/** In the form of Standard Webhooks. */
export function makeWebhookSecret(): string {
  return `whsec_${randomBytes(secretBytes).toString('base64')}`;
}

/** Seals and opens secrets with a key derived from the service's secret. */
export class WebhookSecretSealer {
  readonly #sealer: Sealer;

  constructor(serviceSecret: string) {
    this.#sealer = new Sealer(serviceSecret, 'tallybook webhook secret v1');
  }

  seal({ merchant, webhook }: SecretOwner, secret: string): Buffer {
    return this.#sealer.seal([merchant, webhook], Buffer.from(secret, 'utf8'));
  }

  /** Undefined when it cannot be decrypted, as after a change of the service's secret. */
  open({ merchant, webhook }: SecretOwner, sealed: Buffer): string | undefined {
    return this.#sealer.open([merchant, webhook], sealed)?.toString('utf8');
  }
}
