// A till as a process of its own, which sdk/outbox-kills.prove.ts kills: it sells without an end
// and prints each sale once it is stored. Told to drain, it sells nothing more and ends when all
// is sent.

import { setTimeout as sleep } from 'node:timers/promises';
import { FileStore } from '../../sdk/file-store.ts';
import { Tallybook } from '../../sdk/main.ts';

const [baseUrl = '', token = '', path = '', location = '', products = '', run = ''] =
  process.argv.slice(2);

const tb = new Tallybook({ baseUrl, token });
const outbox = tb.outbox(await FileStore.open(path));
if (run === 'drain') {
  await outbox.idle();
  process.exit(0);
}
for (let n = 0; ; n += 1) {
  const [product = ''] = products.split(',').slice(n % 3);
  const reference = `${run}-${n}`;
  await outbox.put('inventory.transfers.create', {
    to_location_id: location,
    reason: 'receipt',
    reference,
    lines: [{ product_id: product, quantity: '1' }],
  });
  process.stdout.write(`${reference}\n`);
  await sleep(5);
}
