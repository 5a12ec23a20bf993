// Signing in with a passkey: answers as an authenticator gives them, at a page that has passkeys.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Environment, startEnvironment } from '../../test/kit/environment.ts';
import { TestPasskey } from '../../test/kit/passkey.ts';
import { type Reply, Sender } from '../../test/kit/sender.ts';

let service: Environment;
let sender: Sender;
/** The service, as a browser names it where it has passkeys. */
let origin: string;

beforeAll(async () => {
  service = await startEnvironment();
  const { port } = new URL(service.api.origin);
  origin = `http://localhost:${port}`;
  sender = new Sender(service.api.origin);
});
afterAll(async () => {
  sender.close();
  await service.stop();
});

function post(path: string, body: object, from = origin): Promise<Reply> {
  const headers = { origin: from, host: new URL(from).host, 'content-type': 'application/json' };
  return sender.send('POST', `/console/session${path}`, headers, JSON.stringify(body));
}

const dataOf = ({ text }: Reply) => JSON.parse(text).data;
const codeOf = ({ status, text }: Reply) =>
  `${status} ${JSON.parse(text).error?.code ?? ''}`.trim();

async function invited() {
  const merchant = await service.given.merchant();
  const { token } = await service.given.credential(merchant);
  const api = service.api.as(token);
  const { id, invitation } = (await api.post('/people', { name: 'Ada', role: 'owner' })).body.data;
  const { passkey_options: options } = dataOf(await post('/invitation', { invitation }));
  return { api, id, invitation, options };
}

async function joined() {
  const person = await invited();
  const passkey = new TestPasskey(origin);
  const answer = passkey.register(person.options);
  const reply = await post('/accept', { invitation: person.invitation, passkey: answer });
  expect([reply.status, reply.text]).toEqual([201, expect.stringContaining(person.id)]);
  return { ...person, passkey };
}

const challenge = async () => dataOf(await post('/passkey/challenge', {})).passkey_options;

describe('a passkey', () => {
  test('is set by an invitation, once, and signs in as the same person', async () => {
    const { id, invitation, options, passkey } = await joined();
    const again = new TestPasskey(origin).register(options);
    expect(codeOf(await post('/accept', { invitation, passkey: again }))).toBe('401 invalid_token');
    passkey.counter = 1;
    const reply = await post('/passkey', { passkey: passkey.answer(await challenge()) });
    expect([reply.status, dataOf(reply).person.id]).toEqual([201, id]);
    expect(reply.headers['set-cookie']).toEqual([
      expect.stringMatching(
        /^tallybook_session=tb_ses_\w{46}; Path=\/console; HttpOnly; SameSite=Strict$/,
      ),
    ]);
  });

  test('answers each challenge once, and only those that were asked', async () => {
    const { passkey } = await joined();
    const asked = await challenge();
    passkey.counter = 1;
    const answer = passkey.answer(asked);
    const both = await Promise.all([1, 2].map(() => post('/passkey', { passkey: answer })));
    expect(both.map(codeOf).sort()).toEqual(['201', '401 invalid_token']);
    passkey.counter = 2;
    const made = passkey.answer({ challenge: 'bm90IGFza2Vk' });
    expect(codeOf(await post('/passkey', { passkey: made }))).toBe('401 invalid_token');
    const late = passkey.answer(await challenge());
    await service.db.sql('update sign_in_challenges set expires_at = now()');
    expect(codeOf(await post('/passkey', { passkey: late }))).toBe('401 invalid_token');
  });

  test('that was copied, is of another page, or signs something else opens nothing', async () => {
    const { passkey } = await joined();
    passkey.counter = 5;
    expect((await post('/passkey', { passkey: passkey.answer(await challenge()) })).status).toBe(
      201,
    );
    passkey.counter = 4;
    const copied = passkey.answer(await challenge());
    const stranger = new TestPasskey(origin);
    const unknown = stranger.answer(await challenge());
    const elsewhere = new TestPasskey('https://evil.example').answer(await challenge());
    passkey.counter = 6;
    const right = JSON.parse(passkey.answer(await challenge()));
    right.response.signature = JSON.parse(passkey.answer(await challenge())).response.signature;
    for (const answer of [copied, unknown, elsewhere, JSON.stringify(right), '{}', 'x']) {
      expect(codeOf(await post('/passkey', { passkey: answer }))).toBe('401 invalid_token');
    }
  });

  test('opens nothing after a revocation, or another invitation', async () => {
    const { api, id, passkey } = await joined();
    await api.post('/people', { name: 'Grace', role: 'owner' });
    await api.patch(`/people/${id}`, { status: 'revoked' });
    const enter = async () => {
      passkey.counter += 1;
      return codeOf(await post('/passkey', { passkey: passkey.answer(await challenge()) }));
    };
    expect(await enter()).toBe('401 invalid_token');
    const { invitation } = (await api.post(`/people/${id}/invite`, {})).body.data;
    expect(await enter()).toBe('401 invalid_token');
    await post('/accept', { invitation, password: 'correct horse battery' });
    expect(await enter()).toBe('401 invalid_token');
  });

  test('is offered where browsers have them, and made for its own invitation alone', async () => {
    const [one, other] = [await invited(), await invited()];
    const passkey = new TestPasskey(origin).register(one.options);
    expect(codeOf(await post('/accept', { invitation: other.invitation, passkey }))).toBe(
      '401 invalid_token',
    );
    const both = { invitation: one.invitation, passkey, password: 'correct horse battery' };
    expect(codeOf(await post('/accept', both))).toBe('422 validation_failed');
    const neither = { invitation: one.invitation };
    expect(codeOf(await post('/accept', neither))).toBe('422 validation_failed');
    const plain = `http://192.168.1.5:${new URL(origin).port}`;
    const shown = await post('/invitation', { invitation: one.invitation }, plain);
    expect(dataOf(shown)).toMatchObject({ passkey_options: null, person: { id: one.id } });
  });
});
