import { tokenRevocation } from 'openid-client';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { approve } from '../src/access/operator/applications.ts';
import type { MerchantId, Scope } from '../src/core/principal.ts';
import { connectDatabase, type Database } from '../src/database/connect.ts';
import { type Environment, startEnvironment } from '../test/kit/environment.ts';
import { FaultProxy, pass } from '../test/kit/fault-proxy.ts';
import { type GivenApplication, givenApplication } from '../test/kit/oauth.ts';
import { AuthenticationError, RequestError, Tallybook } from './main.ts';

const scopes: readonly Scope[] = ['products.read', 'products.write'];

let service: Environment;
let operator: Database;
let proxy: FaultProxy;
let application: GivenApplication;

beforeAll(async () => {
  service = await startEnvironment();
  operator = connectDatabase({ url: service.db.serviceUrl, writers: 2 });
  proxy = await FaultProxy.listen(service.api.origin);
  const merchant = (await service.given.merchant()) as MerchantId;
  application = await givenApplication(operator, service.api.origin, { scopes });
  await approve(operator, application.id, { merchant, scopes, locations: 'all' });
});
afterAll(async () => {
  proxy.close();
  await operator.close();
  await service.stop();
});
beforeEach(() => {
  proxy.seen.length = 0;
  proxy.fateOf = () => pass;
});

const clientWith = (more: { clientSecret?: string; scope?: string } = {}) =>
  Tallybook.withClientCredentials({
    baseUrl: proxy.baseUrl,
    clientId: application.id,
    clientSecret: application.secret,
    ...more,
  });

const asksForToken = ({ path }: { path: string }) => path === '/oauth/token';
const bearers = () => [...new Set(proxy.seen.map(({ headers }) => headers.authorization))];

test('many callers share one token, which is asked for once', async () => {
  const tb = clientWith();
  const found = await Promise.all(Array.from({ length: 50 }, () => tb.credential.get()));
  expect(new Set(found.map(({ data }) => data.id)).size).toBe(1);
  expect(proxy.seen.filter(asksForToken)).toHaveLength(1);
});

test('a token that ended early is replaced once for many callers', async () => {
  const tb = clientWith();
  await tb.credential.get();
  const [, bearer = ''] = bearers();
  await tokenRevocation(application.config, bearer.replace('Bearer ', ''));
  await Promise.all(Array.from({ length: 50 }, () => tb.products.list()));
  expect(proxy.seen.filter(asksForToken)).toHaveLength(2);
});

test('a token is asked for again when its request was lost', async () => {
  proxy.script(
    { kind: 'cut answer', after: 100 },
    { kind: 'answer', status: 503, headers: { 'retry-after': '0' } },
  );
  expect((await clientWith().credential.get()).data.application?.id).toBe(application.id);
  expect(proxy.seen.filter(asksForToken)).toHaveLength(3);
});

test('a wrong secret and a scope without approval are refused with the code of OAuth', async () => {
  const wrong = clientWith({ clientSecret: 'of-nobody' }).credential.get();
  await expect(wrong).rejects.toBeInstanceOf(AuthenticationError);
  await expect(wrong).rejects.toMatchObject({ code: 'invalid_client', retryable: false });
  const wide = clientWith({ scope: 'customers.read' }).credential.get();
  await expect(wide).rejects.toBeInstanceOf(RequestError);
  await expect(wide).rejects.toMatchObject({ code: 'invalid_scope' });
});
