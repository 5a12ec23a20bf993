// A till in a browser, which sdk/browser.prove.ts opens and kills. What its address says is what it
// does: it sells while nothing answers, sends what is stored, or calls a service of another origin.
// It reports to the test's server.

import { IndexedDbStore } from '../../sdk/indexeddb-store.ts';
import { Quantity, Tallybook } from '../../sdk/main.ts';

interface Sale {
  readonly location: string;
  readonly product: string;
  readonly count: number;
}

declare const location: { readonly origin: string; readonly search: string };

async function run(): Promise<object> {
  const words = new URLSearchParams(location.search);
  const tb = new Tallybook({
    baseUrl: `${location.origin}/api/v1`,
    token: words.get('token') ?? '',
  });
  if (words.get('do') === 'call') {
    const baseUrl = `${words.get('other')}/api/v1`;
    const tb = new Tallybook({ baseUrl, token: words.get('token') ?? '', budgetMs: 3_000 });
    return tb.credential.get().then(
      ({ data }) => ({ credential: data.id }),
      ({ code, message }) => ({ code, message }),
    );
  }
  const store = await IndexedDbStore.open();
  const second = await IndexedDbStore.open().catch((error: Error) => error.message);
  const outbox = tb.outbox(store);
  if (words.get('do') === 'send') {
    const waiting = (await outbox.entries()).length;
    await outbox.idle();
    const left = (await store.all()).length;
    const { data } = await tb.credential.get();
    return { waiting, left, credential: data.id };
  }
  const sale = JSON.parse(words.get('sale') ?? '{}') as Sale;
  let target = '0';
  for (let n = 0; n < sale.count; n += 1) {
    target = Quantity.add(target, '0.5');
    const { location: location_id, product: product_id } = sale;
    const body = {
      location_id,
      product_id,
      target_quantity: target,
      reason: 'stock_count',
    } as const;
    await outbox.put('inventory.adjust', body);
  }
  return { stored: (await store.all()).length, second };
}

const report = (result: object) =>
  fetch('/report', { method: 'POST', body: JSON.stringify(result) });

run().then(report, (error: Error) => report({ error: String(error.stack) }));
