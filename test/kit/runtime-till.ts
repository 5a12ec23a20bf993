// A till for any runtime, which sdk/runtimes.prove.ts starts on each one that is there: it writes
// through a network that fails, stores sales in memory and in a file, follows the feed, verifies a
// call of a webhook, and prints what came of it.

import process from 'node:process';
import { FileStore } from '../../sdk/file-store.ts';
import { MemoryStore, Tallybook, verifyWebhook } from '../../sdk/main.ts';

const [baseUrl = '', token = '', location = '', product = '', path = '', call = ''] =
  process.argv.slice(2);

const tb = new Tallybook({ baseUrl, token });
const receipt = {
  to_location_id: location,
  reason: 'receipt',
  lines: [{ product_id: product, quantity: '1' }],
} as const;
for (let n = 0; n < 20; n += 1) await tb.inventory.transfers.create(receipt);

let settled = 0;
const onSettled = () => {
  settled += 1;
};
for (const store of [new MemoryStore(), await FileStore.open(path)]) {
  const outbox = tb.outbox(store, { onSettled });
  for (let n = 0; n < 10; n += 1) await outbox.put('inventory.transfers.create', receipt);
  await outbox.idle();
  await outbox.close();
}

let events = 0;
for await (const event of tb.events.subscribe({ types: ['inventory.transferred'] })) {
  events += event.resource.type === 'inventory_transfer' ? 1 : 0;
  if (events === 40) break;
}

const { body, headers, secret } = JSON.parse(call);
const { type } = await verifyWebhook(body, headers, secret);
const forged = await verifyWebhook(`${body} `, headers, secret).catch((error) => error.name);
console.log(JSON.stringify({ settled, events, type, forged }));
process.exit(0);
