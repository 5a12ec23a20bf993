import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { adjusting, erasing, joining, renaming, revoking, ungranting } from './serial.ts';
import type { Halts } from './session.ts';
import { type Scenario, Stage } from './stage.ts';

// What the operator takes away, and what is said of a person, in every order beside the writes of
// those whom it concerns.

let stage: Stage;

beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage.close());

const timeout = 120_000;

/** Where a right, a level or a person is read, locked, written or taken away. */
const steps = [
  'find_credentials',
  'create_levels',
  'find_adjustments',
  'lock_customers',
  'set_grant',
  'revoke_credential',
  'erase_customer',
  'commit',
];
const halts: Halts = (name) => steps.includes(name) || name.startsWith('bind_keys');

async function endsOf(scenario: Scenario) {
  const { outcomes, interleavings } = await stage.explore({ halts, ...scenario });
  return { ends: Object.keys(outcomes).sort(), interleavings };
}

describe('an adjustment beside the end of its right', { timeout }, () => {
  // It may do what it might when its credential was read: that is its place in the order.
  const shared = { places: ['find_credentials'], hasOwnCredential: true };
  const moved = [adjusting('first', '1')];

  test('comes before the location is taken away, or is 403', async () => {
    const sessions = [adjusting('one', '7'), ungranting()];
    expect(await endsOf({ ...shared, before: moved, sessions })).toEqual({
      ends: ['A 201 at 7, B done: 1 → 7', 'A 403 location_not_granted, B done: 1'],
      interleavings: 15,
    });
  });

  test('comes before its credential is revoked, or is 401', async () => {
    const sessions = [adjusting('one', '7'), revoking()];
    expect(await endsOf({ ...shared, before: moved, sessions })).toEqual({
      ends: ['A 201 at 7, B done: 1 → 7', 'A 401 invalid_token, B done: 1'],
      interleavings: 15,
    });
  });

  test('that was done is shown no more by its key', async () => {
    const before = [adjusting('one', '7')];
    for (const [refusal, end] of [
      ['403 location_not_granted', ungranting()],
      ['401 invalid_token', revoking()],
    ] as const) {
      expect(await endsOf({ ...shared, before, sessions: [adjusting('one', '7'), end] })).toEqual({
        ends: ['A 201 replayed at 7, B done: 7', `A ${refusal}, B done: 7`],
        interleavings: 6,
      });
    }
  });
});

describe('a change of a customer', { timeout }, () => {
  const before = [joining('ada')];

  test('sent twice with one key is done once, and replayed once', async () => {
    const twin = renaming('twin', 'Ada Lovelace');
    expect(await endsOf({ before, sessions: [twin, twin] })).toEqual({
      ends: ['A 200 replayed, B 200: ', 'A 200, B 200 replayed: '],
      interleavings: 24,
    });
    expect(await versions()).toEqual([2]);
  });

  test('with another body under its key is 409', async () => {
    const sessions = [renaming('twin', 'Ada Lovelace'), renaming('twin', 'Ada Byron')];
    expect(await endsOf({ before, sessions })).toEqual({
      ends: ['A 200, B 409 idempotency_key_reused: ', 'A 409 idempotency_key_reused, B 200: '],
      interleavings: 24,
    });
    expect(await versions()).toEqual([2]);
  });

  test('comes before her erasure or is 410, and leaves nothing of her', async () => {
    const sessions = [renaming('one', 'Ada Lovelace'), erasing()];
    expect(await endsOf({ before, sessions })).toEqual({
      ends: ['A 200, B done: ', 'A 410 resource_erased, B done: '],
      interleavings: 8,
    });
    const left = await stage.db.sql(
      `select distinct name, email, metadata from customers where erased_at is not null`,
    );
    expect(left).toEqual([{ name: '', email: '', metadata: {} }]);
  });
});

/** Of all customers that were changed and are not erased. */
async function versions(): Promise<number[]> {
  const rows = await stage.db.sql<{ version: number }>(
    `select distinct version::int from customers where erased_at is null order by 1`,
  );
  return rows.map(({ version }) => version);
}
