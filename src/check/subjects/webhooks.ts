// Webhooks, to a receiver on this machine: where the service cannot call it, they are left out.

import { verifyWebhook } from '@tallybook/client';
import { type Answer, done, holds, is, memberAt, refused, Unmet } from '../answer.ts';
import { check, type Subject } from '../check.ts';
import { LeftOut } from '../endings.ts';
import type { Hook, HookCall } from '../receiver.ts';
import { allOf, type Shop } from '../shop.ts';

const unheard = 'Other systems of the merchant do not hear of a sale.';
const forged = 'Anybody who knows the address of the receiver can make up sales.';

/** How long a delivery may take: the service says half a second, a retry 5 s. */
const patienceMs = 20_000;

interface Made extends Hook {
  readonly id: string;
  readonly secret: string;
}

export const webhooks: Subject = {
  title: 'Webhooks',
  checks: [
    check('An event is sent, as the feed shows it', unheard, async (shop) => {
      const { calls } = await hookOf(shop);
      const call = await sentOf(calls, await moved(shop));
      const sent = JSON.parse(String(call.bytes));
      const query = { product_id: String(memberAt(sent, 'data.movements.0.product_id')) };
      const feed = await allOf(shop.wide, '/events', query);
      is('the event', sent, feed.at(-1));
    }),
    check('A call is signed, so that the client of the SDK verifies it', forged, async (shop) => {
      const { secret, calls } = await hookOf(shop);
      const call = await sentOf(calls, await moved(shop));
      await verifyWebhook(call.bytes, call.headers, secret).catch((error: Error) => {
        throw new Unmet(`the signature is not right: ${error.message}`);
      });
      const other = Buffer.concat([call.bytes, Buffer.from(' ')]);
      const isRefused = await verifyWebhook(other, call.headers, secret).then(
        () => false,
        () => true,
      );
      holds('another body has the same signature', isRefused);
    }),
    check('A call has the headers of Standard Webhooks', forged, async (shop) => {
      const { calls } = await hookOf(shop);
      const { headers, bytes } = await sentOf(calls, await moved(shop));
      is('webhook-id', headers['webhook-id'], JSON.parse(String(bytes)).id);
      const age = Date.now() / 1_000 - Number(headers['webhook-timestamp']);
      holds(`webhook-timestamp is ${Math.round(age)} s old`, Math.abs(age) < 60);
    }),
    check('What was answered with 500 is sent again', unheard, async (shop) => {
      const hook = await hookOf(shop);
      const reference = shop.unique('again');
      const isMeant = ({ bytes }: HookCall) => bytes.includes(reference);
      hook.statusOf = (call) => (hook.calls.filter(isMeant).includes(call) ? 500 : 204);
      await moved(shop, reference);
      await until(hook.calls, isMeant);
      hook.statusOf = () => 204;
      const all = await until(hook.calls, isMeant, 2);
      is('webhook-id of both', new Set(all.map((one) => one.headers['webhook-id'])).size, 1);
    }),
    check('Only the types that a webhook names are sent', unheard, async (shop) => {
      const { calls } = await hookOf(shop, ['inventory.transferred']);
      const product = await shop.stocked('5', shop.there);
      const reference = shop.unique('sold');
      done(await shop.sell(product, '1', { from_location_id: shop.there, reference }), 201);
      await sentOf(calls, reference);
      const types = calls.map(({ bytes }) => String(JSON.parse(String(bytes)).type));
      const others = types.filter((type) => !/^(inventory\.transferred|webhook\.test)$/.test(type));
      is('other types', others, []);
    }),
    check('Only events of the locations that a webhook names are sent', unheard, async (shop) => {
      const { calls } = await hookOf(shop);
      const elsewhere = await shop.stocked('5');
      await sentOf(calls, await moved(shop));
      is('calls', calls.filter(({ bytes }) => bytes.includes(elsewhere)).length, 0);
    }),
    check('A paused webhook is sent nothing, and goes on where it was', unheard, async (shop) => {
      const { id, calls } = await hookOf(shop);
      await pause(shop, id);
      const reference = await moved(shop);
      await sleep(1_500);
      is('calls', calls.filter(({ bytes }) => bytes.includes(reference)).length, 0);
      done(await shop.wide.patch(`/webhooks/${id}`, { status: 'active' }));
      await sentOf(calls, reference);
    }),
    check('A test is sent also while the webhook is paused', unheard, async (shop) => {
      const { id, calls } = await hookOf(shop);
      await pause(shop, id);
      done(await shop.wide.post(`/webhooks/${id}/test`, {}));
      await until(calls, ({ bytes }) => bytes.includes('webhook.test'), 2);
    }),
    check('What became of calls can be seen', unheard, async (shop) => {
      const { id, calls } = await hookOf(shop);
      const { bytes } = await sentOf(calls, await moved(shop));
      const { id: event } = JSON.parse(String(bytes));
      // It is told once the answer has come.
      for (const end = performance.now() + patienceMs; performance.now() < end; await sleep(50)) {
        const attempt = (await attemptsOf(shop, id)).find(
          (one) => memberAt(one, 'event_id') === event,
        );
        if (attempt === undefined) continue;
        is(
          'status, failure',
          [memberAt(attempt, 'status'), memberAt(attempt, 'failure')],
          [204, null],
        );
        return;
      }
      throw new Unmet('the call is not told');
    }),
    check('Only who made a webhook reads its secret', forged, async (shop) => {
      const { id, secret } = await hookOf(shop);
      holds('the secret is of another form', secret.startsWith('whsec_'));
      refused(await shop.other.get(`/webhooks/${id}/secret`), 404, 'not_found');
      refused(await shop.limited.get(`/webhooks/${id}/secret`), 404, 'not_found');
    }),
    check('A webhook does not call an address that is not allowed', forged, async (shop) => {
      const body = { url: 'http://169.254.169.254/latest', status: 'paused' };
      const answer = await shop.wide.post('/webhooks', body);
      refused(answer, 422, 'validation_failed');
      is('the field', answer.at('error.details.0.field'), 'url');
    }),
  ],
};

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

let hooks = 0;

/**
 * A webhook of this check, of where few others write. @throws LeftOut where the service may not
 * call this machine.
 */
async function hookOf(
  shop: Shop,
  types: readonly string[] = ['inventory.adjusted'],
): Promise<Made> {
  const receiver = await shop.receiver();
  hooks += 1;
  const hook = receiver.hook(`hook-${shop.run}-${hooks}`);
  const description = shop.name('webhook');
  const body = { url: hook.url, types, location_ids: [shop.there], description };
  const made = await shop.wide.post('/webhooks', body);
  if (made.status === 422) throw notAllowed(shop, made);
  const { id } = done(made, 201);
  shop.atEnd(() => pause(shop, id));
  const secret = done(await shop.wide.get(`/webhooks/${id}/secret`)).textAt('data.secret');
  await requireReach(shop, id, hook.calls);
  return Object.assign(hook, { id, secret });
}

/** Something that is told, and the word by which it is found. */
async function moved(shop: Shop, reference = shop.unique('moved')): Promise<string> {
  const product = await shop.product();
  done(await shop.adjust(product, '5', shop.there, { reference }), 201);
  return reference;
}

async function sentOf(calls: readonly HookCall[], word: string): Promise<HookCall> {
  const [call] = await until(calls, ({ bytes }) => bytes.includes(word));
  if (call === undefined) throw new Unmet('it was not sent');
  return call;
}

function notAllowed({ options }: Shop, answer: Answer): LeftOut {
  const said = String(answer.at('error.details.0.message'));
  if (options.webhookUrl !== undefined) return new LeftOut(`--webhook-url is refused: ${said}`);
  return new LeftOut(
    'the service may not call this machine (TALLYBOOK_WEBHOOK_ALLOW): --webhook-url names an ' +
      'address that leads here',
  );
}

/** A call that cannot come in is no fault of the deployment, unless it came in before. */
async function requireReach(shop: Shop, id: string, calls: readonly HookCall[]): Promise<void> {
  done(await shop.wide.post(`/webhooks/${id}/test`, {}));
  const isTest = ({ bytes }: HookCall) => bytes.includes('webhook.test');
  for (const end = performance.now() + patienceMs; performance.now() < end; await sleep(50)) {
    if (calls.some(isTest)) return;
    const [attempt] = await attemptsOf(shop, id);
    const failure = memberAt(attempt, 'failure');
    if (typeof failure === 'string') {
      throw new LeftOut(`the service does not reach this machine: ${failure}`);
    }
  }
  throw new Unmet('a test was neither sent nor told as failed');
}

async function attemptsOf(shop: Shop, id: string): Promise<readonly unknown[]> {
  return done(await shop.wide.get(`/webhooks/${id}/deliveries`)).listAt('data.attempts');
}

/** Nothing is called any more that only this run listens to. */
async function pause(shop: Shop, id: string): Promise<void> {
  done(await shop.wide.patch(`/webhooks/${id}`, { status: 'paused' }));
}

/** The calls that are meant, once there are so many. */
async function until(
  calls: readonly HookCall[],
  isMeant: (call: HookCall) => boolean,
  count = 1,
): Promise<readonly HookCall[]> {
  for (const end = performance.now() + patienceMs; performance.now() < end; await sleep(20)) {
    const found = calls.filter(isMeant);
    if (found.length >= count) return found;
  }
  throw new Unmet(`${calls.filter(isMeant).length} of ${count} calls came in ${patienceMs} ms`);
}
