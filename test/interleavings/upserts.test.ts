import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { newKey } from '../kit/api.ts';
import { timeout } from '../kit/extent.ts';
import { type BatchNode, type Order, twoNodes } from './batch-session.ts';
import {
  type Expected,
  everyStatement,
  expectExplored,
  InterleavingEnvironment,
  ofBatches,
  type Scenario,
} from './environment.ts';
import { erasing, joining, leaving, upserting } from './serial.ts';

let environment: InterleavingEnvironment;
let nodes: readonly [BatchNode, BatchNode];

beforeAll(async () => {
  environment = await InterleavingEnvironment.start();
  nodes = twoNodes(environment);
});
afterAll(async () => {
  await Promise.all(nodes.map((node) => node.close()));
  await environment.stop();
});

async function mustEnd(scenario: Scenario, expected: Expected): Promise<void> {
  expectExplored(await environment.explore({ halts: ofBatches, ...scenario }), expected);
}

describe('an upsert', { timeout }, () => {
  test('beside another of one new ID makes one record, which the other one changes', async () => {
    const sessions = [upserting('one', 'ada', 'first'), upserting('two', 'ada', 'second')];
    const ends = ['A 200, B 201: ', 'A 201, B 200: '];
    await mustEnd({ sessions }, { ends, interleavings: 24 });
  });

  test('beside another of one ID that is there follows it', async () => {
    const sessions = [upserting('one', 'ada', 'first'), upserting('two', 'ada', 'second')];
    const before = [joining('before', 'ada')];
    await mustEnd({ before, sessions }, { ends: ['A 200, B 200: '], interleavings: 8 });
  });

  test('beside itself is done once, and replayed with its status', async () => {
    const duplicate = upserting('duplicate', 'ada', 'first');
    const ends = ['A 201 replayed, B 201: ', 'A 201, B 201 replayed: '];
    const sessions = [duplicate, duplicate];
    await mustEnd({ sessions, halts: everyStatement }, { ends, interleavings: 92 });
  });

  test('beside a create with its ID changes what that has made, or comes before it', async () => {
    const sessions = [upserting('one', 'ada', 'first'), joining('two', 'ada')];
    const ends = ['A 200, B 201: ', 'A 201, B 422 external_id_taken: '];
    await mustEnd({ sessions }, { ends, interleavings: 24 });
  });

  test('beside a change that gives its ID up comes before it, or creates', async () => {
    const before = [joining('before', 'ada')];
    const sessions = [upserting('one', 'ada', 'first'), leaving('two', 'ada')];
    const ends = ['A 200, B 200: ', 'A 201, B 200: '];
    await mustEnd({ before, sessions }, { ends, interleavings: 18 });
  });

  test('beside the erasing of the customer comes before it, or creates another one', async () => {
    const before = [joining('before', 'ada')];
    const sessions = [upserting('one', 'ada', 'first'), erasing()];
    const ends = ['A 200, B done: ', 'A 201, B done: '];
    await mustEnd({ before, sessions }, { ends, interleavings: 38 });
  });
});

describe('batches of upserts', { timeout }, () => {
  let ids: string[] = [];
  beforeEach(() => {
    ids = [];
  });

  test('that name two new IDs twice each, in crossing order, make one of each', async () => {
    const explored = await environment.exploreRuns(async () => {
      const id = newKey();
      const [one, two] = [`a${id}`, `b${id}`];
      ids.push(one, two);
      const upsert = (externalId: string, name: string): Order => {
        const body = { name, sku: `SKU ${externalId}`, external_id: externalId };
        return { type: 'products.upsert', key: newKey(), externalId, body };
      };
      const a = [upsert(one, 'A'), upsert(two, 'A'), upsert(one, 'AA')];
      const b = [upsert(two, 'B'), upsert(one, 'B'), upsert(two, 'BB')];
      const begun = [nodes[0].begin('A', a, ofBatches), nodes[1].begin('B', b, ofBatches)] as const;
      return {
        sessions: begun.map(({ session }) => session),
        end: Promise.all(begun.map(({ outcome }) => outcome())),
        judge: async () => {
          const outcomes = await Promise.all(begun.map(({ outcome }) => outcome()));
          const rows = await environment.db.sql<{ all: string }>(
            `select string_agg(concat_ws(' ', left(p.external_id, 1), p.name, p.version,
                 (select string_agg(case when o.created then 'created' else 'changed' end, ' '
                    order by o.position)
                  from operations o where o.resource_id = p.id)), ', '
               order by p.external_id) as all
             from products p where p.external_id = any ($1)`,
            [[one, two]],
          );
          return `${outcomes.join(' | ')}: ${rows[0]?.all}`;
        },
      };
    });
    const done = 'succeeded,succeeded,succeeded | succeeded,succeeded,succeeded';
    const changes = 'created changed changed';
    expectExplored(explored, {
      ends: [
        `${done}: a AA 3 ${changes}, b A 3 ${changes}`,
        `${done}: a B 3 ${changes}, b BB 3 ${changes}`,
      ],
      interleavings: 92,
    });
    const rows = await environment.db.sql(
      'select count(*)::int as made from products where external_id = any ($1)',
      [ids],
    );
    expect(rows).toEqual([{ made: ids.length }]);
  });
});
