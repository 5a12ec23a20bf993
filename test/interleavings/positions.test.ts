import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newKey } from '../kit/api.ts';
import { timeout } from '../kit/extent.ts';
import type { GivenCredential } from '../kit/given.ts';
import { adjustment, type BatchNode, type Order, twoNodes } from './batch-session.ts';
import {
  type Expected,
  expectExplored,
  InterleavingEnvironment,
  ofBatches,
} from './environment.ts';
import type { Halts } from './session.ts';

// Whatever the order of their statements: each merchant's positions run from 1 on without gaps, in
// the order of the commits, and nobody waits in a circle. Each run has merchants of its own.

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

/** A merchant, and orders of it. */
class Shop {
  readonly owner: GivenCredential;
  readonly product: string;
  readonly location: string;
  readonly customer: string;

  private constructor(owner: GivenCredential, [product, location, customer]: readonly string[]) {
    this.owner = owner;
    this.product = product ?? '';
    this.location = location ?? '';
    this.customer = customer ?? '';
  }

  static async open(): Promise<Shop> {
    const { given } = environment;
    const merchant = await given.merchant();
    const records = [
      await given.product(merchant),
      await given.location(merchant),
      await given.customer(merchant),
    ];
    return new Shop(await given.credential(merchant), records);
  }

  adjust(key: string, target: string): Order {
    const { owner, product, location } = this;
    return { ...adjustment(this.#key(key), product, location, target), owner };
  }

  rename(key: string, name: string): Order {
    const { owner, product } = this;
    return { type: 'products.update', key: this.#key(key), id: product, body: { name }, owner };
  }

  archive(key: string): Order {
    return { ...this.rename(key, ''), body: { status: 'archived' } };
  }

  erase(key: string): Order {
    const { owner, customer } = this;
    return { type: 'customers.erase', key: this.#key(key), id: customer, body: {}, owner };
  }

  /** Keys are those of the run alone. */
  #key(key: string): string {
    return `${key} ${this.owner.merchant}`;
  }
}

/** What each merchant's positions are, from 1 on: a session, or what was done before. */
async function journalsOf(
  shops: readonly Shop[],
  begun: readonly (readonly [name: string, operations: readonly string[]])[],
): Promise<string> {
  const lines = shops.map(async ({ owner }) => {
    const rows = await environment.db.sql<{ id: string; position: number }>(
      `select id, position::int from operations
       where merchant_id = $1 and position is not null order by created_at, position`,
      [owner.merchant],
    );
    // The order of times is that of positions.
    expect(rows.map(({ position }) => position)).toEqual(rows.map((_, index) => index + 1));
    return rows.map(({ id }) => begun.find(([, ids]) => ids.includes(id))?.[0] ?? '?').join('');
  });
  return (await Promise.all(lines)).join(' and ');
}

async function mustEnd(
  plan: (shops: readonly [Shop, Shop]) => { before?: Order[]; a: Order[]; b: Order[] },
  expected: Expected,
  halts: Halts = ofBatches,
): Promise<void> {
  const explored = await environment.exploreRuns(async () => {
    const pair = [await Shop.open(), await Shop.open()];
    // In the order of their locks.
    const shops = pair.sort((x, y) => (x.owner.merchant < y.owner.merchant ? -1 : 1));
    const { before = [], ...orders } = plan(shops as [Shop, Shop]);
    const opener = nodes[0].begin('-', before, halts);
    opener.session.free();
    await opener.outcome();
    const begun = [
      nodes[0].begin('A', orders.a, halts),
      nodes[1].begin('B', orders.b, halts),
    ] as const;
    const known = [opener, ...begun].map(
      ({ session, operations }) => [session.name, operations] as const,
    );
    return {
      sessions: begun.map(({ session }) => session),
      end: Promise.all(begun.map(({ outcome }) => outcome())),
      judge: async (steps) => {
        const commits = steps.filter(({ statement }) => statement === 'commit');
        const journals = await journalsOf(shops, known);
        // Who has committed last has the last positions: a part of a batch has a commit of its own.
        const order = [...new Set(commits.map(({ session }) => session))].join('');
        const [a, b] = await Promise.all(begun.map(({ outcome }) => outcome()));
        return `${order}: A ${a}, B ${b}: ${journals}`;
      },
    };
  });
  expectExplored(explored, expected);
}

const suffix = newKey().slice(0, 8);

describe('positions follow the commits, without gaps', { timeout }, () => {
  test('of two batches with a key in common', async () => {
    await mustEnd(
      ([shop]) => ({
        before: [shop.rename(`0${suffix}`, 'Rye')],
        a: [shop.adjust('own', '5'), shop.adjust('shared', '6')],
        b: [shop.adjust('shared', '6'), shop.adjust('other', '7')],
      }),
      {
        ends: [
          'AB: A succeeded,succeeded, B replay,succeeded: -AAB and ',
          'BA: A succeeded,replay, B succeeded,succeeded: -BBA and ',
        ],
        interleavings: 66,
      },
    );
  });

  test('of two batches, each with both of two merchants', async () => {
    await mustEnd(
      ([one, other]) => ({
        before: [one.adjust('first', '1'), other.adjust('first', '1')],
        a: [one.rename('a1', 'Rye'), other.rename('a2', 'Oats'), one.rename('a3', 'Oats')],
        b: [other.adjust('b1', '3'), one.adjust('b2', '3')],
      }),
      {
        ends: [
          'AB: A succeeded,succeeded,succeeded, B succeeded,succeeded: -AAB and -AB',
          'BA: A succeeded,succeeded,succeeded, B succeeded,succeeded: -BAA and -BA',
        ],
        interleavings: 543,
      },
    );
  });

  test('of an adjustment that makes its level, beside a change of the product', async () => {
    await mustEnd(([shop]) => ({ a: [shop.adjust('one', '5')], b: [shop.archive('two')] }), {
      ends: ['AB: A succeeded, B succeeded: AB and ', 'BA: A rejected, B succeeded: B and '],
      interleavings: 58,
    });
  });

  test('of an adjustment beside a change of the product that it does not wait for', async () => {
    await mustEnd(
      ([shop]) => ({
        before: [shop.adjust('first', '1')],
        a: [shop.adjust('one', '1'), shop.adjust('two', '5')],
        b: [shop.rename('three', 'Rye'), shop.rename('four', 'Rye')],
      }),
      {
        ends: [
          'AB: A rejected,succeeded, B succeeded,succeeded: -AB and ',
          'BA: A rejected,succeeded, B succeeded,succeeded: -BA and ',
        ],
        interleavings: 141,
      },
    );
  });

  test('of a command beside an adjustment, and beside itself', async () => {
    await mustEnd(([shop]) => ({ a: [shop.adjust('one', '5')], b: [shop.erase('two')] }), {
      ends: ['AB: A succeeded, B succeeded: AB and ', 'BA: A succeeded, B succeeded: BA and '],
      interleavings: 141,
    });
    await mustEnd(([shop]) => ({ a: [shop.erase('one')], b: [shop.erase('two')] }), {
      ends: ['AB: A succeeded, B succeeded: A and ', 'BA: A succeeded, B succeeded: B and '],
      interleavings: 8,
    });
  });
});
