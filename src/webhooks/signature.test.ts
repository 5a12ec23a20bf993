// That receivers can verify what is sent: by the library, by hand, and by a published example.

import { createHmac } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { makeWebhookSecret } from './secret.ts';
import { signatureHeaders } from './signature.ts';

const body = JSON.stringify({
  id: 'evt_1',
  type: 'product.updated',
  data: { name: 'Käse 🧀 "x"' },
});

test('the example that libraries of Standard Webhooks share is signed as they sign it', () => {
  const headers = signatureHeaders({
    id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    at: new Date(1_614_265_330_999),
    body: '{"test": 2432232314}',
    secrets: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
  });
  expect(headers).toEqual({
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  });
});

test('a signature is the HMAC of ID, time and body, keyed with the bytes of the secret', () => {
  const secret = makeWebhookSecret();
  const at = new Date();
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const signed = `evt_1.${Math.floor(at.getTime() / 1_000)}.${body}`;
  const digest = createHmac('sha256', key).update(signed).digest('base64');
  const headers = signatureHeaders({ id: 'evt_1', at, body, secrets: [secret] });
  expect(headers['webhook-signature']).toBe(`v1,${digest}`);
});

test('while a secret is replaced, receivers with either verify, and nobody with another', () => {
  const [next, last] = [makeWebhookSecret(), makeWebhookSecret()];
  const headers = signatureHeaders({ id: 'evt_1', at: new Date(), body, secrets: [next, last] });
  expect(headers['webhook-signature']).toMatch(/^v1,[^ ,]{44} v1,[^ ,]{44}$/);
  for (const secret of [next, last]) {
    expect(new Webhook(secret).verify(body, headers)).toEqual(JSON.parse(body));
  }
  expect(() => new Webhook(makeWebhookSecret()).verify(body, headers)).toThrow(/No matching/);
});

test('a message with another ID, time or body is not verified', () => {
  const secret = makeWebhookSecret();
  const headers = signatureHeaders({ id: 'evt_1', at: new Date(), body, secrets: [secret] });
  const later = String(Number(headers['webhook-timestamp']) + 1);
  const verify = (text: string, changed: object) =>
    new Webhook(secret).verify(text, { ...headers, ...changed });
  expect(verify(body, {})).toBeDefined();
  expect(() => verify(`${body} `, {})).toThrow();
  expect(() => verify(body, { 'webhook-id': 'evt_2' })).toThrow();
  expect(() => verify(body, { 'webhook-timestamp': later })).toThrow();
});
