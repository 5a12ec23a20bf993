// How people sign in: through HTTP, as a browser does it, with what the database and the audit
// trail have of it.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newKey } from '../../test/kit/api.ts';
import { AuditTrail } from '../../test/kit/audit.ts';
import { type Environment, startEnvironment, startNode } from '../../test/kit/environment.ts';
import { setCheapPassword } from '../../test/kit/password.ts';
import { type Reply, Sender } from '../../test/kit/sender.ts';
import { limits } from '../core/limits.ts';

let service: Environment;
let sender: Sender;
let trail: AuditTrail;
const password = 'correct horse battery';

beforeAll(async () => {
  service = await startEnvironment();
  sender = new Sender(service.api.origin);
  trail = new AuditTrail(service.db);
});
afterAll(async () => {
  sender.close();
  await trail.database.close();
  await service.stop();
});

/** A browser: it keeps its cookie, and says where its pages come from. */
class Browser {
  cookie: string | undefined;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(headers: Readonly<Record<string, string>> = {}) {
    this.#headers = { origin: service.api.origin, ...headers };
  }

  async send(method: string, path: string, body?: object, more: object = {}): Promise<Reply> {
    const headers = {
      ...this.#headers,
      ...(this.cookie === undefined ? {} : { cookie: this.cookie }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...more,
    };
    const reply = await sender.send(method, path, headers, body && JSON.stringify(body));
    const [set] = [reply.headers['set-cookie'] ?? []].flat();
    if (set !== undefined) this.cookie = set.split(';')[0];
    return reply;
  }

  get(path: string): Promise<Reply> {
    return this.send('GET', path);
  }

  post(path: string, body: object): Promise<Reply> {
    return this.send('POST', path, body, { 'idempotency-key': newKey() });
  }
}

const dataOf = ({ text }: Reply) => JSON.parse(text).data;
const codeOf = ({ status, text }: Reply) =>
  `${status} ${JSON.parse(text).error?.code ?? ''}`.trim();

async function shop() {
  const merchant = await service.given.merchant();
  const { token } = await service.given.credential(merchant);
  const api = service.api.as(token);
  const invite = async (name = 'Ada', role = 'owner') =>
    (await api.post('/people', { name, role, all_locations: true })).body.data;
  return { merchant, api, invite };
}

const accept = (browser: Browser, invitation: string, secret = password) =>
  browser.post('/console/session/accept', { invitation, password: secret });

const credential = '/console/api/v1/credential';

describe('an invitation', () => {
  test('says whom it is for, and opens a session once', async () => {
    const { invite, merchant } = await shop();
    const { id, invitation } = await invite();
    const browser = new Browser();
    const shown = await browser.post('/console/session/invitation', { invitation });
    expect(dataOf(shown)).toMatchObject({
      person: { id, name: 'Ada', role: 'owner' },
      merchant: { id: merchant },
    });
    const browsers = [browser, new Browser(), new Browser()];
    const all = await Promise.all(browsers.map((one) => accept(one, invitation)));
    expect(all.map(codeOf).sort()).toEqual(['201', '401 invalid_token', '401 invalid_token']);
    const [in_] = browsers.filter(({ cookie }) => cookie !== undefined);
    const own = dataOf((await in_?.get(credential)) as Reply);
    expect([own.id, own.role]).toEqual([id, 'owner']);
    expect(codeOf(await new Browser().post('/console/session/invitation', { invitation }))).toBe(
      '401 invalid_token',
    );
    expect(await trail.lines('person.join')).toMatchObject([
      { merchant_id: merchant, credential_id: id, address: expect.any(String) },
    ]);
    const [kept] = await service.db.sql<{ hash: string }>(
      'select hash from person_passwords where credential_id = $1',
      [id],
    );
    expect(kept?.hash).toMatch(/^scrypt\$15\$8\$3\$[\w-]{22}\$[\w-]{43}$/);
  });

  test('ends after ten minutes, with the person, and with the next one', async () => {
    const { invite, api } = await shop();
    const late = await invite('Ada');
    await service.db.sql(`update credentials set invitation_expires_at = now() where id = $1`, [
      late.id,
    ]);
    const revoked = await invite('Grace');
    await api.patch(`/people/${revoked.id}`, { status: 'revoked' });
    const before = await invite('Alan');
    await api.post(`/people/${before.id}/invite`, {});
    for (const { invitation } of [late, revoked, before, { invitation: 'tb_inv_x' }]) {
      expect(codeOf(await accept(new Browser(), invitation))).toBe('401 invalid_token');
    }
  });

  test('takes a password of twelve characters at least', async () => {
    const { invite } = await shop();
    const { invitation } = await invite();
    expect(codeOf(await accept(new Browser(), invitation, 'eleven char'))).toBe(
      '422 validation_failed',
    );
    expect((await accept(new Browser(), invitation, 'twelve chars')).status).toBe(201);
  });
});

describe('a session', () => {
  async function signedIn(name = 'Ada', role = 'owner') {
    const { merchant, api, invite } = await shop();
    const person = await invite(name, role);
    const browser = new Browser();
    await accept(browser, person.invitation);
    return { merchant, api, person, browser };
  }

  test('is a cookie that no script reads, and stands for the header', async () => {
    const { browser, person, api } = await signedIn();
    const fresh = new Browser();
    const reply = await fresh.post('/console/session', { name: 'x', password: 'y' });
    expect(reply.headers['set-cookie']).toBeUndefined();
    expect(browser.cookie).toMatch(/^tallybook_session=tb_ses_[0-9A-Za-z]{46}$/);
    const made = await browser.post('/console/api/v1/products', { name: 'Mug' });
    expect(made.status).toBe(201);
    const { operation_id } = JSON.parse(made.text).meta;
    const operation = (await api.get(`/operations/${operation_id}`)).body.data;
    expect(operation.actor).toMatchObject({ credential_id: person.id, name: 'Ada' });
    const key = { 'idempotency-key': newKey() };
    const mug = { name: 'Mug 2' };
    const [first, again] = [
      await browser.send('POST', '/console/api/v1/products', mug, key),
      await browser.send('POST', '/console/api/v1/products', mug, key),
    ];
    expect(dataOf(again).id).toBe(dataOf(first).id);
    expect(codeOf(await browser.send('POST', '/console/api/v1/products', mug))).toBe(
      '400 idempotency_key_required',
    );
    expect(dataOf(await browser.get('/console/session'))).toMatchObject({
      person: { id: person.id, role: 'owner' },
    });
  });

  test('counts below /console alone, and a token nowhere there', async () => {
    const { browser } = await signedIn();
    const session = browser.cookie?.split('=')[1] ?? '';
    expect(
      (await service.api.get('/credential', { headers: { cookie: browser.cookie ?? '' } })).code,
    ).toBe('authentication_required');
    const headers = { authorization: `Bearer ${session}` };
    expect((await service.api.get('/credential', { headers })).code).toBe('invalid_token');
    const { token } = await service.given.credential(await service.given.merchant());
    const plain = new Browser({ authorization: `Bearer ${token}` });
    expect(codeOf(await plain.get(credential))).toBe('401 authentication_required');
    plain.cookie = `tallybook_session=${token}`;
    expect(codeOf(await plain.get(credential))).toBe('401 invalid_token');
  });

  test('does not count in requests that come from elsewhere', async () => {
    const { browser } = await signedIn();
    const from = (headers: Record<string, string>) => {
      const other = new Browser(headers);
      other.cookie = browser.cookie;
      return other;
    };
    const host = new URL(service.api.origin).host;
    const elsewhere = [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: `http://${host}.evil.example` },
      { origin: service.api.origin, 'sec-fetch-site': 'same-site' },
      { origin: service.api.origin, 'sec-fetch-site': 'cross-site' },
    ];
    for (const headers of elsewhere) {
      const other = from(headers);
      for (const reply of [
        await other.get(credential),
        await other.post('/console/api/v1/products', { name: 'Mug' }),
        await other.post('/console/session/end', {}),
      ]) {
        expect([headers, codeOf(reply)]).toEqual([headers, '401 authentication_required']);
      }
    }
    expect((await browser.get(credential)).status).toBe(200);
  });

  test('is another one at each sign-in, and ends with a revocation', async () => {
    const { browser, person, merchant, api } = await signedIn();
    const again = new Browser();
    again.cookie = browser.cookie;
    const form = { merchant_id: merchant, name: ' ADA', password };
    expect((await again.post('/console/session', form)).status).toBe(201);
    expect(again.cookie).not.toBe(browser.cookie);
    for (const one of [browser, again]) expect((await one.get(credential)).status).toBe(200);
    await again.post('/console/session/end', {});
    expect(codeOf(await again.get(credential))).toBe('401 authentication_required');
    expect((await browser.get(credential)).status).toBe(200);
    await api.post('/people', { name: 'Grace', role: 'owner' });
    await api.patch(`/people/${person.id}`, { status: 'revoked' });
    expect(codeOf(await browser.get(credential))).toBe('401 invalid_token');
    expect(codeOf(await new Browser().post('/console/session', form))).toBe('401 invalid_token');
    const { invitation } = (await api.post(`/people/${person.id}/invite`, {})).body.data;
    expect(codeOf(await browser.get(credential))).toBe('401 invalid_token');
    expect(codeOf(await new Browser().post('/console/session', form))).toBe('401 invalid_token');
    await accept(browser, invitation, 'another password');
    expect((await browser.get(credential)).status).toBe(200);
    const actions = (await trail.lines())
      .filter((line) => line.credential_id === person.id)
      .map(({ action }) => action);
    expect(actions).toEqual([
      ...['person.invite', 'person.join', 'person.sign_in', 'person.sign_out', 'person.revoke'],
      ...['person.invite', 'person.join'],
    ]);
  });

  test('lasts twelve hours from its last use', async () => {
    const { browser } = await signedIn();
    const { expires_at } = dataOf(await browser.get('/console/session'));
    const left = Date.parse(expires_at) - Date.now();
    expect(Math.abs(left - limits.sessionIdleHours * 3_600_000)).toBeLessThan(60_000);
    const shorten = `update credential_tokens set expires_at = now() + $1::interval
      where last_four = $2`;
    const lastFour = browser.cookie?.slice(-4);
    await service.db.sql(shorten, ['11 hours', lastFour]);
    await browser.get(credential);
    await expect
      .poll(async () => Date.parse(dataOf(await browser.get('/console/session')).expires_at))
      .toBeGreaterThan(Date.now() + 11.9 * 3_600_000);
    await service.db.sql(shorten, ['-1 second', lastFour]);
    expect(codeOf(await browser.get(credential))).toBe('401 invalid_token');
  });
});

describe('a password', () => {
  test('is tried ten times by a name, on all nodes at once, whoever has it', async () => {
    const { merchant, invite } = await shop();
    const { id, invitation } = await invite();
    await accept(new Browser(), invitation);
    await setCheapPassword(service.db, id, password);
    const node = await startNode(service.db.serviceUrl);
    const other = new Sender(node.api.origin);
    const from = [
      { origin: service.api.origin, by: sender },
      { origin: node.api.origin, by: other },
    ];
    const tryAt = async ({ origin, by }: (typeof from)[number], name: string) => {
      const headers = { origin, 'content-type': 'application/json' };
      const body = JSON.stringify({ merchant_id: merchant, name, password: 'wrong' });
      return codeOf(await by.send('POST', '/console/session', headers, body));
    };
    const nodes = Array.from({ length: 5 }, () => from).flat();
    const wrong = '401 invalid_token';
    for (const name of ['Ada', 'Nobody']) {
      // Ten passwords at once take a busy machine longer than a request may: 504.
      for (const one of nodes.slice(0, 7)) expect(await tryAt(one, name)).toBe(wrong);
      const tries = await Promise.all(nodes.map((one) => tryAt(one, name)));
      const expected = [...Array(3).fill(wrong), ...Array(7).fill('429 rate_limited')];
      expect([name, ...tries.sort()]).toEqual([name, ...expected]);
    }
    const right = { merchant_id: merchant, name: 'Ada', password };
    expect(codeOf(await new Browser().post('/console/session', right))).toBe('429 rate_limited');
    other.close();
    await node.stop();
    await service.db.sql('delete from sign_in_tries');
    expect((await new Browser().post('/console/session', right)).status).toBe(201);
  });

  test('is found without the merchant where one person has the name', async () => {
    const [one, other] = [await shop(), await shop()];
    const name = 'Katherine';
    await accept(new Browser(), (await one.invite(name)).invitation);
    expect((await new Browser().post('/console/session', { name, password })).status).toBe(201);
    await accept(new Browser(), (await other.invite(name)).invitation);
    const reply = await new Browser().post('/console/session', { name, password });
    expect(codeOf(reply)).toBe('401 invalid_token');
    const named = { name, password, merchant_id: other.merchant };
    expect(dataOf(await new Browser().post('/console/session', named)).merchant.id).toBe(
      other.merchant,
    );
  });

  test('is in no log and no trail, and a wrong one is counted there', async () => {
    const browser = new Browser();
    for (let n = 0; n < 3; n += 1) {
      await browser.post('/console/session', { name: 'Eve', password: 'not the password' });
    }
    await expect
      .poll(async () =>
        (await trail.lines('request.denied'))
          .filter((line) => line.route === '/console/session')
          .some((line) => line.code === 'invalid_token'),
      )
      .toBe(true);
    const text = JSON.stringify([service.records, await trail.lines()]);
    for (const secret of [password, 'not the password', 'tb_ses_', 'tb_inv_']) {
      expect(text).not.toContain(secret);
    }
  });
});
