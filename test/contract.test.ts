// What every endpoint promises, derived from its contract alone: who is admitted, the order of the
// checks, and the form of an answer. So a new endpoint is covered before it has tests of its own.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mintToken } from '../src/access/token.ts';
import { successStatus } from '../src/contract/contract.ts';
import { mintId } from '../src/core/id.ts';
import { problemKinds } from '../src/core/problem.ts';
import { scopes } from '../src/resources.ts';
import type { Api } from './kit/api.ts';
import { cases, pathOf, send, withoutRequestId } from './kit/cases.ts';
import { type Environment, startEnvironment } from './kit/environment.ts';
import { examples } from './kit/examples.ts';
import { extentName, shareOf } from './kit/extent.ts';
import { createTestMerchant, type TestMerchant } from './kit/merchant.ts';

let service: Environment;
let shop: TestMerchant;
let foreign: TestMerchant;

beforeAll(async () => {
  service = await startEnvironment();
  shop = await createTestMerchant(service);
  foreign = await createTestMerchant(service, 'Other Shop');
});
afterAll(() => service.stop());

/** A caller of the shop with these scopes only. */
async function callerWith(granted: readonly string[]): Promise<Api> {
  const { token } = await service.given.credential(shop.merchant, { scopes: granted });
  return service.api.as(token);
}

test('every endpoint has a row of examples, and every row an endpoint', () => {
  expect(Object.keys(examples).sort()).toEqual(cases.map((one) => one.name).sort());
  for (const { contract, example, name } of cases) {
    expect(example.id !== undefined, name).toBe(contract.path.includes('{id}'));
    expect(example.body !== undefined, name).toBe(contract.kind === 'write');
  }
});

test('an unknown path is 404 for anyone, before a credential is asked for', async () => {
  for (const path of ['', '/', '/nothing', '/inventory', '/credential/me', '/v1', '//']) {
    const answer = await service.api.get(path);
    expect([path, answer.status, answer.code]).toEqual([path, 404, 'not_found']);
  }
});

describe.each(shareOf(cases, 2, 0))(`$name (${extentName})`, (one) => {
  const { contract, method } = one;
  const ok = successStatus(contract);

  test('answers the envelope, with one request ID in header and body', async () => {
    const answer = await send(one, shop, shop.api);
    expect(answer.status, JSON.stringify(answer.body)).toBe(ok);
    const { data, meta, ...others } = answer.body;
    expect(others).toEqual({});
    expect(Array.isArray(data)).toBe(contract.kind === 'collection');
    expect(meta.request_id).toBe(answer.headers.get('x-request-id'));
    expect('operation_id' in meta).toBe(contract.kind === 'write');
    expect(answer.headers.get('cache-control')).toBe('no-store');
    const other = await send(one, shop, shop.api);
    expect(other.body.meta.request_id).not.toBe(meta.request_id);
  });

  test('answers 401 without a bearer credential, always in the same words', async () => {
    const headers = ['', 'Basic dGFsbHk6Ym9vaw==', 'Token abc', shop.token, `Bearer:${shop.token}`];
    const asks = [{}, ...headers.map((authorization) => ({ headers: { authorization } }))];
    for (const ask of asks) {
      const answer = await send(one, shop, service.api, ask);
      expect([answer.status, answer.code]).toEqual([401, 'authentication_required']);
      expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="tallybook"');
      expect(withoutRequestId(answer)).toEqual(
        withoutRequestId(await send(one, shop, service.api)),
      );
    }
  });

  test('answers 401 to every bad token, for every fault of it', async () => {
    const expired = await service.given.credential(shop.merchant);
    const revoked = await service.given.credential(shop.merchant);
    await service.db.sql(
      `update credential_tokens set expires_at = now() - interval '1 second'
       where credential_id = $1`,
      [expired.id],
    );
    await service.db.sql('update credentials set revoked_at = now() where id = $1', [revoked.id]);
    const mistyped = shop.token.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a'));
    const tokens = ['', 'nonsense', mistyped, mintToken('pat'), mintToken('oat')];
    const bodies = new Set<string>();
    for (const token of [...tokens, expired.token, revoked.token, `${shop.token} x`]) {
      const answer = await send(one, shop, service.api.as(token));
      expect([answer.status, answer.code], token).toEqual([401, 'invalid_token']);
      expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer .*error="invalid_token"$/);
      bodies.add(JSON.stringify(withoutRequestId(answer)));
    }
    expect(bodies.size).toBe(1);
  });

  if (contract.scope !== null) {
    test('needs its scope and no other', async () => {
      const others = await callerWith(scopes.filter((scope) => scope !== contract.scope));
      const refused = await send(one, shop, others);
      expect([refused.status, refused.code]).toEqual([403, 'insufficient_scope']);
      expect(refused.headers.get('www-authenticate')).toContain(`scope="${contract.scope}"`);
      expect(refused.body.error.details).toEqual([
        expect.objectContaining({ code: 'insufficient_scope', scope: contract.scope }),
      ]);
      const enough = [contract.scope ?? '', ...(one.example.reads ?? [])];
      const admitted = await send(one, shop, await callerWith(enough));
      expect(admitted.status).toBe(ok);
    });
  }

  if (contract.scope === null) {
    test('needs no scope', async () => {
      const own = await callerWith([]);
      const answer = await send(one, shop, own);
      // A caller without any right sees nothing of others: an empty list, or nothing at all.
      expect([200, 404]).toContain(answer.status);
      if (contract.kind === 'collection') expect(answer.body.data).toEqual([]);
    });
  }

  test('answers 405 with Allow to other methods, before a credential is asked for', async () => {
    const here = cases.filter((other) => other.contract.path === contract.path);
    const allowed = new Set(
      here.flatMap(({ method: own }) => (own === 'GET' ? ['GET', 'HEAD'] : [own])),
    );
    for (const other of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      if (allowed.has(other)) continue;
      const answer = await service.api.send(other, pathOf(one, shop), undefined);
      expect([other, answer.status]).toEqual([other, 405]);
      if (other !== 'HEAD') expect(answer.code).toBe('method_not_allowed');
      expect(new Set(answer.headers.get('allow')?.split(', '))).toEqual(allowed);
    }
  });

  test('answers 406 when JSON is excluded, and JSON otherwise', async () => {
    for (const accept of ['text/html', 'application/xml', 'application/json;q=0', 'image/*']) {
      const answer = await send(one, shop, shop.api, { headers: { accept } });
      expect([accept, answer.status, answer.code]).toEqual([accept, 406, 'not_acceptable']);
    }
    for (const accept of ['*/*', 'application/*', 'text/html, application/json;q=0.1']) {
      const answer = await send(one, shop, shop.api, { headers: { accept } });
      expect([accept, answer.status]).toEqual([accept, ok]);
    }
  });

  test('refuses a query parameter it does not know, and names it', async () => {
    const answer = await send(one, shop, shop.api, { search: 'lokation=1&page=2' });
    expect([answer.status, answer.code]).toEqual([400, 'unknown_parameter']);
    const fields = answer.body.error.details.map((detail: { field: string }) => detail.field);
    expect(fields).toEqual(expect.arrayContaining(['query.lokation', 'query.page']));
  });

  if (method === 'GET') {
    test('answers HEAD like GET, without the body', async () => {
      // The request's own ID makes a compressed answer longer or shorter.
      const ask = { headers: { 'accept-encoding': 'identity' } };
      const get = await shop.api.get(pathOf(one, shop), ask);
      const head = await shop.api.send('HEAD', pathOf(one, shop), undefined, ask);
      expect(head.status).toBe(get.status);
      expect(head.body).toBeUndefined();
      // A cursor differs each time, but not in its length.
      for (const name of ['content-type', 'content-length', 'etag']) {
        expect([name, head.headers.get(name)]).toEqual([name, get.headers.get(name)]);
      }
      const refused = await service.api.send('HEAD', pathOf(one, shop), undefined);
      expect(refused.status).toBe(401);
    });
  }

  if (contract.path.includes('{id}')) {
    test('answers 404 to an unknown ID and to a foreign one, in the same words', async () => {
      const unknown = [mintId('req_'), mintId('prod_'), 'x', '%00', 'a'.repeat(65), '🙂'];
      // A client takes this segment out of the middle of a path, which is another route then.
      if (contract.path.endsWith('{id}')) unknown.push('%2e');
      const bodies = new Set<string>();
      for (const id of [one.example.id?.(foreign) ?? '', ...unknown]) {
        const answer = await send(one, shop, shop.api, { id });
        expect([id, answer.status, answer.code]).toEqual([id, 404, 'not_found']);
        bodies.add(JSON.stringify(withoutRequestId(answer)));
      }
      expect(bodies.size).toBe(1);
      expect((await send(one, foreign, foreign.api)).status).toBe(ok);
    });
  }

  test('judges in order: route, Accept, credential, scope, then the rest', async () => {
    const wrong = { accept: 'text/html' };
    const bad = { search: 'unknown=1', text: '{', headers: { 'idempotency-key': 'short' } };
    const isWrite = contract.kind === 'write';
    const change = isWrite ? bad : { search: bad.search };
    const noAccept = await send(one, shop, service.api, { ...change, headers: wrong });
    expect(noAccept.status).toBe(406);
    const noToken = await send(one, shop, service.api, change);
    expect(noToken.code).toBe('authentication_required');
    const badToken = await send(one, shop, service.api.as('bad'), change);
    expect(badToken.code).toBe('invalid_token');
    if (contract.scope === null) return;
    const noScope = await send(one, shop, await callerWith([]), change);
    expect(noScope.code).toBe('insufficient_scope');
  });

  test('names only codes that the table has, and says where each is explained', async () => {
    const answer = await send(one, shop, service.api);
    const { error } = answer.body;
    expect(Object.keys(problemKinds)).toContain(error.code);
    expect(error.doc_url).toBe(`/docs/errors#${error.code}`);
    expect(error.retryable).toBe(false);
  });
});
