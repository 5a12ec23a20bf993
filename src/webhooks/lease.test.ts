// Who delivers: of nodes that saw the same webhook without a holder, one gets it.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { homeCell } from '../../test/kit/cells.ts';
import { connect, type Environment, startEnvironment } from '../../test/kit/environment.ts';
import { Receiver } from '../../test/kit/receiver.ts';
import { Shop } from '../../test/kit/shop.ts';
import type { MerchantId } from '../core/principal.ts';
import { begin, commit } from '../core/statement.ts';
import type { Database } from '../database/connect.ts';
import { claim, saveProgress } from './delivery-store.ts';

let service: Environment;
let database: Database;

beforeAll(async () => {
  service = await startEnvironment();
  database = connect(service.db.serviceUrl, 8).inCell(homeCell);
});
afterAll(async () => {
  await database.close();
  await service.stop();
});

test('a webhook is claimed by one node, and by others when the lease has ended', async () => {
  const shop = await Shop.open(service);
  const receiver = await Receiver.listen();
  const webhook = { merchant_id: shop.merchant as MerchantId, id: await shop.hook(receiver) };
  receiver.close();
  const claimedBy = async (holder: string) => {
    const connection = await database.writer.connect();
    const [, claimed] = await connection.send([begin, claim(holder, [webhook as never]), commit]);
    connection.release();
    return (claimed?.rows ?? []) as readonly { readonly epoch: number }[];
  };
  const savedUnder = async (epoch: number) => {
    const connection = await database.writer.connect();
    const progress = {
      ...{ ...webhook, epoch, position: 7, failures: [], attempts: [], failing_since: null },
      ...{ last_status: 204, is_released: false },
    };
    const [, saved] = await connection.send([begin, saveProgress([progress]), commit]);
    connection.release();
    return saved?.rows ?? [];
  };
  const nodes = Array.from({ length: 8 }, (_, n) => `node ${n}`);
  const first = await Promise.all(nodes.map(claimedBy));
  expect(first.flat()).toHaveLength(1);
  const holder = nodes[first.findIndex(({ length }) => length === 1)] ?? '';
  expect(await claimedBy('another')).toEqual([]);
  const [again] = await claimedBy(holder);
  const { epoch: late = 0 } = first.flat()[0] ?? {};
  expect(again?.epoch).toBe(late + 1);
  // What was claimed before, and is saved late, counts no more.
  expect(await savedUnder(late)).toEqual([]);
  expect(await shop.webhook(webhook.id)).toMatchObject({ position: '0' });
  expect(await savedUnder(late + 1)).toHaveLength(1);
  await service.db.sql(
    'update webhook_progress set lease_ends_at = now() where merchant_id = $1 and webhook_id = $2',
    [webhook.merchant_id, webhook.id],
  );
  expect(await claimedBy('another')).toHaveLength(1);
  expect(await claimedBy(holder)).toEqual([]);
});
