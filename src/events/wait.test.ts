import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Answer, Api } from '../../test/kit/api.ts';
import { type Environment, startEnvironment, startNode } from '../../test/kit/environment.ts';
import { extent } from '../../test/kit/extent.ts';
import { startWholeEnvironment } from '../../test/kit/whole-environment.ts';
import { WorkCounter } from '../../test/kit/work.ts';

let service: Environment;
let merchant: string;
let api: Api;
const counter = new WorkCounter();

beforeAll(async () => {
  service = await startEnvironment({ watch: (database) => counter.watch(database) });
});
afterAll(() => service.stop());
beforeEach(async () => {
  merchant = await service.given.merchant();
  api = service.api.as((await service.given.credential(merchant)).token);
});

const create = (by: Api) => by.post('/customers', { name: 'Ada', email: 'ada@example.com' });

/** An answer, and when it came. */
async function timed(answering: Promise<Answer>): Promise<Answer & { readonly at: number }> {
  return Object.assign(await answering, { at: performance.now() });
}

/** Half a second and what a busy machine adds, in milliseconds: far from the 8 s that they wait. */
const soon = 4_000;

/** Until so many requests wait at the service. */
async function waiting(count: number, of: Pick<Environment, 'service'> = service) {
  const { watch } = of.service.api;
  const since = performance.now();
  while (watch.waiting !== count) {
    if (performance.now() - since > 20_000) throw new Error(`${watch.waiting} wait, not ${count}`);
    await sleep(5);
  }
}

const types = ({ body }: Answer) => body.data.map(({ type }: { type: string }) => type);

describe('whoever waits', () => {
  test('is answered at once when there is something already', async () => {
    await create(api);
    const started = performance.now();
    const answer = await timed(api.get('/events?wait=8'));
    expect(types(answer)).toEqual(['customer.created']);
    expect(answer.at - started).toBeLessThan(soon);
  });

  test('is answered as soon as this node commits something in reach', async () => {
    // Without the word of this node it would learn of it by the look of every 500 ms. On a busy
    // machine one may come in between: then once more.
    const looks: number[] = [];
    for (let position = 1; looks.at(-1) !== 0 && position <= 10; position += 1) {
      const { journal } = (await api.get('/events')).body.meta;
      const behind = `after_position=${position - 1}&journal=${journal}`;
      const answering = api.get(`/events?wait=8&${behind}`);
      await waiting(1);
      counter.take();
      await create(api);
      const answer = await answering;
      const { statements } = counter.take();
      looks.push(statements.filter(({ name }) => name === 'last_positions').length);
      expect(types(answer)).toEqual(['customer.created']);
      expect(answer.body.meta.through_position).toBe(`${position}`);
    }
    expect(looks.at(-1)).toBe(0);
  });

  test('is answered soon when another node commits it', async () => {
    const other = await startNode(service.db.serviceUrl);
    const { token } = await service.given.credential(merchant);
    const answering = timed(api.get('/events?wait=8'));
    await waiting(1);
    await create(other.api.as(token));
    const committed = performance.now();
    const answer = await answering;
    await other.stop();
    expect(types(answer)).toEqual(['customer.created']);
    expect(answer.at - committed).toBeLessThan(soon);
  });

  test('is not answered by what is out of reach, and learns how far it went', async () => {
    const started = performance.now();
    const answering = timed(api.get('/events?wait=1&type=product.created'));
    await waiting(1);
    for (let n = 0; n < 3; n += 1) await create(api);
    const answer = await answering;
    expect(answer.at - started).toBeGreaterThan(950);
    expect([answer.status, answer.body.data]).toEqual([200, []]);
    expect(answer.body.meta.through_position).toBe('3');
    const { journal } = answer.body.meta;
    await create(api);
    const next = await api.get(`/events?wait=8&after_position=3&journal=${journal}`);
    expect(next.body.data[0].position).toBe('4');
  });

  test('misses nothing of what is committed while it asks again and again', async () => {
    const seen: number[] = [];
    const writing = (async () => {
      for (let n = 0; n < 60; n += 1) {
        await create(api);
        await sleep(n % 3);
      }
    })();
    let query = '';
    while (seen.length < 60) {
      const { body } = await api.get(`/events?wait=8&limit=7${query}`);
      seen.push(...body.data.map(({ position }: { position: string }) => Number(position)));
      query = `&after_position=${body.meta.through_position}&journal=${body.meta.journal}`;
    }
    await writing;
    expect(seen).toEqual(Array.from({ length: 60 }, (_, index) => index + 1));
  });

  test('is refused when its token is revoked meanwhile, also if nothing happens', async () => {
    const { id, token } = await service.given.credential(merchant);
    const answering = timed(service.api.as(token).get('/events?wait=8'));
    await waiting(1);
    await service.db.sql('update credentials set revoked_at = now() where id = $1', [id]);
    const revoked = performance.now();
    const answer = await answering;
    expect([answer.status, answer.code]).toEqual([401, 'invalid_token']);
    expect(answer.at - revoked).toBeLessThan(soon);
  });

  test('sees no more than its credential may at the moment of the answer', async () => {
    const { id, token } = await service.given.credential(merchant);
    const answering = service.api.as(token).get('/events?wait=2');
    const refused = await service.given.credential(merchant);
    const refusing = service.api.as(refused.token).get('/events?wait=8');
    await waiting(2);
    const narrow = 'update credentials set scopes = $2 where id = $1';
    await service.db.sql(narrow, [id, ['events.read', 'products.read']]);
    await service.db.sql(narrow, [refused.id, ['customers.read']]);
    await create(api);
    expect((await refusing).code).toBe('insufficient_scope');
    const answer = await answering;
    expect([answer.status, answer.body.data]).toEqual([200, []]);
    expect(answer.body.meta.through_position).toBe('1');
  });

  test('counts as one request', async () => {
    const left = ({ headers }: Answer) =>
      Number(/r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1]);
    const { token } = await service.given.credential(merchant);
    const one = service.api.as(token);
    const first = left(await one.get('/events'));
    await one.get('/events?wait=2');
    expect(first - left(await one.get('/events'))).toBeLessThanOrEqual(2);
  });

  test('is forgotten when it hangs up', async () => {
    const { token } = await service.given.credential(merchant);
    const { hostname, port } = new URL(service.api.origin);
    const socket = connect(Number(port), hostname);
    socket.write(
      'GET /api/v1/events?wait=8 HTTP/1.1\r\n' +
        `Host: x\r\nAuthorization: Bearer ${token}\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n`,
    );
    await waiting(1);
    socket.destroy();
    await waiting(0);
  });
});

test('draining answers everybody who waits at once, and nobody waits any more', async () => {
  const whole = await startWholeEnvironment();
  const shop = await whole.given.merchant();
  const one = whole.api.as((await whole.given.credential(shop)).token);
  const started = performance.now();
  const answering = Promise.all(Array.from({ length: 20 }, () => timed(one.get('/events?wait=8'))));
  await waiting(20, whole);
  const stopping = whole.stop();
  for (const answer of await answering) {
    expect([answer.status, answer.body.data]).toEqual([200, []]);
    expect(answer.at - started).toBeLessThan(soon);
  }
  await stopping;
});

/** All are there before the first has waited for its 8 s, also on a busy machine. */
const many = extent(100, 500);

test(`${many} who wait cost one look for 50 ms, and read no page in vain`, async () => {
  const tokens = await Promise.all(
    Array.from({ length: 10 }, async () => (await service.given.credential(merchant)).token),
  );
  const answering = Array.from({ length: many }, (_, n) =>
    service.api.as(tokens[n % 10] ?? '').get('/events?wait=8&type=product.created'),
  );
  await waiting(many);
  counter.take();
  const started = performance.now();
  let writes = 0;
  for (; performance.now() - started < 700; writes += 1) await create(api);
  const elapsed = performance.now() - started;
  const names = counter.take().statements.map(({ name }) => name);
  const count = (name: string) => names.filter((one) => one === name).length;
  expect(count('happenings')).toBeGreaterThan(0);
  expect(count('happenings')).toBeLessThanOrEqual(elapsed / 50 + 1);
  expect(count('last_positions')).toBeLessThanOrEqual(elapsed / 500 + 1);
  expect(names.filter((name) => name.startsWith('feed_'))).toEqual([]);
  // One for each write; and everybody is judged again at most once in 500 ms, by few statements.
  expect(count('find_credentials')).toBeLessThanOrEqual(10 * (elapsed / 500 + 1));
  expect(count('find_credentials_and_keys')).toBeLessThanOrEqual(writes);
  await api.post('/products', { name: 'Flour' });
  const answers = await Promise.all(answering);
  const outcomes = answers.map((answer) => `${answer.status} ${answer.code ?? types(answer)}`);
  expect(new Set(outcomes)).toEqual(new Set(['200 product.created']));
  const woken = counter.take().statements.filter(({ name }) => name.startsWith('feed_'));
  expect(woken.length).toBeLessThanOrEqual(many / 5);
});
