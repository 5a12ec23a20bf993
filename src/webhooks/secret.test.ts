// What a webhook's secret is, and who can open a sealed one.

import { expect, test } from 'vitest';
import { Sealer } from '../core/sealer.ts';
import { makeWebhookSecret, WebhookSecretSealer } from './secret.ts';

const owner = { merchant: 'mer_1', webhook: 'whk_1' };
const sealer = new WebhookSecretSealer('the secret of the service');

test('a secret is 32 random bytes in the form of Standard Webhooks', () => {
  const secrets = Array.from({ length: 1_000 }, makeWebhookSecret);
  expect(new Set(secrets).size).toBe(1_000);
  for (const secret of secrets) {
    expect(secret).toMatch(/^whsec_[0-9A-Za-z+/]{43}=$/);
    expect(Buffer.from(secret.slice('whsec_'.length), 'base64')).toHaveLength(32);
  }
});

test('a sealed secret is opened by every node with the same secret, and differs each time', () => {
  const secret = makeWebhookSecret();
  const sealed = sealer.seal(owner, secret);
  expect(new WebhookSecretSealer('the secret of the service').open(owner, sealed)).toBe(secret);
  expect(sealer.seal(owner, secret)).not.toEqual(sealed);
  expect(sealed.toString('latin1')).not.toContain(secret.slice('whsec_'.length));
});

test('a sealed secret is not opened by another key, or for another use or webhook', () => {
  const sealed = sealer.seal(owner, makeWebhookSecret());
  expect(new WebhookSecretSealer('another secret').open(owner, sealed)).toBeUndefined();
  expect(sealer.open({ ...owner, webhook: 'whk_2' }, sealed)).toBeUndefined();
  expect(sealer.open({ ...owner, merchant: 'mer_2' }, sealed)).toBeUndefined();
  expect(sealer.open({ merchant: 'mer_1whk_1', webhook: '' }, sealed)).toBeUndefined();
  const cursors = new Sealer('the secret of the service', 'tallybook cursor v1');
  expect(cursors.open([owner.merchant, owner.webhook], sealed)).toBeUndefined();
});

test('a sealed secret is not opened when a bit of it was changed, or a part is missing', () => {
  const sealed = sealer.seal(owner, makeWebhookSecret());
  for (let bit = 0; bit < sealed.length * 8; bit += 1) {
    const changed = Buffer.from(sealed);
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    expect(sealer.open(owner, changed), `bit ${bit}`).toBeUndefined();
  }
  for (let length = 0; length < sealed.length; length += 1) {
    expect(sealer.open(owner, sealed.subarray(0, length)), `length ${length}`).toBeUndefined();
  }
});
