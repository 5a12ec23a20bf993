import { afterAll, beforeAll, describe, test } from 'vitest';
import { timeout } from '../kit/extent.ts';
import {
  type Expected,
  everyStatement,
  expectExplored,
  InterleavingEnvironment,
  ofBatches,
  type Scenario,
} from './environment.ts';
import { adjusting, archiving, closing, countingWhole, joining } from './serial.ts';

// Each scenario runs in every order of its sessions' statements. `explore` holds every run against
// the same requests one after the other, in the order of their commits; what is left to say here is
// which ends there are, and how many orders.

let environment: InterleavingEnvironment;

beforeAll(async () => {
  environment = await InterleavingEnvironment.start();
});
afterAll(() => environment.stop());

async function mustEnd(scenario: Scenario, expected: Expected): Promise<void> {
  expectExplored(await environment.explore(scenario), expected);
}

const moved = [adjusting('first', '1')];

describe('one key', { timeout }, () => {
  test('sent to two nodes is done once, and replayed once', async () => {
    const duplicate = adjusting('duplicate', '7');
    await mustEnd(
      { before: moved, sessions: [duplicate, duplicate], halts: everyStatement },
      {
        ends: ['A 201 at 7, B 201 replayed at 7: 1 → 7', 'A 201 replayed at 7, B 201 at 7: 1 → 7'],
        interleavings: 220,
      },
    );
  });

  test('that changes nothing is refused once, and the refusal replayed', async () => {
    const duplicate = adjusting('duplicate', '1');
    await mustEnd(
      { before: moved, sessions: [duplicate, duplicate] },
      {
        ends: [
          'A 422 inventory_no_change replayed, B 422 inventory_no_change: 1',
          'A 422 inventory_no_change, B 422 inventory_no_change replayed: 1',
        ],
        interleavings: 36,
      },
    );
  });

  test('with two bodies is done once, and 409 to the other', async () => {
    const sessions = [adjusting('duplicate', '5'), adjusting('duplicate', '7')];
    await mustEnd(
      { before: moved, sessions },
      {
        ends: [
          'A 201 at 5, B 409 idempotency_key_reused: 1 → 5',
          'A 409 idempotency_key_reused, B 201 at 7: 1 → 7',
        ],
        interleavings: 50,
      },
    );
  });

  test('creates one customer', async () => {
    const duplicate = joining('duplicate');
    await mustEnd(
      { sessions: [duplicate, duplicate], halts: everyStatement },
      {
        ends: ['A 201 replayed, B 201: ', 'A 201, B 201 replayed: '],
        interleavings: 24,
      },
    );
  });

  test('replayed beside another write shows the level before or after its commit', async () => {
    const before = [adjusting('duplicate', '1')];
    const sessions = [adjusting('duplicate', '1'), adjusting('other', '7')];
    await mustEnd(
      { before, sessions, halts: everyStatement },
      {
        ends: ['A 201 replayed at 1, B 201 at 7: 1 → 7', 'A 201 replayed at 7, B 201 at 7: 1 → 7'],
        interleavings: 36,
      },
    );
  });
});

describe('two keys', { timeout }, () => {
  test('on one level follow each other', async () => {
    const sessions = [adjusting('one', '5'), adjusting('two', '7')];
    await mustEnd(
      { before: moved, sessions },
      {
        ends: ['A 201 at 5, B 201 at 7: 1 → 5 → 7', 'A 201 at 5, B 201 at 7: 1 → 7 → 5'],
        interleavings: 50,
      },
    );
  });

  test('with one target change the level once', async () => {
    const sessions = [adjusting('one', '7'), adjusting('two', '7')];
    await mustEnd(
      { before: moved, sessions },
      {
        ends: [
          'A 201 at 7, B 422 inventory_no_change: 1 → 7',
          'A 422 inventory_no_change, B 201 at 7: 1 → 7',
        ],
        interleavings: 50,
      },
    );
  });

  test('make one level, whoever is first', async () => {
    const sessions = [adjusting('one', '5'), adjusting('two', '7')];
    await mustEnd(
      { sessions },
      {
        ends: ['A 201 at 5, B 201 at 7: 5 → 7', 'A 201 at 5, B 201 at 7: 7 → 5'],
        interleavings: 12,
      },
    );
  });

  test('that want one external ID create one customer with it', async () => {
    const sessions = [joining('one', 'ada'), joining('two', 'ada')];
    await mustEnd(
      { sessions },
      {
        ends: ['A 201, B 422 external_id_taken: ', 'A 422 external_id_taken, B 201: '],
        interleavings: 24,
      },
    );
  });
});

describe('an adjustment beside the end of its location', { timeout }, () => {
  const sessions = [adjusting('one', '7'), closing('two')];

  test('comes before it or is refused', async () => {
    await mustEnd(
      { before: moved, sessions, halts: ofBatches },
      {
        ends: ['A 201 at 7, B 200: 1 → 7', 'A 422 location_inactive, B 200: 1'],
        interleavings: 11,
      },
    );
  });

  test('comes before it or is refused, when it is the first of its level', async () => {
    await mustEnd(
      { sessions, halts: ofBatches },
      {
        ends: ['A 201 at 7, B 200: 7', 'A 422 location_inactive, B 200: '],
        interleavings: 11,
      },
    );
  });
});

describe('an adjustment beside a change of its product', { timeout }, () => {
  test('comes before its archiving or is refused', async () => {
    const sessions = [adjusting('one', '7'), archiving('two')];
    await mustEnd(
      { before: moved, sessions },
      {
        ends: ['A 201 at 7, B 200: 1 → 7', 'A 422 product_archived, B 200: 1'],
        interleavings: 102,
      },
    );
  });

  test('fits its unit, whichever comes first', async () => {
    const sessions = [adjusting('one', '1.25'), countingWhole('two')];
    const ends = [
      'A 201 at 1.25, B 422 validation_failed: 1.25',
      'A 422 validation_failed, B 200: ',
    ];
    await mustEnd({ sessions }, { ends, interleavings: 32 });
  });

  test('fits its unit, whichever comes first, where the level has a row already', async () => {
    const sessions = [adjusting('one', '1.25'), countingWhole('two')];
    const before = [adjusting('refused', '1.234')];
    const ends = [
      'A 201 at 1.25, B 422 validation_failed: 1.25',
      'A 422 validation_failed, B 200: ',
    ];
    await mustEnd({ before, sessions }, { ends, interleavings: 102 });
  });
});

describe('three at once, each in three steps', { timeout }, () => {
  // What a batch loads, what it saves, its commit; and where a replay reads.
  const steps = ['create_levels', 'commit', 'find_adjustments'];
  const halts = (name: string) => steps.includes(name) || name.startsWith('bind_keys');
  const duplicate = adjusting('duplicate', '7');

  test('two of one key and another writer of the level do two things', async () => {
    const sessions = [duplicate, duplicate, adjusting('other', '5')];
    await mustEnd(
      { before: moved, sessions, halts },
      {
        ends: [
          'A 201 at 7, B 201 replayed at 5, C 201 at 5: 1 → 7 → 5',
          'A 201 at 7, B 201 replayed at 7, C 201 at 5: 1 → 5 → 7',
          'A 201 at 7, B 201 replayed at 7, C 201 at 5: 1 → 7 → 5',
          'A 201 replayed at 5, B 201 at 7, C 201 at 5: 1 → 7 → 5',
          'A 201 replayed at 7, B 201 at 7, C 201 at 5: 1 → 5 → 7',
          'A 201 replayed at 7, B 201 at 7, C 201 at 5: 1 → 7 → 5',
        ],
        interleavings: 100,
        isLeast: true,
      },
    );
  });

  test('two of one key and another with their target change the level once', async () => {
    const sessions = [duplicate, duplicate, adjusting('other', '7')];
    await mustEnd(
      { before: moved, sessions, halts },
      {
        ends: [
          'A 201 at 7, B 201 replayed at 7, C 422 inventory_no_change: 1 → 7',
          'A 201 replayed at 7, B 201 at 7, C 422 inventory_no_change: 1 → 7',
          'A 422 inventory_no_change replayed, B 422 inventory_no_change, C 201 at 7: 1 → 7',
          'A 422 inventory_no_change, B 422 inventory_no_change replayed, C 201 at 7: 1 → 7',
        ],
        interleavings: 100,
        isLeast: true,
      },
    );
  });
});
