import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { timeout } from '../kit/extent.ts';
import {
  type Expected,
  expectExplored,
  InterleavingEnvironment,
  type Scenario,
} from './environment.ts';
import { adjusting, erasing, joining, renaming, revoking, ungranting } from './serial.ts';
import type { Halts } from './session.ts';

// What the operator takes away, and what is said of a person, in every order beside the writes of
// those whom it concerns.

let environment: InterleavingEnvironment;

beforeAll(async () => {
  environment = await InterleavingEnvironment.start();
});
afterAll(() => environment.stop());

/** Where a right, a level or a person is read, locked, written or taken away. */
const steps = [
  'find_credentials_and_keys',
  'create_levels',
  'find_adjustments',
  'lock_customers',
  'set_grant',
  'revoke_credential',
  'commit',
];
const halts: Halts = (name) => steps.includes(name) || name.startsWith('bind_keys');

async function mustEnd(scenario: Scenario, expected: Expected): Promise<void> {
  expectExplored(await environment.explore({ halts, ...scenario }), expected);
}

describe('an adjustment beside the end of its right', { timeout }, () => {
  // It may do what it might when its credential was read: that is its place in the order.
  const shared = { places: ['find_credentials_and_keys'], hasOwnCredential: true };
  const moved = [adjusting('first', '1')];

  test('comes before the location is taken away, or is 403', async () => {
    const sessions = [adjusting('one', '7'), ungranting()];
    await mustEnd(
      { ...shared, before: moved, sessions },
      {
        ends: ['A 201 at 7, B done: 1 → 7', 'A 403 location_not_granted, B done: 1'],
        interleavings: 15,
      },
    );
  });

  test('comes before its credential is revoked, or is 401', async () => {
    const sessions = [adjusting('one', '7'), revoking()];
    await mustEnd(
      { ...shared, before: moved, sessions },
      {
        ends: ['A 201 at 7, B done: 1 → 7', 'A 401 invalid_token, B done: 1'],
        interleavings: 15,
      },
    );
  });

  test('that was done is shown no more by its key', async () => {
    const before = [adjusting('one', '7')];
    for (const [refusal, end] of [
      ['403 location_not_granted', ungranting()],
      ['401 invalid_token', revoking()],
    ] as const) {
      await mustEnd(
        { ...shared, before, sessions: [adjusting('one', '7'), end] },
        {
          ends: ['A 201 replayed at 7, B done: 7', `A ${refusal}, B done: 7`],
          interleavings: 6,
        },
      );
    }
  });
});

describe('a change of a customer', { timeout }, () => {
  const before = [joining('ada')];

  test('sent twice with one key is done once, and replayed once', async () => {
    const duplicate = renaming('duplicate', 'Ada Lovelace');
    await mustEnd(
      { before, sessions: [duplicate, duplicate] },
      {
        ends: ['A 200 replayed, B 200: ', 'A 200, B 200 replayed: '],
        interleavings: 24,
      },
    );
    expect(await versions()).toEqual([2]);
  });

  test('with another body under its key is 409', async () => {
    const sessions = [renaming('duplicate', 'Ada Lovelace'), renaming('duplicate', 'Ada Byron')];
    await mustEnd(
      { before, sessions },
      {
        ends: ['A 200, B 409 idempotency_key_reused: ', 'A 409 idempotency_key_reused, B 200: '],
        interleavings: 24,
      },
    );
    expect(await versions()).toEqual([2]);
  });

  test('comes before her erasure or is 410, and leaves nothing of her', async () => {
    const sessions = [renaming('one', 'Ada Lovelace'), erasing()];
    await mustEnd(
      { before, sessions },
      {
        ends: ['A 200, B done: ', 'A 410 resource_erased, B done: '],
        interleavings: 12,
      },
    );
    const left = await environment.db.sql(
      `select distinct name, email, metadata from customers where erased_at is not null`,
    );
    expect(left).toEqual([{ name: '', email: '', metadata: {} }]);
  });
});

/** Of all customers that were changed and are not erased. */
async function versions(): Promise<number[]> {
  const rows = await environment.db.sql<{ version: number }>(
    `select distinct version::int from customers where erased_at is null order by 1`,
  );
  return rows.map(({ version }) => version);
}
