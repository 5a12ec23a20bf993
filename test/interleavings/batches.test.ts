import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { newKey } from '../kit/api.ts';
import { timeout } from '../kit/extent.ts';
import { adjustment, type BatchNode, type Order, twoNodes } from './batch-session.ts';
import {
  expectExplored,
  InterleavingEnvironment,
  ofBatches,
  ofFixedLocations,
} from './environment.ts';
import type { Explored } from './explore.ts';
import type { Halts } from './session.ts';

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

/** Two of each, in the order of their IDs, which is the order of their locks. */
interface Records {
  readonly products: readonly [string, string];
  readonly locations: readonly [string, string];
  readonly suffix: string;
}

let created: Records[] = [];
beforeEach(() => {
  created = [];
});

async function newRecords(): Promise<Records> {
  const { merchant } = environment.owner;
  const two = async (make: (merchant: string) => Promise<string>) =>
    [await make(merchant), await make(merchant)].sort() as [string, string];
  const records = {
    products: await two((owner) => environment.given.product(owner)),
    locations: await two((owner) => environment.given.location(owner)),
    suffix: newKey(),
  };
  created.push(records);
  return records;
}

/** Two batches in every order. `before` is done first, as one batch. */
function exploreBatches(
  plan: (records: Records) => { before?: Order[]; a: Order[]; b: Order[] },
  halts: Halts = ofFixedLocations,
): Promise<Explored> {
  return environment.exploreRuns(async () => {
    const { before = [], a, b } = plan(await newRecords());
    const opener = nodes[0].begin('before', before, halts);
    opener.session.free();
    await opener.outcome();
    const begun = [nodes[0].begin('A', a, halts), nodes[1].begin('B', b, halts)] as const;
    return {
      sessions: begun.map(({ session }) => session),
      end: Promise.all(begun.map(({ outcome }) => outcome())),
      judge: async (steps) => {
        const [first = ''] = steps.filter((one) => one.statement === 'commit');
        const by = first === '' ? 'nobody' : first.session;
        return `${by} first: A ${await begun[0].outcome()}, B ${await begun[1].outcome()}`;
      },
    };
  });
}

/** What the levels of all runs hold, by which of the runs' outcomes. */
async function quantities(): Promise<string[]> {
  const products = created.flatMap((records) => records.products);
  const rows = await environment.db.sql<{ all: string }>(
    `select distinct string_agg(quantity::text, ' ' order by position) as all
     from (
       select quantity, (array_position($1::text[], product_id) - 1) / 2 as run,
         array_position($1::text[], product_id) as position
       from inventory_levels where product_id = any ($1)) levels
     group by run order by 1`,
    [products],
  );
  return rows.map((row) => row.all);
}

const done = 'succeeded,succeeded';

describe('two batches', { timeout }, () => {
  test('that name the same levels in crossing order follow each other', async () => {
    const explored = await exploreBatches(({ products: [p, q], locations: [l], suffix }) => ({
      before: [adjustment(`1${suffix}`, p, l, '1'), adjustment(`2${suffix}`, q, l, '1')],
      a: [adjustment(`3${suffix}`, p, l, '5'), adjustment(`4${suffix}`, q, l, '5')],
      b: [adjustment(`5${suffix}`, q, l, '7'), adjustment(`6${suffix}`, p, l, '7')],
    }));
    expectExplored(explored, {
      ends: [`A first: A ${done}, B ${done}`, `B first: A ${done}, B ${done}`],
      interleavings: 50,
    });
    expect(await quantities()).toEqual(['5 5', '7 7']);
  });

  test('that make the same levels in crossing order follow each other', async () => {
    const explored = await exploreBatches(({ products: [p, q], locations: [l], suffix }) => ({
      a: [adjustment(`3${suffix}`, p, l, '5'), adjustment(`4${suffix}`, q, l, '5')],
      b: [adjustment(`5${suffix}`, q, l, '7'), adjustment(`6${suffix}`, p, l, '7')],
    }));
    expectExplored(explored, {
      ends: [`A first: A ${done}, B ${done}`, `B first: A ${done}, B ${done}`],
      interleavings: 12,
    });
    expect(await quantities()).toEqual(['5 5', '7 7']);
  });

  test('that share one key do its work once, and all the rest', async () => {
    const explored = await exploreBatches(({ products: [p, q], locations: [l, m], suffix }) => ({
      a: [adjustment(`3${suffix}`, p, l, '5'), adjustment(`shared${suffix}`, q, l, '5')],
      b: [adjustment(`shared${suffix}`, q, l, '5'), adjustment(`4${suffix}`, p, m, '7')],
    }));
    expectExplored(explored, {
      ends: [`A first: A ${done}, B replay,succeeded`, `B first: A succeeded,replay, B ${done}`],
      interleavings: 12,
    });
  });

  test('of adjustments and of changes to both of their locations never deadlock', async () => {
    const explored = await exploreBatches(({ products: [p, q], locations: [l, m], suffix }) => {
      const renamed = (key: string, id: string): Order => ({
        type: 'locations.update',
        key: key + suffix,
        id,
        body: { name: 'Harbour' },
      });
      return {
        // The first level is still to be made, at the location that is locked last.
        before: [adjustment(`1${suffix}`, q, l, '1')],
        a: [adjustment(`3${suffix}`, p, m, '5'), adjustment(`4${suffix}`, q, l, '5')],
        b: [renamed('5', l), renamed('6', m)],
      };
    }, ofBatches);
    expectExplored(explored, {
      ends: [`A first: A ${done}, B ${done}`, `B first: A ${done}, B ${done}`],
      interleavings: 11,
    });
  });

  test('of adjustments and of changes to both of their products never deadlock', async () => {
    const explored = await exploreBatches(({ products: [p, q], locations: [l], suffix }) => {
      const archived = (key: string, id: string): Order => ({
        type: 'products.update',
        key: key + suffix,
        id,
        body: { status: 'archived' },
      });
      return {
        before: [adjustment(`1${suffix}`, p, l, '1')],
        a: [adjustment(`3${suffix}`, p, l, '5'), adjustment(`4${suffix}`, q, l, '5')],
        b: [archived('5', p), archived('6', q)],
      };
    });
    expectExplored(explored, {
      ends: [`A first: A ${done}, B ${done}`, `B first: A rejected,rejected, B ${done}`],
      interleavings: 32,
    });
    expect(await quantities()).toEqual(['1 0', '5 5']);
  });
});
