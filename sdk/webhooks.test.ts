import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Environment, startEnvironment } from '../test/kit/environment.ts';
import { type Received, Receiver } from '../test/kit/receiver.ts';
import { Shop } from '../test/kit/shop.ts';
import { verifyWebhook, WebhookError } from './main.ts';

let service: Environment;
let delivery: ReturnType<Environment['service']['deliver']>;
let receiver: Receiver;
let shop: Shop;
let webhook: string;

beforeAll(async () => {
  service = await startEnvironment();
  delivery = service.service.deliver({ now: Date.now, onPause: () => undefined });
  receiver = await Receiver.listen();
  shop = await Shop.open(service);
  webhook = await shop.hook(receiver);
});
afterAll(async () => {
  receiver.close();
  await delivery.stop(0);
  await service.stop();
});

async function call(): Promise<Received> {
  const before = receiver.calls.length;
  await shop.customer();
  await receiver.until(before + 1);
  const [last] = receiver.calls.slice(-1);
  if (last === undefined) throw new Error('nothing came');
  return last;
}

const secret = `whsec_${btoa('a secret of thirty-two characters')}`;

/** A call of a moment, as the library signs it. */
function signed(at: Date, body = '{"id":"evt_1"}') {
  const headers = {
    'webhook-id': 'evt_1',
    'webhook-timestamp': `${Math.floor(at.getTime() / 1000)}`,
    'webhook-signature': new Webhook(secret).sign('evt_1', at, body),
  };
  return { body, headers };
}

describe('a call of the service', () => {
  test('is verified, as text or bytes, with headers of any kind', async () => {
    const { text, headers, event } = await call();
    const [current = ''] = await shop.secrets(webhook);
    expect(await verifyWebhook(text, headers, current)).toEqual(event);
    const bytes = new TextEncoder().encode(text);
    expect(await verifyWebhook(bytes, new Headers(headers), current)).toEqual(event);
  });

  test('is verified by both secrets while one replaces the other', async () => {
    const [old = ''] = await shop.secrets(webhook);
    await shop.change(webhook, { rotate_secret: true });
    const { text, headers, event } = await call();
    const [current = ''] = await shop.secrets(webhook);
    expect(current).not.toBe(old);
    for (const one of [old, current, [secret, current]]) {
      expect(await verifyWebhook(text, headers, one)).toEqual(event);
    }
  });
});

describe('what is refused', () => {
  const now = () => new Date();

  test('is a body, an ID, a time or a secret that was not signed', async () => {
    const { body, headers } = signed(now());
    await verifyWebhook(body, headers, secret);
    const other = `whsec_${btoa('another secret of thirty-two chars')}`;
    const id = { ...headers, 'webhook-id': 'evt_2' };
    const time = { ...headers, 'webhook-timestamp': `${Number(headers['webhook-timestamp']) + 1}` };
    const signature = { ...headers, 'webhook-signature': 'v1,AAAA v1a,xyz nonsense' };
    for (const [text, some, key] of [
      [`${body} `, headers, secret],
      [body, id, secret],
      [body, time, secret],
      [body, signature, secret],
      [body, headers, other],
      [body, headers, []],
    ] as const) {
      await expect(verifyWebhook(text, some, key)).rejects.toBeInstanceOf(WebhookError);
    }
  });

  test('is a call without its headers, or of another time than now', async () => {
    const { body, headers } = signed(now());
    for (const name of Object.keys(headers)) {
      await expect(verifyWebhook(body, { ...headers, [name]: undefined }, secret)).rejects.toThrow(
        name,
      );
    }
    for (const seconds of [-310, 310]) {
      const odd = signed(new Date(Date.now() + seconds * 1000));
      await expect(verifyWebhook(odd.body, odd.headers, secret)).rejects.toThrow(
        'too old or too new',
      );
      const options = { toleranceSeconds: 600 };
      expect(await verifyWebhook(odd.body, odd.headers, secret, options)).toEqual({ id: 'evt_1' });
    }
  });
});
