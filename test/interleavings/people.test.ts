import { afterAll, beforeAll, describe, test } from 'vitest';
import { type Answer, type Api, newKey } from '../kit/api.ts';
import { extent, timeout } from '../kit/extent.ts';
import type { GivenCredential } from '../kit/given.ts';
import { type Expected, expectExplored, InterleavingEnvironment } from './environment.ts';
import type { Explored } from './explore.ts';
import { wordsOf } from './serial.ts';
import type { Halts } from './session.ts';

// Writes of people and tokens by two who may do everything, in every order of their statements.
// Each run has a merchant of its own, because its owners are part of what is judged.

let environment: InterleavingEnvironment;

beforeAll(async () => {
  environment = await InterleavingEnvironment.start();
});
afterAll(() => environment.stop());

/** Where a right is read, somebody is locked, the trail is locked, keys are bound; and COMMIT. */
const steps = [
  ...['find_credentials_and_keys', 'lock_managed', 'read_managed', 'append_audit'],
  ...['create_levels', 'commit'],
];
const halts: Halts = (name) => steps.includes(name) || name.startsWith('bind_keys');
/** Where the look-up of the caller is no step: both may do everything all along. */
const ofBatches: Halts = (name) => name !== 'find_credentials_and_keys' && halts(name);

interface Shop {
  readonly askers: readonly [GivenCredential, GivenCredential];
  /** On the first node, before the run. */
  readonly api: Api;
}

type Ask = (api: Api) => Promise<Answer>;

interface Scene {
  readonly asks: readonly [Ask, Ask];
  /** What is there in the end. */
  readonly left: () => Promise<string>;
}

/** A run has a merchant of its own, and takes as long as three of others. */
const most = extent(2, Number.POSITIVE_INFINITY);

const mustEnd = (explored: Explored, expected: Expected) =>
  expectExplored(explored, { ...expected, most });

/**
 * Every end is told with what it leaves, and with who was first: by the commit, or for A by another
 * statement.
 */
function explore(
  plan: (shop: Shop) => Promise<Scene>,
  where = ofBatches,
  place = 'commit',
): Promise<Explored> {
  return environment.exploreRuns(async () => {
    const merchant = await environment.given.merchant();
    const askers = [await newAsker(merchant), await newAsker(merchant)] as const;
    environment.rest();
    const { asks, left } = await plan({ askers, api: environment.api.as(askers[0].token) });
    const answers = ['', ''];
    const begun = asks.map((ask, index) =>
      environment.begin(index, where, async (api) => {
        const answer = await ask(api.as(askers[index]?.token));
        answers[index] = `${'AB'.charAt(index)} ${wordsOf(answer)}`;
      }),
    );
    return {
      sessions: begun.map(({ session }) => session),
      end: Promise.all(begun.map(({ done }) => done)),
      judge: async (all) => {
        environment.rest();
        const first = all.find(
          ({ session, statement }) => statement === (session === 'A' ? place : 'commit'),
        )?.session;
        return `${first} first: ${answers.join(', ')}: ${await left()}`;
      },
    };
  }, most);
}

async function newAsker(merchant: string): Promise<GivenCredential> {
  const made = await environment.given.credential(merchant);
  await environment.db.sql('update credentials set last_used_at = now() where id = $1', [made.id]);
  return made;
}

const dataOf = async (answer: Promise<Answer>) => (await answer).body.data;
const invite = (api: Api, name: string, role: string) =>
  dataOf(api.post('/people', { name, role, all_locations: true }));

/** Everybody, as they are shown. */
async function people(api: Api): Promise<string> {
  const all: { name: string; role: string; status: string; version: number }[] = await dataOf(
    api.get('/people'),
  );
  const lines = all.map(
    ({ name, role, status, version }) => `${name} ${role} ${status} ${version}`,
  );
  return lines.sort().join(', ');
}

const patched =
  (path: string, body: object, key = newKey()): Ask =>
  (api) =>
    api.patch(path, body, { key });

describe('two who write of one person', { timeout }, () => {
  test('change her one after the other', async () => {
    const explored = await explore(async ({ api }) => {
      const { id } = await invite(api, 'Ada', 'viewer');
      const path = `/people/${id}`;
      return {
        asks: [patched(path, { role: 'keeper' }), patched(path, { role: 'cashier' })],
        left: () => people(api),
      };
    });
    mustEnd(explored, {
      ends: [
        'A first: A 200, B 200: Ada cashier invited 3',
        'B first: A 200, B 200: Ada keeper invited 3',
      ],
      interleavings: 10,
    });
  });

  test('with If-Match change her once', async () => {
    const explored = await explore(async ({ api }) => {
      const { id } = await invite(api, 'Ada', 'viewer');
      const asked = (role: string): Ask => {
        const key = newKey();
        const headers = { 'if-match': '"1"' };
        return (by) => by.patch(`/people/${id}`, { role }, { key, headers });
      };
      return { asks: [asked('keeper'), asked('cashier')], left: () => people(api) };
    });
    mustEnd(explored, {
      ends: [
        'A first: A 200, B 412 precondition_failed: Ada keeper invited 2',
        'B first: A 412 precondition_failed, B 200: Ada cashier invited 2',
      ],
      interleavings: 10,
    });
  });

  test('revoke her after her change, or end it', async () => {
    const explored = await explore(async ({ api }) => {
      const { id } = await invite(api, 'Ada', 'viewer');
      const path = `/people/${id}`;
      return {
        asks: [patched(path, { role: 'keeper' }), patched(path, { status: 'revoked' })],
        left: () => people(api),
      };
    });
    mustEnd(explored, {
      ends: [
        'A first: A 200, B 200: Ada keeper revoked 3',
        'B first: A 422 access_ended, B 200: Ada viewer revoked 2',
      ],
      interleavings: 10,
    });
  });

  test('invite one name once, whoever asks first', async () => {
    const explored = await explore(async ({ api }) => {
      const invited = (name: string, role: string): Ask => {
        const key = newKey();
        return (by) => by.post('/people', { name, role }, { key });
      };
      return {
        asks: [invited('Ada', 'viewer'), invited(' ada', 'keeper')],
        left: () => people(api),
      };
    });
    mustEnd(explored, {
      ends: [
        'A first: A 201, B 422 name_taken: Ada viewer invited 1',
        'B first: A 422 name_taken, B 201:  ada keeper invited 1',
      ],
      interleavings: 92,
    });
  });
});

describe('the last two owners', { timeout }, () => {
  const owners = async ({ api }: Shop, bodies: readonly [object, object]): Promise<Scene> => {
    const ada = await invite(api, 'Ada', 'owner');
    const grace = await invite(api, 'Grace', 'owner');
    return {
      asks: [patched(`/people/${ada.id}`, bodies[0]), patched(`/people/${grace.id}`, bodies[1])],
      left: () => people(api),
    };
  };

  test('are revoked and changed at once: one stays', async () => {
    const bodies = [{ status: 'revoked' }, { role: 'viewer' }] as const;
    const explored = await explore((shop) => owners(shop, bodies));
    mustEnd(explored, {
      ends: [
        'A first: A 200, B 422 last_owner: Ada owner revoked 2, Grace owner invited 1',
        'B first: A 422 last_owner, B 200: Ada owner invited 1, Grace viewer invited 2',
      ],
      interleavings: 10,
    });
  });
});

describe('a token', { timeout }, () => {
  const asked = (name: string, key = newKey()): Ask => {
    const body = { name, scopes: ['products.read'] };
    return (by) => by.post('/tokens', body, { key });
  };
  const names = async (api: Api): Promise<string> => {
    const all: { name: string }[] = await dataOf(api.get('/tokens'));
    return all.map(({ name }) => name).join();
  };

  test('is made once by one key on two nodes, and shown once', async () => {
    const explored = await explore(async ({ api, askers: [first] }) => {
      const key = newKey();
      const shown: (string | null)[] = [];
      const ask: Ask = async (by) => {
        const answer = await by
          .as(first.token)
          .post('/tokens', { name: 'Till', scopes: ['products.read'] }, { key });
        shown.push(answer.body.data?.token ?? null);
        return answer;
      };
      return {
        asks: [ask, ask],
        left: async () => `${await names(api)}, ${shown.filter((one) => one !== null).length}`,
      };
    }, halts);
    mustEnd(explored, {
      ends: [
        'A first: A 201, B 201 replayed: test,test,Till, 1',
        'B first: A 201 replayed, B 201: test,test,Till, 1',
      ],
      interleavings: 50,
    });
  });

  test('is made with two bodies under one key once, and 409 to the other', async () => {
    const explored = await explore(async ({ api, askers: [first] }) => {
      const key = newKey();
      const by =
        (ask: Ask): Ask =>
        (node) =>
          ask(node.as(first.token));
      return {
        asks: [by(asked('One', key)), by(asked('Two', key))],
        left: () => names(api),
      };
    });
    mustEnd(explored, {
      ends: [
        'A first: A 201, B 409 idempotency_key_reused: test,test,One',
        'B first: A 409 idempotency_key_reused, B 201: test,test,Two',
      ],
      interleavings: 10,
    });
  });

  test('that is revoked gives nothing that it has not given before', async () => {
    const explored = await explore(async ({ askers: [revoked, other] }) => {
      const api = environment.api.as(other.token);
      return {
        asks: [asked('Late'), patched(`/tokens/${revoked.id}`, { status: 'revoked' })],
        left: () => names(api),
      };
    }, halts);
    // Whoever was let in before, and is judged behind the lock of his own row.
    mustEnd(explored, {
      ends: [
        'A first: A 201, B 200: test,test,Late',
        'B first: A 401 invalid_token, B 200: test,test',
        'B first: A 403 insufficient_scope, B 200: test,test',
      ],
      interleavings: 50,
    });
  });

  test('writes before it is revoked, or is 401', async () => {
    const explored = await explore(
      async ({ askers: [revoked, other] }) => {
        const api = environment.api.as(other.token);
        const product_id = await environment.given.product(revoked.merchant);
        const location_id = await environment.given.location(revoked.merchant);
        const key = newKey();
        const wanted = { product_id, location_id, target_quantity: '7', reason: 'correction' };
        return {
          asks: [
            (by) => by.post('/inventory/adjustments', wanted, { key }),
            patched(`/tokens/${revoked.id}`, { status: 'revoked' }),
          ],
          left: async () => {
            const again = await api.as(revoked.token).get('/credential');
            const moved = await dataOf(api.get('/inventory/movements'));
            return `${moved.length}, then ${again.status}`;
          },
        };
      },
      halts,
      'find_credentials_and_keys',
    );
    mustEnd(explored, {
      ends: [
        'A first: A 201 at 7, B 200: 1, then 401',
        'B first: A 401 invalid_token, B 200: 0, then 401',
      ],
      interleavings: 210,
    });
  });
});
