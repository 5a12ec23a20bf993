// What people do to each other at the same moment, on two nodes: exactly one of two that exclude
// each other.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { served } from '../../test/kit/again.ts';
import { type Answer, type Api, newKey } from '../../test/kit/api.ts';
import { withoutLimits } from '../../test/kit/database.ts';
import { type Environment, startEnvironment, startNode } from '../../test/kit/environment.ts';
import { extent } from '../../test/kit/extent.ts';

let service: Environment;
let node: Awaited<ReturnType<typeof startNode>>;

beforeAll(async () => {
  service = await startEnvironment();
  await withoutLimits(service.db);
  node = await startNode(service.db.serviceUrl);
});
afterAll(async () => {
  await node.stop();
  await service.stop();
});

async function shop(): Promise<readonly [Api, Api]> {
  const merchant = await service.given.merchant();
  const { token } = await service.given.credential(merchant);
  return [service.api.as(token), node.api.as(token)];
}

const rounds = Array.from({ length: extent(12, 250) }, (_, n) => n);

/** A definite answer: what was not done is sent again with its key. */
const done = (send: (key: string) => Promise<Answer>): Promise<Answer> => {
  const key = newKey();
  return served(() => send(key));
};

test('two owners who revoke each other: one stays', async () => {
  const [here, there] = await shop();
  for (const n of rounds) {
    const made = await Promise.all(
      ['A', 'B'].map((name) => here.post('/people', { name: `${name} ${n}`, role: 'owner' })),
    );
    const before = (await here.get('/people?status=invited&limit=200')).body.data;
    const others = before.filter(({ id }: { id: string }) =>
      made.every(({ body }) => body.data.id !== id),
    );
    for (const { id } of others) await here.patch(`/people/${id}`, { status: 'revoked' });
    const both = await Promise.all(
      made.map(({ body }, index) =>
        done((key) =>
          (index === 0 ? here : there).patch(
            `/people/${body.data.id}`,
            index === 0 ? { status: 'revoked' } : { role: 'viewer' },
            { key },
          ),
        ),
      ),
    );
    const outcomes = both.map(({ status, code }) => code ?? status).sort();
    expect(outcomes).toEqual([200, 'last_owner']);
  }
});

test('of two who invite the same name one does, and the other is told so', async () => {
  const [here, there] = await shop();
  for (const n of rounds) {
    const both = await Promise.all(
      [here, there].map((api) =>
        done((key) => api.post('/people', { name: `Ada ${n}`, role: 'viewer' }, { key })),
      ),
    );
    const outcomes = both.map(({ status, code }) => code ?? status).sort();
    expect(outcomes).toEqual([201, 'name_taken']);
  }
});

test('one key on two nodes makes one token, and one answer shows it', async () => {
  const [here, there] = await shop();
  for (const n of rounds) {
    const key = newKey();
    const body = { name: `Till ${n}`, scopes: ['products.read'] };
    const both = await Promise.all(
      [here, there, here].map((api) => served(() => api.post('/tokens', body, { key }))),
    );
    expect(new Set(both.map((answer) => answer.body.data.id)).size).toBe(1);
    const shown = both.flatMap((answer) => answer.body.data.token ?? []);
    expect(shown).toHaveLength(1);
    const [token] = shown;
    expect((await here.as(token).get('/products')).status).toBe(200);
  }
  const [lines] = await service.db.sql<{ lines: number }>(
    `select count(*)::int as lines from audit_records where line like '%"token.create"%'`,
  );
  expect(lines).toEqual({ lines: rounds.length });
});
