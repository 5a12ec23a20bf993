// Verifies what a webhook brings, as https://www.standardwebhooks.com says, with Web Crypto.

import type { Event } from './operations.ts';

export interface VerifyOptions {
  /** How far the clocks may be apart, in seconds: 300 unless told otherwise. */
  readonly toleranceSeconds?: number | undefined;
}

export class WebhookError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'WebhookError';
  }
}

type HeaderValues = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * The event, when one of the secrets signed it lately; two while the secret is replaced.
 * @param body byte for byte as it came, not parsed
 * @throws WebhookError, after which 401 is the answer
 */
export async function verifyWebhook(
  body: string | Uint8Array,
  headers: { get(name: string): string | null } | HeaderValues,
  secret: string | readonly string[],
  { toleranceSeconds = 300 }: VerifyOptions = {},
): Promise<Event> {
  if (typeof body !== 'string' && !(body instanceof Uint8Array)) {
    throw new TypeError('The body must be the text or the bytes that came, not what they mean.');
  }
  const id = headerOf(headers, 'webhook-id');
  const timestamp = headerOf(headers, 'webhook-timestamp');
  const age = Math.abs(Date.now() / 1000 - Number(timestamp));
  if (!/^\d{1,12}$/.test(timestamp) || age > toleranceSeconds) {
    throw new WebhookError('The timestamp is too old or too new.');
  }
  const text = new TextEncoder();
  const content = typeof body === 'string' ? text.encode(body) : body;
  const signed = concatenate(text.encode(`${id}.${timestamp}.`), content);
  const signatures = headerOf(headers, 'webhook-signature')
    .split(' ')
    .flatMap((one) => (one.startsWith('v1,') ? (bytesOf(one.slice(3)) ?? []) : []));
  for (const one of [secret].flat() as string[]) {
    const key = await keyOf(one);
    for (const signature of signatures) {
      // It compares in constant time.
      if (await crypto.subtle.verify('HMAC', key, signature, signed)) {
        return JSON.parse(new TextDecoder().decode(content)) as Event;
      }
    }
  }
  throw new WebhookError('No signature is of this secret.');
}

function headerOf(headers: Parameters<typeof verifyWebhook>[1], name: string): string {
  const value =
    'get' in headers && typeof headers.get === 'function'
      ? headers.get(name)
      : Object.entries(headers).find(([other]) => other.toLowerCase() === name)?.[1];
  if (typeof value === 'string' && value !== '') return value;
  throw new WebhookError(`The header ${name} is missing.`);
}

function keyOf(secret: string) {
  const bytes = bytesOf(`${secret ?? ''}`.replace(/^whsec_/, ''));
  if (bytes === undefined || bytes.length === 0) {
    throw new TypeError('The secret must be whsec_ and base64, as webhooks.secret.get gives it.');
  }
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  return crypto.subtle.importKey('raw', bytes, algorithm, false, ['verify']);
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (one) => one.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function concatenate(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(first.length + second.length);
  whole.set(first);
  whole.set(second, first.length);
  return whole;
}
