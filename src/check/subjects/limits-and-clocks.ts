// Rate limits, and clocks: the service's, and that of whoever asks.

import { done, holds, is, matches, memberAt, refused } from '../answer.ts';
import { newKey } from '../caller.ts';
import { check, type Subject } from '../check.ts';
import type { Shop } from '../shop.ts';

const slowed = 'Clients that do not know when to come back hammer the service, or give up.';
const early = 'Reservations end too early, days have the wrong sales, receivers refuse webhooks.';

/** Clocks of two machines that are set by the network differ by less. */
const apartMaxMs = 30_000;

export const limitsAndClocks: Subject = {
  title: 'Rate limits and clocks',
  checks: [
    check(
      'Above the limit the answer is 429, with Retry-After in seconds',
      slowed,
      async (shop) => {
        const answer = await limited(shop);
        matches('Retry-After', answer.headers['retry-after'], /^[1-9]\d{0,3}$/);
        is('error.retryable', answer.at('error.retryable'), true);
      },
    ),
    check('Whoever waits for Retry-After is admitted', slowed, async (shop) => {
      await limited(shop);
      done(await shop.limited.get('/credential'));
    }),
    check('429 comes with RateLimit, and nothing is left then', slowed, async (shop) => {
      matches('RateLimit', (await limited(shop)).headers.ratelimit, /^"\w+";r=0;t=\d+/);
    }),
    check('A write that got 429 did nothing, and its key is free', slowed, async (shop) => {
      const body = shop.customerBody();
      const key = newKey();
      await limited(shop);
      const first = await shop.limited.post('/customers', body, { key, isOnce: true });
      const second = await shop.limited.post('/customers', body, { key });
      is('the status in the end', second.status, 201);
      if (first.status === 429) is('a replay', second.isReplay, false);
    }),
    check('The limit of one token slows no other token', slowed, async (shop) => {
      await limited(shop);
      const answer = await shop.wide.get('/credential', {}, { isOnce: true });
      matches('RateLimit', answer.headers.ratelimit, /^"\w+";r=\d+/);
    }),
    check('GET /credential says the limit of a token', slowed, async (shop) => {
      const limit = done(await shop.limited.get('/credential')).at('data.rate_limit');
      is('the limit', limit, { requests_per_minute: 60, burst: 5 });
    }),
    check('Date is right, by the clock of who asks', early, async (shop) => {
      const answer = await shop.wide.get('/credential');
      near('Date', answer.headers.date, answer.milliseconds);
    }),
    check('Times of records are right, by the clock of who asks', early, async (shop) => {
      const made = done(await shop.wide.post('/customers', shop.customerBody()), 201);
      near('created_at', made.textAt('data.created_at'), made.milliseconds);
    }),
    check('Times are RFC 3339 in UTC', early, async (shop) => {
      const moved = done(await shop.adjust(await shop.product(), '5'), 201);
      matches('recorded_at', moved.at('data.recorded_at'), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    }),
    check('Movements of a level have times that never go back', early, async (shop) => {
      const product = await shop.stocked('5');
      for (let n = 0; n < 3; n += 1) done(await shop.sell(product, '1'), 201);
      const times = (await shop.movements(product)).map((one) => String(one.recorded_at));
      is('the times', times, [...times].sort());
    }),
    check('updated_at of a record grows with its version', early, async (shop) => {
      const made = done(await shop.wide.post('/customers', shop.customerBody()), 201);
      const changed = done(await shop.wide.patch(`/customers/${made.id}`, { note: 'x' }));
      is('created_at', changed.at('data.created_at'), made.at('data.created_at'));
      holds('it does not', changed.textAt('data.updated_at') > made.textAt('data.updated_at'));
    }),
    check('A reservation ends at its moment, by the clock of the service', early, async (shop) => {
      const product = await shop.stocked('5');
      const lines = [{ product_id: product, quantity: '2' }];
      const now = Date.parse(done(await shop.adjust(product, '6'), 201).textAt('data.recorded_at'));
      const expires_at = new Date(now + 4_000).toISOString();
      const body = { location_id: shop.here, lines, expires_at };
      const { id } = done(await shop.wide.post('/inventory/reservations', body), 201);
      is('what is put aside', memberAt(await shop.level(product), 'reserved_quantity'), '2');
      await sleep(4_500);
      is('what is put aside later', memberAt(await shop.level(product), 'reserved_quantity'), '0');
      const ended = done(await shop.wide.get(`/inventory/reservations/${id}`));
      is('its status', ended.at('data.status'), 'expired');
    }),
  ],
};

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** The answer of one request too many. */
async function limited({ limited: caller }: Shop) {
  for (let n = 0; n < 40; n += 1) {
    const answer = await caller.get('/credential', {}, { isOnce: true });
    if (answer.status === 429) return refused(answer, 429, 'rate_limited');
  }
  return refused(await caller.get('/credential', {}, { isOnce: true }), 429, 'rate_limited');
}

function near(what: string, text: string | undefined, milliseconds: number): void {
  const apart = Date.now() - Date.parse(text ?? '');
  const isNear = Math.abs(apart) <= apartMaxMs + milliseconds;
  holds(
    `${what} is ${text}, ${Math.round(apart / 1_000)} s from the clock of this machine`,
    isNear,
  );
}
