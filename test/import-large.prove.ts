// How fast imports are, how they keep to a limit, and how little memory many rows take.

import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { withoutLimits } from './kit/database.ts';
import { Exchange, printedBy, type Shop } from './kit/exchange.ts';
import { type ServiceProcess, startProcess } from './kit/process.ts';
import { peakBytes } from './kit/usage.ts';

const minutes = 60_000;

let exchange: Exchange;
let service: ServiceProcess;

beforeAll(async () => {
  exchange = await Exchange.start();
  service = await startProcess(exchange.service.db);
});
afterAll(async () => {
  await service.end();
  await exchange.stop();
});

async function writeRows(name: string, head: string, rows: number, rowOf: (n: number) => string) {
  const file = createWriteStream(exchange.path(name));
  file.write(`${head}\n`);
  for (let n = 0; n < rows; n += 1) {
    if (!file.write(`${rowOf(n)}\n`)) await once(file, 'drain');
  }
  file.end();
  await finished(file);
}

const productRow = (n: number) => `ext-${n},SKU-${n},Product ${n},${n % 100}.50,EUR,40063${n}`;
const productHead = 'external_id,sku,name,price.amount,price.currency,barcode';

async function timed(shop: Shop, args: readonly string[]) {
  const started = performance.now();
  const child = exchange.start(shop, [...args, '--json'], service.api.origin);
  let peak = 0;
  const look = setInterval(() => {
    peak = Math.max(peak, peakBytes(child.pid ?? 0));
  }, 200);
  const { stdout, stderr, code } = await printedBy(child);
  clearInterval(look);
  const seconds = (performance.now() - started) / 1_000;
  const megabytes = Math.round(peak / 1_000_000);
  process.stdout.write(`${args.slice(1).join(' ')}: ${seconds.toFixed(1)} s, ${megabytes} MB\n`);
  return { code, seconds, megabytes, stderr, report: stdout === '' ? {} : JSON.parse(stdout) };
}

test(
  'at the default limits waits as it is told, without an error',
  async () => {
    const rows = 20_000;
    const shop = await exchange.shop();
    await writeRows('paced.csv', productHead, rows, productRow);
    const done = await timed(shop, ['import', 'products', 'paced.csv']);
    expect(done).toMatchObject({ code: 0, report: { created: rows, refused: 0 } });
    expect(done.stderr).not.toMatch(/error|429|limit/);
    // 2,000 requests, of which 1,000 are at once and 100 a second later.
    expect(done.seconds).toBeGreaterThan(8);
  },
  5 * minutes,
);

test(
  '100,000 products and their counts take a minute or two, where no limit is in the way',
  async () => {
    const rows = 100_000;
    await withoutLimits(exchange.service.db);
    const shop = await exchange.shop();
    await service.api.as(shop.token).post('/locations', { name: 'Shop', code: 'S1' });
    await writeRows('large.csv', productHead, rows, productRow);
    await writeRows('counts.csv', 'sku,counted_quantity', rows, (n) => `SKU-${n},${n % 50}`);
    const products = await timed(shop, ['import', 'products', 'large.csv']);
    const counts = await timed(shop, ['import', 'counts', 'counts.csv', '--location', 'S1']);
    expect(products).toMatchObject({ code: 0, report: { created: rows } });
    expect(counts).toMatchObject({ code: 0, report: { rows, refused: 0 } });
    expect(Math.max(products.megabytes, counts.megabytes)).toBeLessThan(150);
    // 55 to 62 s on two cores with nothing else to do, where 60 are wanted.
    expect(products.seconds + counts.seconds).toBeLessThan(120);
  },
  10 * minutes,
);

test(
  'many rows take less than 150 MB',
  async () => {
    // A million was tried by hand; it takes longer, and no more.
    const rows = 300_000;
    await withoutLimits(exchange.service.db);
    const shop = await exchange.shop();
    await writeRows('many.csv', productHead, rows, productRow);
    const done = await timed(shop, ['import', 'products', 'many.csv']);
    expect(done).toMatchObject({ code: 0, report: { created: rows, refused: 0 } });
    expect(done.megabytes).toBeLessThan(150);
  },
  20 * minutes,
);
