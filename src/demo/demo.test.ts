// The demo is the first thing that anyone starts, on any machine.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { cells } from '../../test/kit/cells.ts';
import { type Environment, startEnvironment, startNode } from '../../test/kit/environment.ts';
import { DatabaseProxy } from '../../test/kit/proxy.ts';
import { connectDatabase } from '../database/connect.ts';
import { createDemo } from './demo.ts';

let service: Environment;
beforeAll(async () => {
  service = await startEnvironment();
});
afterAll(() => service.stop());

/** In whichever cell. */
const operations = cells.map((cell) => `(select count(*)::int from ${cell}.operations)`);

const writesOf = async () =>
  (await service.db.sql<{ count: number }>(`select ${operations.join(' + ')} as count`))[0]
    ?.count ?? 0;

test('a demo is whole although its connections break again and again', async () => {
  const access = connectDatabase({ url: service.db.serviceUrl, writers: 2 });
  const {
    merchant_id: _,
    credential_id: _id,
    token: _token,
    expires_at: _end,
    owner: _owner,
    ...whole
  } = await createDemo(service.service, access);
  const expected = await writesOf();

  const proxy = new DatabaseProxy(service.db.serviceUrl);
  const node = await startNode(await proxy.listen());
  const making = createDemo(node.service, access);
  let cuts = 0;
  let ended = false;
  void making.finally(() => {
    ended = true;
  });
  for (let cutAt = expected; !ended; ) {
    const now = await writesOf();
    if (now > expected && now >= cutAt) {
      proxy.cut();
      cuts += 1;
      cutAt = now + 40;
    }
  }
  expect(await making).toMatchObject(whole);
  expect(await writesOf()).toBe(2 * expected);
  expect(cuts).toBeGreaterThan(2);
  await node.stop();
  await proxy.close();
  await access.close();
});
