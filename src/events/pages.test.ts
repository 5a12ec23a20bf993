import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Api } from '../../test/kit/api.ts';
import { type Environment, startEnvironment } from '../../test/kit/environment.ts';
import { extent } from '../../test/kit/extent.ts';
import { moveByHand } from '../../test/kit/moved.ts';
import type { MerchantId } from '../core/principal.ts';
import { readFeed } from './store.ts';

let service: Environment;

beforeAll(async () => {
  service = await startEnvironment();
});
afterAll(() => service.stop());

async function merchantOf(): Promise<{ merchant: string; credential: string; api: Api }> {
  const merchant = await service.given.merchant();
  const { id, token } = await service.given.credential(merchant);
  return { merchant, credential: id, api: service.api.as(token) };
}

interface Page {
  readonly data: readonly { readonly position: string }[];
  readonly meta: Readonly<Record<string, string>>;
}

const positionsOf = ({ data }: Page) => data.map(({ position }) => Number(position));

describe('a walk by cursor while others write', () => {
  test('shows each position once, in order, and none is lost', async () => {
    const { api } = await merchantOf();
    const writes = 120;
    const create = () => api.post('/customers', { name: 'Ada', email: 'ada@example.com' });
    let isWriting = true;
    const writing = (async () => {
      for (let n = 0; n < writes; n += 6) await Promise.all(Array.from({ length: 6 }, create));
      isWriting = false;
    })();
    const seen: number[] = [];
    let query = '';
    for (let isLast = false; !isLast; ) {
      isLast = !isWriting;
      // To the end by cursor, then on behind it by position.
      let page: Page = (await api.get(`/events?limit=7${query}`)).body;
      for (;;) {
        seen.push(...positionsOf(page));
        expect(seen.at(-1) ?? 0).toBeLessThanOrEqual(Number(page.meta.through_position));
        const { next_cursor } = page.meta;
        if (next_cursor === undefined) break;
        page = (await api.get(`/events?limit=7${query}&cursor=${next_cursor}`)).body;
      }
      query = `&after_position=${page.meta.through_position}&journal=${page.meta.journal}`;
    }
    await writing;
    expect(seen).toEqual(Array.from({ length: writes }, (_, index) => index + 1));
  });
});

/**
 * Operations without what they wrote: changes of a customer and adjustments of a product by turns,
 * and the last is a change of another product.
 */
async function manyOperations(merchant: string, credential: string, count: number) {
  const product = await service.given.product(merchant);
  const moved = await service.given.product(merchant);
  const customer = await service.given.customer(merchant);
  const location = await service.given.location(merchant);
  const owner = await service.db.session();
  await owner.query("set session_replication_role = 'replica'");
  await owner.query(
    `insert into operations (merchant_id, id, credential_id, type, key_hash, fingerprint,
       fingerprint_version, status, resource_id, movements, position, request_id, created_at)
     select $1, 'op_' || lpad(n::text, 26, '0'), $2, case when n = $3 then 'products.update'
         when n % 2 = 0 then 'customers.update' else 'inventory.adjust' end,
       sha256(n::text::bytea), sha256('x'), 1, 'succeeded', case when n = $3 then $4
         when n % 2 = 0 then $5 else 'imv_' || lpad(n::text, 26, '0') end,
       case when n < $3 then n % 2 else 0 end, n, 'req_x', now()
     from generate_series(1, $3::int) n`,
    [merchant, credential, count, product, customer],
  );
  await owner.query(
    `insert into inventory_movements (merchant_id, id, product_id, location_id, sequence, type,
       reason, quantity_before, quantity_delta, quantity_after, operation_id, position, line,
       credential_id, actor_kind, recorded_at)
     select $1, 'imv_' || lpad(n::text, 26, '0'), $2, $3, n, 'adjustment', 'correction', n - 1, 1,
       n, 'op_' || lpad(n::text, 26, '0'), n, 1, $4, 'personal_access_token', now()
     from generate_series(1, $5::int - 1, 2) n`,
    [merchant, moved, location, credential, count],
  );
  await owner.query('analyze operations, inventory_movements');
  await owner.end();
  return { product, elsewhere: await service.given.location(merchant) };
}

describe('a page', () => {
  test('judges 10,000 positions at most, and may be empty with more behind it', async () => {
    const { merchant, credential, api } = await merchantOf();
    await manyOperations(merchant, credential, 25_000);
    const pages: [number[], string | undefined, boolean][] = [];
    for (let cursor: string | undefined, isMore = true; isMore; isMore = cursor !== undefined) {
      const at: string = cursor === undefined ? '' : `&cursor=${cursor}`;
      // Whoever waits is answered as well: he has to go on.
      const { body } = await api.get(`/events?type=product.updated&wait=8${at}`);
      cursor = body.meta.next_cursor;
      pages.push([positionsOf(body), body.meta.through_position, cursor !== undefined]);
    }
    expect(pages).toEqual([
      [[], '10000', true],
      [[], '20000', true],
      [[25_000], '25000', false],
    ]);
  });

  test('ends at 1 MiB, behind a whole event, whatever its events are about', async () => {
    const { merchant, credential, api } = await merchantOf();
    const product = await service.given.product(merchant);
    const location = await service.given.location(merchant);
    // The largest: 50 movements with notes of 2,000 bytes, and products of some 60 KB.
    const lines = Array.from({ length: 60 }, () => ({ product, location }));
    const note = '字'.repeat(500);
    for (let n = 0; n < 8; n += 1) {
      await moveByHand(service.db, { merchant, credential, lines, note });
    }
    const metadata = Object.fromEntries(
      Array.from({ length: 30 }, (_, n) => [`k${n}`, '💡'.repeat(450)]),
    );
    const large = await api.post('/products', { name: 'Flour', metadata });
    expect(large.status, JSON.stringify(large.body)).toBe(201);
    for (let n = 0; n < 30; n += 1) {
      await api.patch(`/products/${large.body.data.id}`, { name: `Flour ${n}` });
    }
    const seen: number[] = [];
    let pages = 0;
    for (let cursor: string | undefined, isMore = true; isMore; isMore = cursor !== undefined) {
      const at: string = cursor === undefined ? '' : `&cursor=${cursor}`;
      const { body } = await api.get(`/events?limit=200${at}`);
      const sizes = body.data.map((one: object) => Buffer.byteLength(JSON.stringify(one)));
      const total = sizes.reduce((sum: number, size: number) => sum + size, 0);
      // Full behind the event that makes it so, but for the names and the braces.
      expect(total - sizes.at(-1)).toBeLessThan(1.2 * 1024 * 1024);
      if (body.meta.next_cursor !== undefined) expect(total).toBeGreaterThan(0.9 * 1024 * 1024);
      for (const { type, data } of body.data) {
        if (type === 'inventory.adjusted') {
          expect([data.movements.length, data.movement_count]).toEqual([50, 60]);
        }
      }
      seen.push(...positionsOf(body));
      cursor = body.meta.next_cursor;
      pages += 1;
    }
    expect(seen).toEqual(Array.from({ length: 39 }, (_, index) => index + 1));
    expect(pages).toBeGreaterThan(2);
  });

  test('with a rare filter touches as much in a long journal as in a short one', async () => {
    const { merchant, credential } = await merchantOf();
    const count = extent(30_000, 1_000_000);
    const { product, elsewhere } = await manyOperations(merchant, credential, count);
    const client = await service.db.session();
    const buffersOf = async (after: number, reach: object) => {
      const { text, values } = readFeed(
        merchant as MerchantId,
        after,
        {
          ...{ elsewhere: ['products.update'], ofLocations: [], ofMovements: [] },
          except: { created: [], changed: [] },
          ...{ locations: null, products: null, lowStock: false, granted: null, ...reach },
        },
        51,
      );
      // Planned once for any values, as the service has it.
      await client.query('deallocate all');
      await client.query(`prepare feed as ${text}`);
      const written = values.map((value) => client.escapeLiteral(asText(value)));
      const nulls = written.map((one) => (one === "'null'" ? 'null' : one));
      const { rows } = await client.query(
        `explain (analyze, buffers, format json) execute feed (${nulls.join(', ')})`,
      );
      const [{ Plan: plan }] = rows[0]['QUERY PLAN'];
      return plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
    };
    const ofMovements = ['inventory.adjust'];
    const seldom = [elsewhere];
    // 10,000 operations are 1,000 blocks of the table and its index; what moved is sought for each.
    const reaches = [
      { most: 2_000, reach: {} },
      { most: 40_000, reach: { ofMovements, products: [product] } },
      { most: 40_000, reach: { ofMovements, locations: seldom, granted: seldom } },
      { most: 2_000, reach: { elsewhere: [], ofMovements, lowStock: true } },
    ];
    for (const { most, reach } of reaches) {
      const places = [0, count / 2, count - 10_000, count - 100];
      const touched: number[] = [];
      for (const after of places) touched.push(await buffersOf(after, reach));
      const seen = JSON.stringify({ reach, touched });
      expect(Math.max(...touched), seen).toBeLessThan(most);
      expect(touched.at(-1), seen).toBeLessThan(most / 50);
    }
  }, 300_000);
});

/** A value as the text of a literal. */
function asText(value: unknown): string {
  if (Array.isArray(value)) return `{${value.join(',')}}`;
  return String(value);
}
