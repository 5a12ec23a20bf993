// Two service processes on one database, under load, while the operator takes rights away. After
// the operator's call has returned, no new request is admitted by either process. The clock of one
// is an hour ahead and that of the other an hour behind, which must make no difference.

import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { approve, createApplication } from '../src/access/operator/applications.ts';
import {
  changeLocations,
  changeScopes,
  revoke,
  rotateToken,
} from '../src/access/operator/credentials.ts';
import type { MerchantId } from '../src/core/principal.ts';
import { connectDatabase, type Database } from '../src/database/connect.ts';
import { newKey } from './kit/api.ts';
import { Applications } from './kit/applications.ts';
import { createTestDatabase, type TestDatabase, withoutLimits } from './kit/database.ts';
import { extent, timeout } from './kit/extent.ts';
import { Given } from './kit/given.ts';
import { type ServiceProcess, startProcess } from './kit/process.ts';
import { Sender } from './kit/sender.ts';

let db: TestDatabase;
let given: Given;
let applications: Applications;
/** The operator's own connection. */
let operator: Database;
let nodes: ServiceProcess[];
let senders: Sender[];
let merchant: string;
let product: string;
let location: string;

beforeAll(async () => {
  db = await createTestDatabase();
  await withoutLimits(db);
  given = new Given(db);
  applications = new Applications(db);
  operator = connectDatabase({ url: db.serviceUrl, writers: 1 });
  merchant = await given.merchant();
  product = await given.product(merchant);
  location = await given.location(merchant);
  nodes = await Promise.all(
    [
      new URL('./kit/clock-ahead.mjs', import.meta.url),
      new URL('./kit/clock-behind.mjs', import.meta.url),
    ].map((clock) =>
      startProcess(db, {
        NODE_OPTIONS: `--import ${fileURLToPath(clock)}`,
        TALLYBOOK_TRUSTED_PROXIES: '127.0.0.1',
        TALLYBOOK_LOG_LEVEL: 'error',
      }),
    ),
  );
  senders = nodes.map(({ api }) => new Sender(api.origin));
});
afterAll(async () => {
  for (const sender of senders ?? []) sender.close();
  await Promise.all((nodes ?? []).map((node) => node.end()));
  await operator?.close();
  await db?.drop();
});

interface Try {
  readonly startedAt: number;
  readonly endedAt: number;
  readonly status: number;
}

let target = 0;

/** What the clients send: reads, and one write in four. */
async function sendOne(sender: Sender, token: string, isWrite: boolean): Promise<number> {
  const headers = { authorization: `Bearer ${token}` };
  if (!isWrite) {
    const path = `/api/v1/inventory/levels?location_id=${location}`;
    return (await sender.send('GET', path, headers)).status;
  }
  target += 1;
  const body = {
    product_id: product,
    location_id: location,
    target_quantity: String(target),
    reason: 'correction',
  };
  const more = { 'content-type': 'application/json', 'idempotency-key': newKey() };
  const path = '/api/v1/inventory/adjustments';
  const { status } = await sender.send('POST', path, { ...headers, ...more }, JSON.stringify(body));
  return status;
}

const clientsPerNode = 4;

/** Requests to both nodes without a pause, until each client has sent so many after the change. */
function besiege(token: string) {
  const tries: Try[] = [];
  let changedAt = Number.POSITIVE_INFINITY;
  let left = 0;
  const client = async (sender: Sender, isWriter: boolean) => {
    for (let after = 0; after < left || changedAt === Number.POSITIVE_INFINITY; ) {
      const startedAt = performance.now();
      const status = await sendOne(sender, token, isWriter);
      tries.push({ startedAt, endedAt: performance.now(), status });
      if (startedAt > changedAt) after += 1;
    }
  };
  const clients = senders.flatMap((sender) =>
    Array.from({ length: clientsPerNode }, (_, index) => client(sender, index === 0)),
  );
  return {
    tries,
    /** Each client goes on until it has started `more` requests from now on. */
    async end(more: number): Promise<number> {
      left = more;
      changedAt = performance.now();
      await Promise.all(clients);
      return changedAt;
    },
  };
}

async function oneRound(token: string, change: () => Promise<unknown>, more: number) {
  const siege = besiege(token);
  const isUnderWay = () =>
    siege.tries.length > 24 && siege.tries.some(({ status }) => status === 201);
  await expect.poll(isUnderWay, { interval: 2 }).toBe(true);
  const changingAt = performance.now();
  await change();
  const changedAt = await siege.end(more);
  const before = siege.tries.filter((one) => one.endedAt < changingAt);
  const after = siege.tries.filter((one) => one.startedAt > changedAt);
  return { before, after };
}

interface Besieged {
  readonly token: string;
  /** Takes the right away. */
  change(): Promise<unknown>;
}

const refusedAfter: [string, 401 | 403, () => Promise<Besieged>][] = [
  [
    'rotated without an overlap',
    401,
    async () => {
      const { id, token } = await given.credential(merchant);
      return { token, change: () => rotateToken(operator, id, 0) };
    },
  ],
  [
    'without its scopes',
    403,
    async () => {
      const { id, token } = await given.credential(merchant);
      return { token, change: () => changeScopes(operator, id, ['products.read']) };
    },
  ],
  [
    'without its grant of the location',
    403,
    async () => {
      const { id, token } = await given.credential(merchant, { locations: [location] });
      return { token, change: () => changeLocations(operator, id, []) };
    },
  ],
  [
    'of an application that is disabled',
    401,
    async () => {
      const { application, approval } = await givenApproval();
      const token = await applications.token(merchant, approval);
      const disable = 'update applications set disabled_at = now() where id = $1';
      return { token, change: () => db.sql(disable, [application]) };
    },
  ],
  [
    'of an approval that is revoked',
    401,
    async () => {
      const { approval } = await givenApproval();
      const token = await applications.token(merchant, approval);
      return { token, change: () => revoke(operator, approval) };
    },
  ],
  ['of a consent under a revoked approval', 401, () => givenConsent('approval', revoke)],
  ['of a consent whose giver is revoked', 401, () => givenConsent('giver', revoke)],
  [
    'of a consent whose giver was rotated',
    401,
    () => givenConsent('giver', (access, id) => rotateToken(access, id, 0)),
  ],
  [
    'of a consent whose giver lost its scopes',
    403,
    () => givenConsent('giver', (access, id) => changeScopes(access, id, [])),
  ],
  [
    'of a consent whose approval lost the location',
    403,
    () => givenConsent('approval', (_, id) => db.sql(noLocations, [id])),
  ],
];

const noLocations =
  "update credentials set all_locations = false, location_ids = '{}' where id = $1";

/** One approval per merchant and application, so a new application each time. */
async function givenApproval() {
  const application = await applications.application();
  return { application, approval: await applications.approval(merchant, application) };
}

async function givenConsent(
  whose: 'approval' | 'giver',
  change: (access: Database, id: string) => Promise<unknown>,
): Promise<Besieged> {
  const { application, approval } = await givenApproval();
  const giver = await given.credential(merchant);
  const consent = await applications.consent(merchant, application, {
    approval,
    by: giver.token,
  });
  const token = await applications.token(merchant, consent);
  const id = whose === 'giver' ? giver.id : approval;
  return { token, change: () => change(operator, id) };
}

describe('after it has returned, neither node admits a later request with a token', () => {
  test('that is revoked', { timeout }, async () => {
    const repetitions = extent(5, 50);
    const more = 25;
    let tries = 0;
    for (let n = 0; n < repetitions; n += 1) {
      const { id, token } = await given.credential(merchant);
      const { before, after } = await oneRound(token, () => revoke(operator, id), more);
      expect(new Set(before.map(({ status }) => status))).toEqual(new Set([200, 201]));
      expect(new Set(after.map(({ status }) => status))).toEqual(new Set([401]));
      tries += after.length;
    }
    expect(tries).toBe(repetitions * more * clientsPerNode * 2);
  });

  test.each(refusedAfter)('%s', async (_, status, given) => {
    for (let round = 0; round < extent(2, 5); round += 1) {
      const { token, change } = await given();
      const { before, after } = await oneRound(token, change, 10);
      expect(new Set(before.map((one) => one.status))).toEqual(new Set([200, 201]));
      expect(new Set(after.map((one) => one.status))).toEqual(new Set([status]));
      expect(after).toHaveLength(10 * clientsPerNode * 2);
    }
  });
});

describe('the end of a token is judged by the clock of the database', () => {
  /** On the service that is ahead, and on the one that is behind. */
  const statuses = async (token: string) =>
    Promise.all(
      senders.map(async (sender) => {
        const headers = { authorization: `Bearer ${token}` };
        return (await sender.send('GET', '/api/v1/credential', headers)).status;
      }),
    );

  const endIn = 'update credential_tokens set expires_at = now() + $2 where credential_id = $1';

  test.each([
    ['half an hour away', '30 minutes', 200],
    ['half an hour ago', '-30 minutes', 401],
    ['a moment ago', '0', 401],
  ])('%s', async (_, interval, expected) => {
    const { id, token } = await given.credential(merchant);
    await db.sql(endIn, [id, interval]);
    expect(await statuses(token)).toEqual([expected, expected]);
  });

  test('at the same moment on both', async () => {
    const { id, token } = await given.credential(merchant);
    await db.sql(endIn, [id, '2 seconds']);
    expect(await statuses(token)).toEqual([200, 200]);
    const hasEnded = async () => {
      const [row] = await db.sql(
        'select now() >= expires_at as ended from credential_tokens where credential_id = $1',
        [id],
      );
      return row?.ended;
    };
    await expect.poll(hasEnded, { interval: 10 }).toBe(true);
    expect(await statuses(token)).toEqual([401, 401]);
  });

  test('so that a rotated token stays valid for its overlap', async () => {
    const { id, token } = await given.credential(merchant);
    const { token: next } = await rotateToken(operator, id, 1_800);
    expect(await statuses(token)).toEqual([200, 200]);
    expect(await statuses(next)).toEqual([200, 200]);
  });
});

test('a node whose clock is wrong revokes a token for its application', async () => {
  const scopes = ['inventory.read'] as const;
  const { application, secret = '' } = await createApplication(operator, {
    name: 'Stock Sync',
    scopes,
    redirectUris: [],
    jwks: undefined,
  });
  await approve(operator, application.id, {
    merchant: merchant as MerchantId,
    scopes,
    locations: 'all',
  });
  const basic = Buffer.from(`${application.id}:${secret}`).toString('base64');
  const post = async (node: ServiceProcess | undefined, path: string, body: object) => {
    const answer = await fetch(`${node?.api.origin}${path}`, {
      method: 'POST',
      headers: { authorization: `Basic ${basic}` },
      body: new URLSearchParams({ ...body }),
    });
    expect(answer.status).toBe(200);
    const text = await answer.text();
    return text === '' ? {} : JSON.parse(text);
  };
  for (const node of nodes) {
    const asked = { grant_type: 'client_credentials' };
    const { access_token: token } = await post(node, '/oauth/token', asked);
    // Less than an hour of it is left, so by the clock of one node it has ended.
    await db.sql(
      `update credential_tokens set expires_at = expires_at - interval '10 minutes'
       where scopes is not null and expires_at > now() + interval '50 minutes'`,
    );
    expect(await post(node, '/oauth/introspect', { token })).toMatchObject({ active: true });
    await post(node, '/oauth/revoke', { token });
    for (const { api } of nodes) {
      expect((await api.as(token).get('/credential')).code).toBe('invalid_token');
    }
  }
});
