// What happens at the same moment: an operator who approves beside one who revokes, and browsers
// that send everything twice. One of them counts.

import * as client from 'openid-client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ask, ConsentEnvironment, scopes } from '../../test/kit/consent-environment.ts';
import { waitsOf } from '../../test/kit/database.ts';
import { connect } from '../../test/kit/environment.ts';
import { authorizationRequest, type Browser } from '../../test/kit/oauth.ts';
import { approve, revokeAt } from '../access/operator/applications.ts';

let scene: ConsentEnvironment;

beforeAll(async () => {
  scene = await ConsentEnvironment.start();
});
afterAll(() => scene.close());

/** A browser whose owner has proved who he is. */
async function proved(): Promise<{
  browser: Browser;
  exchange: (back: string) => Promise<unknown>;
}> {
  const { url, exchange } = await authorizationRequest(scene.made, ask);
  const browser = scene.browser();
  await browser.get(url);
  const { token } = await scene.person();
  const page = await browser.submit([
    ['decision', 'prove'],
    ['token', token],
  ]);
  expect(page.status).toBe(200);
  return { browser, exchange };
}

async function consents(): Promise<number> {
  const [row] = await scene.service.db.sql<{ count: string }>(
    'select count(*) from credentials where approval_id is not null',
  );
  return Number(row?.count);
}

test('approving beside revoking brings no token back', async () => {
  const made = await scene.application();
  const { access_token: token } = await client.clientCredentialsGrant(made.config);
  const { db } = scene.service;
  const holder = await db.globalSession();
  await holder.query('begin');
  await holder.query('select from audit_head for update');
  const [one, other] = [connect(db.serviceUrl, 1), connect(db.serviceUrl, 1)];
  const waiting = (count: number) => expect.poll(() => waitsOf(db)).toBe(count);
  // It has revoked, and waits to say so; then the other approves.
  const revoking = revokeAt(one, made.id, scene.merchant);
  await waiting(1);
  const approving = approve(other, made.id, { merchant: scene.merchant, scopes, locations: 'all' });
  await waiting(2);
  await holder.query('commit');
  await Promise.all([revoking, approving]);
  await Promise.all([one.close(), other.close()]);
  expect((await scene.service.api.as(token).get('/credential')).code).toBe('invalid_token');
  const { access_token: next } = await client.clientCredentialsGrant(made.config);
  expect((await scene.service.api.as(next).get('/credential')).status).toBe(200);
});

test('allowing many times at once gives one consent and one code', async () => {
  const { browser } = await proved();
  const before = await consents();
  const allow = [
    ['decision', 'allow'],
    ['location', 'all'],
  ] as const;
  const copies = Array.from({ length: 8 }, () => browser.copy());
  await Promise.all(copies.map((copy) => copy.submit(allow)));
  expect(await consents()).toBe(before + 1);
  const codes = copies.filter((copy) => new URL(copy.url).searchParams.has('code'));
  expect(codes).toHaveLength(1);
});

test('refusing and coming back many times at once is never an error of ours', async () => {
  const { url } = await authorizationRequest(scene.made, ask);
  for (let round = 0; round < 10; round += 1) {
    const browser = scene.browser();
    await browser.get(url);
    const copies = Array.from({ length: 6 }, () => browser.copy());
    const refuse = [['decision', 'refuse']] as const;
    const pages = await Promise.all(copies.map((copy) => copy.submit(refuse)));
    for (const { status } of pages) expect([303, 400]).toContain(status);
    const refused = copies.filter((copy) => copy.url.includes('error=access_denied'));
    expect(refused.length).toBeGreaterThanOrEqual(1);
  }
});

test('a code that comes twice at once ends its consent, with a line that says so', async () => {
  const { exchange } = await scene.consent(await scene.person(), ['all']);
  const lines = async () =>
    (
      await scene.service.db.sql(
        `select from audit_records where line like '%"action":"consent.end"%'`,
      )
    ).length;
  const before = await lines();
  await Promise.allSettled([exchange(), exchange()]);
  expect(await lines()).toBe(before + 1);
});
