// Signs a message as https://www.standardwebhooks.com says. The timestamp is that of the attempt:
// each is signed anew, because receivers refuse what is older than five minutes.

import { Webhook } from 'standardwebhooks';

/** What is signed, and with what. */
export interface SignedMessage {
  /** The same at each attempt: receivers know by it what they have seen. */
  readonly id: string;
  readonly at: Date;
  /** Byte for byte what is sent. */
  readonly body: string;
  /** Two while a secret is replaced, the new one first. */
  readonly secrets: readonly string[];
}

export type SignatureHeaders = Readonly<
  Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string>
>;

export function signatureHeaders({ id, at, body, secrets }: SignedMessage): SignatureHeaders {
  const signatures = secrets.map((secret) => new Webhook(secret).sign(id, at, body));
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': signatures.join(' '),
  };
}
