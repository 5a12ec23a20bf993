// The test event of a webhook: sent once, and seen among the deliveries.

import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type Api, newKey } from '../../test/kit/api.ts';
import { type Environment, startEnvironment } from '../../test/kit/environment.ts';
import { limits } from '../core/limits.ts';

interface Call {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}
const calls: Call[] = [];
/** Without a time it would give up after a second. */
const until = <Found>(look: () => Found | Promise<Found>) => vi.waitUntil(look, 15_000);

let receiver: Server;
let origin: string;
let service: Environment;
let api: Api;

beforeAll(async () => {
  service = await startEnvironment();
  const merchant = await service.given.merchant();
  api = service.api.as((await service.given.credential(merchant)).token);
  receiver = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part) => parts.push(part));
    request.on('end', () => {
      calls.push({ headers: request.headers, body: Buffer.concat(parts).toString() });
      if (request.url !== '/hang') response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
});
afterAll(async () => {
  receiver.close();
  receiver.closeAllConnections();
  await service.stop();
});

async function create(url: string) {
  const answer = await api.post('/webhooks', { url, status: 'paused' });
  return answer.body.data;
}

const attemptsOf = async (id: string) =>
  (await api.get(`/webhooks/${id}/deliveries`)).body.data.attempts;

test('a test sends one signed event once, however often it is asked for with one key', async () => {
  const { id } = await create(`${origin}/hook`);
  await api.patch(`/webhooks/${id}`, { rotate_secret: true });
  const { secret, previous } = (await api.get(`/webhooks/${id}/secret`)).body.data;
  const key = newKey();
  const ask = () => api.post(`/webhooks/${id}/test`, { note: 'Hello' }, { key });
  const [first, ...others] = await Promise.all([ask(), ask(), ask()]);
  others.push(await ask());
  for (const answer of [first, ...others]) expect(answer.status).toBe(200);
  const attempts = await until(async () => {
    const found = await attemptsOf(id);
    return found.length > 0 && found;
  });
  const operation = first.body.meta.operation_id;
  const event = operation.replace('op_', 'evt_');
  expect(attempts).toEqual([
    {
      ...{ event_id: event, position: null, status: 204, failure: null },
      ...{ milliseconds: expect.any(Number), at: expect.any(String) },
    },
  ]);
  expect(calls).toHaveLength(1);
  const [{ headers, body } = { headers: {}, body: '' }] = calls;
  for (const one of [secret, previous.secret]) {
    const verified = new Webhook(one).verify(body, headers as Record<string, string>);
    expect(verified).toMatchObject({
      ...{ id: event, type: 'webhook.test', position: null, data: { note: 'Hello' } },
      ...{ operation_id: operation, resource: { type: 'webhook', id, version: 2 } },
    });
  }
  expect(headers['webhook-id']).toBe(event);
});

test('a test that fails is among the attempts, of which a hundred are kept', async () => {
  const { id } = await create('https://receiver.invalid/');
  await service.db.sql(
    `update webhook_progress set attempts = (select jsonb_agg(jsonb_build_object('event_id',
       'evt_' || n, 'position', null, 'status', 500, 'failure', 'status', 'milliseconds', n, 'at',
       '2026-01-01T00:00:00.000Z') order by n) from generate_series(1, 100) n)
     where webhook_id = $1`,
    [id],
  );
  await api.post(`/webhooks/${id}/test`, {});
  const attempts = await until(async () => {
    const found = await attemptsOf(id);
    return found[0].milliseconds !== 100 && found;
  });
  expect(attempts).toHaveLength(100);
  expect(attempts[0]).toMatchObject({ status: null, failure: 'name_not_found' });
  expect(attempts.at(-1)).toMatchObject({ event_id: 'evt_2' });
  const [other] = await service.db.sql(
    `select count(*)::int as count from webhook_progress
     where webhook_id <> $1 and attempts @> '[{"failure": "name_not_found"}]'`,
    [id],
  );
  expect(other).toEqual({ count: 0 });
});

test('no more than so many tests of a merchant are under way at once', async () => {
  const { id } = await create(`${origin}/hang`);
  const most = limits.webhookTestsAtOnce;
  await Promise.all(Array.from({ length: most }, () => api.post(`/webhooks/${id}/test`, {})));
  await until(() => calls.length === 1 + most);
  await api.post(`/webhooks/${id}/test`, {});
  const [attempt] = await until(async () => {
    const found = await attemptsOf(id);
    return found.length > 0 && found;
  });
  expect(attempt).toMatchObject({ status: null, failure: 'too_many_tests' });
  receiver.closeAllConnections();
  const attempts = await until(async () => {
    const found = await attemptsOf(id);
    return found.length === 1 + most && found;
  });
  const failures = attempts.slice(0, most).map((one: { failure: string }) => one.failure);
  expect(new Set(failures)).toEqual(new Set(['connection_closed']));
});
