// While a backup's snapshot is open, nothing that was replaced since can be cleared away. The end
// of a journal is looked up in rows that are never changed, so a write finds it as soon as ever.

import { expect, test } from 'vitest';
import { newKey } from '../../test/kit/api.ts';
import { blocksOf } from '../../test/kit/blocks.ts';
import { withoutLimits } from '../../test/kit/database.ts';
import { startEnvironment } from '../../test/kit/environment.ts';
import { extent, timeout } from '../../test/kit/extent.ts';
import { limits } from '../core/limits.ts';
import { journalEnds, lockJournals } from './store.ts';

const writes = extent(1_000, 50_000);

test(`${writes} writes under an open snapshot leave the journal's end as near`, {
  timeout,
}, async () => {
  const service = await startEnvironment();
  const { db } = service;
  await withoutLimits(db);
  const merchant = await service.given.merchant();
  const api = service.api.as((await service.given.credential(merchant)).token);
  const write = async () => {
    const operations = Array.from({ length: limits.batchItemsMax }, () => ({
      ...{ type: 'customers.create', idempotency_key: newKey() },
      body: { name: 'Ada', email: 'ada@example.com' },
    }));
    const { body } = await api.post('/batches', { operations });
    const done = body.data.results.filter(({ status }: { status: number }) => status === 201);
    expect(done).toHaveLength(limits.batchItemsMax);
  };
  /** What a batch reads for its place in the journal. */
  const blocks = async (): Promise<number> => {
    const values = [JSON.stringify([{ merchant_id: merchant }])];
    const end = { name: 'journal_ends', text: journalEnds, values };
    return (await blocksOf(db, { ...lockJournals, values })) + (await blocksOf(db, end));
  };
  const snapshot = await db.session();
  await snapshot.query('begin isolation level repeatable read');
  await snapshot.query('select count(*) from operations');
  await write();
  const before = await blocks();
  for (let done = limits.batchItemsMax; done < writes; done += limits.batchItemsMax) await write();
  const [end] = await db.sql('select max(position)::int as last from operations');
  expect(end?.last).toBe(writes);
  // A level more of an index of operations, of each of the two that are walked.
  expect(await blocks()).toBeLessThanOrEqual(before + 4);
  await snapshot.query('rollback');
  await service.stop();
});
