// OAuth while the database is away, and with many clients at once: the answer names the failure,
// nothing is lost, and it works again by itself.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Environment, startEnvironment, startNode } from '../../test/kit/environment.ts';
import { discover, type GivenApplication, givenApplication } from '../../test/kit/oauth.ts';
import { DatabaseProxy } from '../../test/kit/proxy.ts';
import { approve } from '../access/operator/applications.ts';
import { limits } from '../core/limits.ts';
import type { MerchantId } from '../core/principal.ts';
import { connectDatabase, type Database } from '../database/connect.ts';

let service: Environment;
let proxy: DatabaseProxy;
let node: Awaited<ReturnType<typeof startNode>>;
let operator: Database;
let made: GivenApplication;

beforeAll(async () => {
  service = await startEnvironment();
  proxy = new DatabaseProxy(service.db.serviceUrl);
  node = await startNode(await proxy.listen());
  operator = connectDatabase({ url: service.db.serviceUrl, writers: 1 });
  const merchant = (await service.given.merchant()) as MerchantId;
  const scopes = ['products.read'] as const;
  made = await givenApplication(operator, node.api.origin, { scopes });
  await approve(operator, made.id, { merchant, scopes, locations: 'all' });
});
afterAll(async () => {
  await operator.close();
  await node.stop();
  await proxy.close();
  await service.stop();
});

function ask(): Promise<Response> {
  const basic = Buffer.from(`${made.id}:${made.secret}`).toString('base64');
  return fetch(`${node.api.origin}/oauth/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${basic}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
}

async function tokens(): Promise<number> {
  const [row] = await service.db.sql<{ count: string }>(
    'select count(*) from credential_tokens where scopes is not null',
  );
  return Number(row?.count);
}

/**
 * Sends until one is refused, 16 at a time: of all at once, so many would be 503 on a busy machine
 * that too few count.
 */
async function untilRefused(send: () => Promise<Response>) {
  const began = performance.now();
  for (let admitted = 0; ; ) {
    const answers = await Promise.all(Array.from({ length: 16 }, send));
    admitted += answers.filter(({ status }) => status !== 429).length;
    const refused = answers.find(({ status }) => status === 429);
    const seconds = (performance.now() - began) / 1_000;
    if (refused !== undefined) return { admitted, refused, seconds };
  }
}

test('answers temporarily_unavailable with Retry-After, and goes on when it is back', async () => {
  expect((await ask()).status).toBe(200);
  proxy.refuses = true;
  proxy.cut();
  const before = await tokens();
  const answer = await ask();
  expect(answer.status).toBe(503);
  expect(await answer.json()).toMatchObject({ error: 'temporarily_unavailable' });
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  expect(answer.headers.get('x-request-id')).toMatch(/^req_/);
  expect(await tokens()).toBe(before);
  proxy.refuses = false;
  await expect.poll(async () => (await ask()).status).toBe(200);
});

test('serves its metadata without a database', async () => {
  proxy.refuses = true;
  proxy.cut();
  const found = await discover(node.api.origin, made.id, () => undefined);
  expect(found.serverMetadata().token_endpoint).toBe(`${node.api.origin}/oauth/token`);
  proxy.refuses = false;
});

test('limits requests by address, in OAuth’s form, and lets other addresses in', async () => {
  const from = (address: string) =>
    fetch(`${node.api.origin}/oauth/authorize?client_id=${made.id}`, {
      headers: { 'x-forwarded-for': address },
      redirect: 'manual',
    });
  const { admitted, refused, seconds } = await untilRefused(() => from('10.9.9.9'));
  // What comes in while they are sent is admitted as well, on a busy machine many more.
  const perMinute = limits.consentRequestsPerMinute;
  expect(admitted).toBeGreaterThanOrEqual(perMinute);
  expect(admitted).toBeLessThanOrEqual(Math.ceil(perMinute * (1 + seconds / 60)));
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  expect(await refused.json()).toMatchObject({ error: 'temporarily_unavailable' });
  expect((await from('10.9.9.8')).status).toBe(400);
  // An application at the same address still gets its token.
  const body = new URLSearchParams({ grant_type: 'client_credentials' });
  const basic = Buffer.from(`${made.id}:${made.secret}`).toString('base64');
  const token = await fetch(`${node.api.origin}/oauth/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${basic}`, 'x-forwarded-for': '10.9.9.9' },
    body,
  });
  expect(token.status).toBe(200);
});

test('the log says what was answered, and names applications that proved themselves', async () => {
  const send = (secret: string) =>
    fetch(`${node.api.origin}/oauth/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from(`${made.id}:${secret}`).toString('base64')}` },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    });
  const logged = async (answer: Response) => {
    const id = answer.headers.get('x-request-id');
    const find = () => node.records.find(({ requestId }) => requestId === id);
    await expect.poll(find).toBeDefined();
    return find();
  };
  const wrong = await logged(await send('tb_ocs_wrong'));
  expect(wrong).toMatchObject({ status: 401, oauthError: 'invalid_client' });
  expect(wrong?.applicationId).toBeUndefined();
  const { refused } = await untilRefused(() => send(made.secret));
  const late = await logged(refused);
  expect(late).toMatchObject({ status: 429, applicationId: made.id });
  expect(late?.problem?.code).toBe('rate_limited');
});
