// Two merchants whose webhooks have the same ID: neither is ever taken for the other.

import { expect, test } from 'vitest';
import { startEnvironment } from '../../test/kit/environment.ts';
import { Receiver } from '../../test/kit/receiver.ts';
import { Shop } from '../../test/kit/shop.ts';

test('webhooks with one ID, of two merchants, each get what is theirs', async () => {
  const service = await startEnvironment();
  const [one, other] = [await Shop.open(service), await Shop.open(service)];
  const [receiver, others] = [await Receiver.listen(), await Receiver.listen(500)];
  const id = await one.hook(receiver);
  const old = await other.hook(others, { status: 'paused' });
  const session = await service.db.session();
  for (const statement of [
    `insert into webhooks select r.* from webhooks t, jsonb_populate_record(null::webhooks,
       to_jsonb(t) || jsonb_build_object('id', $2::text)) r where t.id = $1`,
    'update webhook_progress set webhook_id = $2 where webhook_id = $1',
  ]) {
    await session.query(statement, [old, id]);
  }
  await session.query('delete from webhooks where id = $1', [old]);
  // What is sealed for one ID cannot be opened under another.
  await other.change(id, { rotate_secret: true, status: 'active' });
  const delivery = service.service.deliver();
  const positions = await one.customers(40);
  await other.customers(3);
  await receiver.until((all) => all.positions().length === 40);
  await others.until(3);
  await one.untilWebhook(id, { position: '40', status: 'active', failing_since: null });
  await other.untilWebhook(id, { position: '3', status: 'active', last_status: 500 });
  await other.untilFailures(id, [{ tries: 1 }, { tries: 1 }, { tries: 1 }]);
  expect(receiver.positions()).toEqual(positions);
  expect(others.positions()).toEqual([1, 2, 3]);
  expect((await one.deliveries(id)).failures).toEqual([]);
  others.answer = 410;
  await other.customer();
  await other.untilWebhook(id, { status: 'paused', pause_reason: 'receiver_gone' });
  expect(await one.webhook(id)).toMatchObject({ status: 'active' });
  await one.customer();
  await receiver.until(41);
  expect(receiver.calls.map(({ event }) => event.data.email)).not.toContain(
    others.calls[0]?.event.data.email,
  );
  await delivery.stop(0);
  await service.stop();
  receiver.close();
  others.close();
});
