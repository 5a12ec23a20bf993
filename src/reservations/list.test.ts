import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Api } from '../../test/kit/api.ts';
import { type Environment, startEnvironment } from '../../test/kit/environment.ts';

let service: Environment;

beforeAll(async () => {
  service = await startEnvironment();
});
afterAll(() => service.stop());

/** What becomes of those that are made, in turns. */
const ends: readonly (readonly [status: string, command: string | undefined])[] = [
  ['active', undefined],
  ['released', 'release'],
  ['fulfilled', 'fulfil'],
  ['active', undefined],
  ['fulfilled', 'fulfil'],
];

interface Made {
  readonly id: string;
  readonly location_id: string;
  readonly status: string;
  readonly reference: string;
}

async function makeOne(
  api: Api,
  product_id: string,
  location_id: string,
  n: number,
): Promise<Made> {
  const reference = `order ${n % 3}`;
  const lines = [{ product_id, quantity: '1' }];
  const { body } = await api.post('/inventory/reservations', { location_id, reference, lines });
  const { id } = body.data;
  const [status, command] = ends[n % ends.length] ?? ['active', undefined];
  if (command !== undefined) {
    const said = command === 'fulfil' ? { reason: 'sale' } : {};
    const answer = await api.post(`/inventory/reservations/${id}/${command}`, said);
    expect(answer.status).toBe(200);
  }
  return { id, location_id, status, reference };
}

async function walk(api: Api, filter: Record<string, string>): Promise<string[]> {
  const found: string[] = [];
  for (let cursor = ''; ; ) {
    const query = new URLSearchParams({ ...filter, limit: '5' });
    const page = await api.get(`/inventory/reservations?${query}${cursor}`);
    expect(page.status).toBe(200);
    found.push(...page.body.data.map(({ id }: { id: string }) => id));
    if (page.body.meta.next_cursor === undefined) return found;
    cursor = `&cursor=${page.body.meta.next_cursor}`;
  }
}

test('a list has each once, newest first, page by page, by any filter', async () => {
  const { given } = service;
  const owner = await given.merchant();
  const [a, b] = [await given.location(owner), await given.location(owner)];
  const flour = await given.product(owner);
  const whole = service.api.as((await given.credential(owner)).token);
  const both = service.api.as((await given.credential(owner, { locations: [a, b] })).token);
  for (const to_location_id of [a, b]) {
    const lines = [{ product_id: flour, quantity: '50' }];
    await whole.post('/inventory/transfers', { to_location_id, reason: 'receipt', lines });
  }
  const made: Made[] = [];
  for (let n = 0; n < 17; n += 1) made.unshift(await makeOne(whole, flour, n % 2 ? a : b, n));
  const filters: Record<string, string>[] = [
    {},
    { location_id: a },
    ...['active', 'released', 'fulfilled', 'expired'].flatMap((status) => [
      { status },
      { status, location_id: b },
      { status, reference: 'order 1' },
    ]),
    { reference: 'order 2' },
  ];
  for (const api of [whole, both]) {
    for (const filter of filters) {
      const expected = made.filter((row) =>
        Object.entries(filter).every(([name, value]) => row[name as keyof Made] === value),
      );
      expect([filter, await walk(api, filter)]).toEqual([filter, expected.map(({ id }) => id)]);
    }
  }
});
