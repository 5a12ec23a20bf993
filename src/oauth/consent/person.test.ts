// What people allow an application while they are signed in at the console: no more than they may
// do themselves, by a form of their own, until they or somebody else withdraw it.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AuditTrail } from '../../../test/kit/audit.ts';
import { ask, ConsentEnvironment } from '../../../test/kit/consent-environment.ts';
import { authorizationRequest, type Browser, redirectUri } from '../../../test/kit/oauth.ts';
import { setCheapPassword } from '../../../test/kit/password.ts';

let scene: ConsentEnvironment;
let trail: AuditTrail;
let people = 0;

beforeAll(async () => {
  scene = await ConsentEnvironment.start();
  trail = new AuditTrail(scene.service.db);
});
afterAll(async () => {
  await trail.database.close();
  await scene.close();
});

const owner = async () => scene.service.api.as((await scene.person()).token);
const password = 'correct horse battery';

/** What the page of the console asks of the service for whoever sits at this browser. */
async function atConsole(browser: Browser, path: string, body: object): Promise<Response> {
  const { origin } = scene.service.api;
  const answer = await fetch(`${origin}/console/session${path}`, {
    method: 'POST',
    headers: {
      ...{ origin, 'content-type': 'application/json' },
      cookie: browser.cookiesFor('/console/session'),
    },
    body: JSON.stringify(body),
  });
  for (const line of answer.headers.getSetCookie()) browser.keep(line);
  return answer;
}

/** Somebody who is signed in at a browser. */
async function signedIn(form: object = { role: 'owner', all_locations: true }) {
  people += 1;
  const api = await owner();
  const name = `Ada ${people}`;
  const { id } = (await api.post('/people', { name, ...form })).body.data;
  await setCheapPassword(scene.service.db, id, password);
  const browser = scene.browser();
  const accept = (link: string) => atConsole(browser, '/accept', { invitation: link, password });
  expect((await atConsole(browser, '', { name, password })).status).toBe(201);
  return { api, id, name, browser, accept };
}

const bindingIn = (page: string) => /name="person" value="([\w-]{43})"/.exec(page)?.[1] ?? '';

/** The page that asks, and the form on it. */
async function asked(browser: Browser, parameters: Readonly<Record<string, string>> = ask) {
  const { url, exchange } = await authorizationRequest(scene.made, parameters);
  const page = await browser.get(url);
  const allow = (locations: readonly string[], binding = bindingIn(page.text)) =>
    browser.submit([
      ['decision', 'allow'],
      ['person', binding],
      ...locations.map((id) => ['location', id] as const),
    ]);
  return { page, allow, exchange: () => exchange(browser.url) };
}

const consents = async () =>
  (await scene.service.db.sql('select from credentials where given_by is not null')).length;

describe('who is signed in', () => {
  test('allows without a token; the trail and the list of tokens say who it was', async () => {
    const { api, id, name, browser } = await signedIn();
    const { page, allow, exchange } = await asked(browser, {
      ...ask,
      locations: scene.shops[1] ?? '',
    });
    expect(page.status).toBe(200);
    expect(page.text).toContain(`You are signed in as <strong>${name}</strong>.`);
    expect(page.text).toContain('It asks for Harbour');
    await allow([scene.shops[1] ?? '']);
    expect(browser.url.startsWith(redirectUri)).toBe(true);
    const token = await exchange();
    const theirs = scene.service.api.as(token.access_token);
    const { data } = (await theirs.get('/credential')).body;
    expect(data).toMatchObject({ kind: 'oauth_access_token', role: null });
    expect(data.locations).toEqual([scene.shops[1]]);
    const [line] = (await trail.lines('consent.give')).slice(-1);
    expect(line).toMatchObject({ credential_id: data.id, given_by: id });
    const { body } = await api.get(`/tokens/${data.id}`);
    expect(body.data).toMatchObject({ given_by: id, status: 'active' });
    await api.patch(`/tokens/${data.id}`, { status: 'revoked' });
    expect((await theirs.get('/locations')).code).toBe('invalid_token');
  });

  test('grants no scope and no location that he does not hold', async () => {
    const [here = '', there = ''] = scene.shops;
    const { name, browser } = await signedIn({ role: 'viewer', location_ids: [here] });
    const beyond = await asked(browser, { scope: 'products.write' });
    expect(beyond.page.status).toBe(403);
    expect(beyond.page.text).toContain(`${name} lacks products.write`);
    const { page, allow } = await asked(browser, { ...ask, locations: `${here} ${there}` });
    expect(page.text).toContain('It asks for others as well, which you cannot grant.');
    expect(page.text).not.toContain(there);
    const before = await consents();
    for (const wanted of [there, 'all', 'loc_unknown']) {
      expect((await allow([wanted])).status).toBe(403);
    }
    expect(await consents()).toBe(before);
    await allow([here]);
    expect(browser.url.startsWith(redirectUri)).toBe(true);
  });

  test('gives what shrinks with his role', async () => {
    const { api, id, browser } = await signedIn();
    const { allow, exchange } = await asked(browser, { scope: 'products.write locations.read' });
    await allow(['all']);
    const theirs = scene.service.api.as((await exchange()).access_token);
    await api.patch(`/people/${id}`, { role: 'viewer', location_ids: [scene.shops[0]] });
    const { data } = (await theirs.get('/credential')).body;
    expect(data).toMatchObject({ scopes: ['locations.read'], locations: [scene.shops[0]] });
  });

  test('may allow with a token, too', async () => {
    const { browser } = await signedIn({ role: 'viewer' });
    const giver = await scene.person();
    const { url, exchange } = await authorizationRequest(scene.made, { scope: 'products.write' });
    await browser.get(url);
    await browser.submit([
      ['decision', 'prove'],
      ['token', giver.token],
    ]);
    await browser.submit([['decision', 'allow']]);
    const { access_token } = await exchange(browser.url);
    const [line] = (await trail.lines('consent.give')).slice(-1);
    expect(line).toMatchObject({ given_by: giver.id });
    expect((await scene.service.api.as(access_token).get('/credential')).status).toBe(200);
  });
});

describe('a form', () => {
  test('counts for the session and the request that it was made for', async () => {
    const [one, other] = [await signedIn(), await signedIn()];
    const [mine, another] = [await asked(one.browser), await asked(other.browser)];
    const before = await consents();
    const wrong = ['', 'x'.repeat(43), bindingIn(another.page.text)];
    for (const binding of wrong) {
      const page = await mine.allow(['all'], binding);
      expect([page.status, page.text]).toEqual([403, expect.stringContaining('Look again')]);
    }
    const second = await asked(one.browser);
    expect((await second.allow(['all'], bindingIn(mine.page.text))).status).toBe(403);
    expect(await consents()).toBe(before);
    await second.allow(['all']);
    expect(await consents()).toBe(before + 1);
  });

  test('of another site is refused, and the page may not be framed', async () => {
    const { browser } = await signedIn();
    const { page } = await asked(browser);
    expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    const before = await consents();
    for (const origin of ['https://evil.example', 'null', undefined]) {
      const answer = await fetch(browser.url, {
        method: 'POST',
        redirect: 'manual',
        headers: {
          cookie: browser.cookiesFor(new URL(browser.url).pathname),
          ...(origin === undefined ? {} : { origin }),
        },
        body: new URLSearchParams({ decision: 'allow', person: bindingIn(page.text) }),
      });
      expect(answer.status).toBe(403);
    }
    expect(await consents()).toBe(before);
  });

  test('allows once, by as many clicks as there are', async () => {
    const { browser } = await signedIn();
    const { page } = await asked(browser);
    const before = await consents();
    const fields = [
      ['decision', 'allow'],
      ['person', bindingIn(page.text)],
    ] as const;
    const clicks = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const copy = browser.copy();
        await copy.submit(fields);
        return copy.url.includes('code=');
      }),
    );
    expect(clicks.filter((isDone) => isDone)).toHaveLength(1);
    expect(await consents()).toBe(before + 1);
  });

  test('gives nothing to whoever planted the request, who is faster than the person', async () => {
    const { browser } = await signedIn();
    const { page } = await asked(browser);
    const { origin } = scene.service.api;
    const { pathname } = new URL(browser.url);
    const answer = await fetch(browser.url, {
      method: 'POST',
      redirect: 'manual',
      headers: { origin, cookie: browser.cookiesFor(pathname) },
      body: new URLSearchParams({ decision: 'allow', person: bindingIn(page.text) }),
    });
    expect([answer.status, answer.headers.getSetCookie().length]).toEqual([303, 4]);
    const planter = browser.copy();
    const planted = pathname.split('/').at(-1);
    const ended = await planter.get(`${origin}/oauth/authorize/${planted}`);
    expect([ended.status, planter.url]).toEqual([400, expect.not.stringContaining('code=')]);
    for (const line of answer.headers.getSetCookie()) browser.keep(line);
    await browser.get(answer.headers.get('location') ?? '');
    expect(browser.url).toContain('code=');
  });
});

describe('what a person allowed', () => {
  test('outlives the session, and its going', async () => {
    const { name, browser } = await signedIn();
    const { allow, exchange } = await asked(browser);
    await allow(['all']);
    const theirs = scene.service.api.as((await exchange()).access_token);
    expect((await atConsole(browser, '/end', {})).status).toBe(200);
    await scene.service.db.sql(
      `update credential_tokens t set expires_at = now() - interval '3 days'
       from credentials c where c.id = t.credential_id and c.name = $1
         and not exists (select from credentials g where g.given_by = t.token_hash)`,
      [name],
    );
    const again = { merchant_id: scene.merchant, name, password };
    expect((await atConsole(browser, '', again)).status).toBe(201);
    expect((await theirs.get('/locations')).status).toBe(200);
  });

  test('ends after a year, and what it rested on hinders nobody from signing in', async () => {
    const { name, browser } = await signedIn();
    const { allow, exchange } = await asked(browser);
    await allow(['all']);
    const theirs = scene.service.api.as((await exchange()).access_token);
    await scene.service.db.sql(
      `update credential_tokens t set expires_at = now() - interval '3 days'
       from credentials c where c.id = t.credential_id and c.name = $1`,
      [name],
    );
    expect((await theirs.get('/locations')).code).toBe('invalid_token');
    const again = { merchant_id: scene.merchant, name, password };
    expect((await atConsole(browser, '', again)).status).toBe(201);
  });

  test('ends with a revocation, and does not come back with another invitation', async () => {
    const { api, id, browser, accept } = await signedIn();
    const { allow, exchange } = await asked(browser);
    await allow(['all']);
    const theirs = scene.service.api.as((await exchange()).access_token);
    const { data } = (await theirs.get('/credential')).body;
    const late = await asked(browser);
    await api.patch(`/people/${id}`, { status: 'revoked' });
    expect((await theirs.get('/locations')).code).toBe('invalid_token');
    const refused = await late.allow(['all']);
    expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('no longer')]);
    const { invitation } = (await api.post(`/people/${id}/invite`, {})).body.data;
    expect((await accept(invitation)).status).toBe(201);
    expect((await theirs.get('/locations')).code).toBe('invalid_token');
    expect((await api.get(`/tokens/${data.id}`)).body.data.status).toBe('ended');
  });
});
