// What becomes of webhooks when a backup is restored: a copy calls nobody by itself.

import { expect, test } from 'vitest';
import { restoreBackup, takeBackup } from '../../test/kit/backup.ts';
import { createEmptyDatabase } from '../../test/kit/database.ts';
import { startEnvironment, startNode } from '../../test/kit/environment.ts';
import { connectDatabase } from '../database/connect.ts';
import { verifyLedger } from '../inventory/verify.ts';

test('a restored webhook is paused until it is resumed, and goes on where it was', async () => {
  const service = await startEnvironment();
  const merchant = await service.given.merchant();
  const { token } = await service.given.credential(merchant);
  const api = service.api.as(token);
  for (const name of ['A', 'B']) await api.post('/products', { name });
  const { id } = (await api.post('/webhooks', { url: 'https://example.com/' })).body.data;
  const own = (await api.post('/webhooks', { url: 'https://example.com/', status: 'paused' })).body;
  const copy = await createEmptyDatabase();
  await restoreBackup(copy, await takeBackup(service.db));
  const node = await startNode(copy.serviceUrl);
  const restored = node.api.as(token);
  const { data } = (await restored.get(`/webhooks/${id}`)).body;
  expect(data).toMatchObject({
    ...{ status: 'paused', pause_reason: 'restored', position: '2', version: 2 },
  });
  const { pause_reason } = (await restored.get(`/webhooks/${own.data.id}`)).body.data;
  expect(pause_reason).toBe('requested');
  const before = await restored.get(`/webhooks/${id}/secret`);
  expect(before.body.data).toEqual((await api.get(`/webhooks/${id}/secret`)).body.data);
  const old = { from_position: '1', journal: own.data.journal };
  const refused = await restored.post(`/webhooks/${id}/redeliver`, old);
  expect(refused.body.error.details).toMatchObject([{ code: 'journal_mismatch' }]);
  const resumed = await restored.patch(`/webhooks/${id}`, { status: 'active' });
  expect(resumed.body.data).toMatchObject({ status: 'active', position: '2', version: 3 });
  const database = connectDatabase({ url: copy.serviceUrl, writers: 1 });
  expect(await verifyLedger(database)).toMatchObject({ ok: true, differences: [] });
  await database.close();
  await node.stop();
  await copy.drop();
  await service.stop();
});
