// How much room the ends of reservations take in a batch: by their lines, which only the database
// knows.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { asked, served } from '../../test/kit/again.ts';
import { newKey } from '../../test/kit/api.ts';
import { createTestDatabase, withoutLimits } from '../../test/kit/database.ts';
import { type Environment, startEnvironment } from '../../test/kit/environment.ts';
import { WorkCounter } from '../../test/kit/work.ts';
import { limits } from '../core/limits.ts';

const counter = new WorkCounter();
let service: Environment;

beforeAll(async () => {
  const db = await createTestDatabase();
  await withoutLimits(db);
  service = await startEnvironment({ db, watch: (database) => counter.watch(database) });
});
afterAll(() => service.stop());

test('ends of long reservations share a batch by their lines', { timeout: 60_000 }, async () => {
  const merchant = await service.given.merchant();
  const location_id = await service.given.location(merchant);
  const api = service.api.as((await service.given.credential(merchant)).token);
  const products = await Promise.all(
    Array.from({ length: limits.transferLinesMax }, () => service.given.product(merchant)),
  );
  const lines = products.map((product_id) => ({ product_id, quantity: '1' }));
  const stock = lines.map((line) => ({ ...line, quantity: '100' }));
  await api.post('/inventory/transfers', {
    ...{ to_location_id: location_id, reason: 'receipt', lines: stock },
  });
  const held = await Promise.all(
    Array.from({ length: 24 }, async () => {
      const key = newKey();
      const body = { location_id, lines };
      const answer = await served(() => api.post('/inventory/reservations', body, { key }));
      return answer.body.data.id;
    }),
  );
  counter.take();
  for (const [type, body, some] of [
    ['inventory.release', {}, held.slice(0, 12)],
    ['inventory.fulfil', { reason: 'sale' }, held.slice(12)],
  ] as const) {
    const operations = some.map((id) => ({ type, id, idempotency_key: newKey(), body }));
    const statuses = await asked(
      async (): Promise<number[]> => {
        const { body: answer } = await api.post('/batches', { operations });
        return answer.data.results.map(({ status }: { status: number }) => status);
      },
      (sent) => (sent.includes(503) ? '503 of some of a batch' : undefined),
    );
    expect(statuses).toEqual(some.map(() => 200));
  }
  const most = limits.batchLinesMax / limits.transferLinesMax;
  const sizes = counter
    .take()
    .statements.filter(({ name }) => name === 'find_reservations_to_end')
    .map(({ values }) => JSON.parse(String(values?.[0])).length);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeGreaterThanOrEqual(held.length);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(most);
});
