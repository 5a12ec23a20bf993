import { afterAll, beforeAll, describe, test } from 'vitest';
import { canonicalQuantity } from '../../src/core/decimal.ts';
import { newKey } from '../kit/api.ts';
import { timeout } from '../kit/extent.ts';
import { adjustment, type BatchNode, type Order, twoNodes } from './batch-session.ts';
import { expectExplored, InterleavingEnvironment, ofFixedLocations } from './environment.ts';
import type { Explored } from './explore.ts';

// Batches of transfers on two nodes, in every order of their statements: levels are locked in one
// order whichever way things go, so nobody waits in a circle, and nothing is taken twice.

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

/** Two products and two locations, each pair in the order of their locks, and orders of them. */
class Shop {
  readonly products: readonly [string, string];
  readonly locations: readonly [string, string];
  readonly #suffix = newKey();

  private constructor(products: readonly string[], locations: readonly string[]) {
    const [p = '', q = ''] = [...products].sort();
    const [l = '', m = ''] = [...locations].sort();
    this.products = [p, q];
    this.locations = [l, m];
  }

  static async open(): Promise<Shop> {
    const { given, owner } = environment;
    const two = (make: (merchant: string) => Promise<string>) =>
      Promise.all([make(owner.merchant), make(owner.merchant)]);
    return new Shop(
      await two((merchant) => given.product(merchant)),
      await two((merchant) => given.location(merchant)),
    );
  }

  /** Sets the levels of a product, here and there. */
  have(name: string, product: string, ...quantities: readonly string[]): Order[] {
    return quantities.map((quantity, n) =>
      adjustment(`${name} ${n} ${this.#suffix}`, product, this.locations[n] ?? '', quantity),
    );
  }

  /** Null: the outside. */
  move(name: string, from: string | null, to: string | null, products: readonly string[]): Order {
    const lines = products.map((product_id) => ({ product_id, quantity: canonicalQuantity('1') }));
    return {
      type: 'inventory.transfer',
      key: `${name} ${this.#suffix}`,
      body: {
        from_location_id: from,
        to_location_id: to,
        reason: from !== null && to !== null ? 'transfer' : 'other',
        shortage: 'refuse',
        lines,
        note: null,
        reference: null,
      },
    };
  }

  /** What is there is what somebody has counted. */
  count(name: string, quantity: string): Order {
    const [product_id] = this.products;
    const line = { product_id, expected_quantity: null, counted_at_position: null };
    return {
      type: 'inventory.count',
      key: `${name} ${this.#suffix}`,
      body: {
        location_id: this.locations[0],
        lines: [{ ...line, counted_quantity: canonicalQuantity(quantity) }],
        ...{ counted_at_position: null, journal: null, note: null, reference: null },
      },
    };
  }

  /** Puts one aside, until it is released. */
  reserve(name: string): Order {
    const [product_id] = this.products;
    return {
      type: 'inventory.reserve',
      key: `${name} ${this.#suffix}`,
      body: {
        location_id: this.locations[0],
        lines: [{ product_id, quantity: canonicalQuantity('1') }],
        ...{ expires_at: null, note: null, reference: null },
      },
    };
  }

  async quantities(): Promise<string> {
    const rows = await environment.db.sql<{ quantity: string }>(
      `select quantity::text from inventory_levels where product_id = any ($1) and sequence > 0
       order by product_id, location_id`,
      [this.products],
    );
    return rows.map(({ quantity }) => quantity).join(' ');
  }
}

function explore(
  plan: (shop: Shop) => { before?: Order[]; a: Order[]; b: Order[] },
): Promise<Explored> {
  return environment.exploreRuns(async () => {
    const shop = await Shop.open();
    const { before = [], a, b } = plan(shop);
    const opener = nodes[0].begin('before', before, ofFixedLocations);
    opener.session.free();
    await opener.outcome();
    const begun = [
      nodes[0].begin('A', a, ofFixedLocations),
      nodes[1].begin('B', b, ofFixedLocations),
    ] as const;
    return {
      sessions: begun.map(({ session }) => session),
      end: Promise.all(begun.map(({ outcome }) => outcome())),
      judge: async (steps) => {
        const first = steps.find(({ statement }) => statement === 'commit')?.session;
        const [one, two] = await Promise.all(begun.map(({ outcome }) => outcome()));
        return `${first} first: A ${one}, B ${two}: ${await shop.quantities()}`;
      },
    };
  });
}

describe('two batches of transfers', { timeout }, () => {
  test('in opposite directions follow each other', async () => {
    const explored = await explore((shop) => {
      const [p, q] = shop.products;
      const [l, m] = shop.locations;
      return {
        before: [...shop.have('p', p, '5', '5'), ...shop.have('q', q, '5', '5')],
        a: [shop.move('1', l, m, [p, q]), shop.move('2', l, m, [q])],
        b: [shop.move('3', m, l, [q, p]), shop.move('4', m, l, [p])],
      };
    });
    const done = 'succeeded,succeeded';
    expectExplored(explored, {
      ends: [`A first: A ${done}, B ${done}: 6 4 4 6`, `B first: A ${done}, B ${done}: 6 4 4 6`],
      interleavings: 50,
    });
  });

  test('that make the levels they go to follow each other', async () => {
    const explored = await explore((shop) => {
      const [p, q] = shop.products;
      const [l, m] = shop.locations;
      return {
        before: [...shop.have('p', p, '5')],
        a: [shop.move('1', l, m, [p]), shop.move('2', null, l, [q])],
        b: [shop.move('3', null, m, [q]), shop.move('4', null, m, [p])],
      };
    });
    const done = 'succeeded,succeeded';
    expectExplored(explored, {
      ends: [`A first: A ${done}, B ${done}: 4 2 1 1`, `B first: A ${done}, B ${done}: 4 2 1 1`],
      interleavings: 12,
    });
  });

  test('that take the last one take it once', async () => {
    const explored = await explore((shop) => {
      const [p] = shop.products;
      const [l, m] = shop.locations;
      return {
        before: shop.have('p', p, '1'),
        a: [shop.move('1', l, null, [p])],
        b: [shop.move('2', l, m, [p])],
      };
    });
    expectExplored(explored, {
      ends: ['A first: A succeeded, B rejected: 0', 'B first: A rejected, B succeeded: 0 1'],
      interleavings: 50,
    });
  });

  test('that share a key move once', async () => {
    const explored = await explore((shop) => {
      const [p] = shop.products;
      const [l, m] = shop.locations;
      const sale = shop.move('shared', l, null, [p]);
      return { before: shop.have('p', p, '5'), a: [sale], b: [sale, shop.move('4', l, m, [p])] };
    });
    expectExplored(explored, {
      ends: [
        'A first: A succeeded, B replay,succeeded: 3 1',
        'B first: A replay, B succeeded,succeeded: 3 1',
      ],
      interleavings: 50,
    });
  });

  test('beside a count come before it, and are no more, or behind it', async () => {
    const explored = await explore((shop) => {
      const [p] = shop.products;
      const [l, m] = shop.locations;
      return {
        before: shop.have('p', p, '5'),
        a: [shop.move('1', l, m, [p]), shop.move('2', l, null, [p])],
        b: [shop.count('3', '5')],
      };
    });
    const done = 'succeeded,succeeded';
    expectExplored(explored, {
      ends: [`A first: A ${done}, B succeeded: 5 1`, `B first: A ${done}, B succeeded: 3 1`],
      interleavings: 50,
    });
  });

  test('beside a reservation of the last one leave it to whoever is first', async () => {
    const explored = await explore((shop) => {
      const [p] = shop.products;
      const [l] = shop.locations;
      return {
        before: shop.have('p', p, '1'),
        a: [shop.move('1', l, null, [p])],
        b: [shop.reserve('2')],
      };
    });
    expectExplored(explored, {
      ends: ['A first: A succeeded, B rejected: 0', 'B first: A rejected, B succeeded: 1'],
      interleavings: 58,
    });
  });

  test('beside an adjustment are judged by what it leaves', async () => {
    const explored = await explore((shop) => {
      const [p] = shop.products;
      const [l] = shop.locations;
      return {
        before: shop.have('p', p, '1'),
        a: [shop.move('1', l, null, [p])],
        b: shop.have('b', p, '0'),
      };
    });
    expectExplored(explored, {
      ends: ['A first: A succeeded, B rejected: 0', 'B first: A rejected, B succeeded: 0'],
      interleavings: 50,
    });
  });
});
