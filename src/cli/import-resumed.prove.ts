// An import that is killed, cut off and refused for a while, and run again each time: in the end
// it is what one run would have made.

import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { created } from '../../test/kit/again.ts';
import { withoutLimits } from '../../test/kit/database.ts';
import { Exchange, printedBy, recordsOf, type Shop } from '../../test/kit/exchange.ts';
import { extent, extentName, timeout } from '../../test/kit/extent.ts';
import { type Fate, FaultProxy, pass } from '../../test/kit/fault-proxy.ts';
import { ledgerDifferences } from '../../test/kit/ledger.ts';

const rows = extent(600, 16_000);
const kills = extent(1, 20);
/** So long at most between what is seen of a run and its end. */
const patienceMs = 400;

let exchange: Exchange;
let proxy: FaultProxy;

beforeAll(async () => {
  exchange = await Exchange.start();
  await withoutLimits(exchange.service.db);
  proxy = await FaultProxy.listen(exchange.service.api.origin);
  await exchange.write('products.csv', productRows());
  await exchange.write('counts.csv', countRows());
});
afterAll(async () => {
  proxy.close();
  await exchange.stop();
});

/** A third each: found by their own ID, by SKU, and by SKU while archived. */
function productRows(): string {
  const lines = Array.from({ length: rows }, (_, n) => {
    const own = n % 3 === 0 ? `own-${n}` : '';
    return `${own},S-${n},Product ${n},${n % 3 === 2 ? 'archived' : 'active'}`;
  });
  return ['external_id,sku,name,status', ...lines, ''].join('\n');
}

/** Those of archived products are refused, and quantities that are no pieces. */
function countRows(): string {
  const lines = Array.from(
    { length: rows },
    (_, n) => `S-${n},${n % 7}${n % 90 === 1 ? '.5' : ''}`,
  );
  return ['sku,counted_quantity', ...lines, ''].join('\n');
}

/** SKUs of two rows are taken: they are refused. */
async function prepared(): Promise<Shop> {
  const shop = await exchange.shop();
  await created(shop.api, '/locations', { name: 'Shop', code: 'S1' });
  for (const sku of ['S-0', 'S-999']) await created(shop.api, '/products', { name: 'Other', sku });
  return shop;
}

const commands = [
  ['import', 'products', 'products.csv'],
  ['import', 'counts', 'counts.csv', '--location', 'S1'],
] as const;

/** What is left of a run is removed, for the next merchant. */
async function forget(file: string): Promise<void> {
  for (const end of ['import', 'import.lock', 'refused.csv']) {
    await rm(exchange.path(`${file}.${end}`), { force: true });
  }
}

interface Made {
  readonly reports: readonly unknown[];
  readonly refused: readonly string[];
  readonly products: readonly string[];
  readonly stock: readonly string[];
  /** How many writes changed something. */
  readonly events: number;
}

/** Both imports, whichever way they come to their end. */
async function made(
  shop: Shop,
  finish: (shop: Shop, args: readonly string[]) => Promise<unknown>,
): Promise<Made> {
  const reports: unknown[] = [];
  const refused: string[] = [];
  for (const args of commands) {
    await forget(args[2]);
    reports.push(await finish(shop, args));
    refused.push(await exchange.read(`${args[2]}.refused.csv`));
    await forget(args[2]);
  }
  const [location] = (await shop.api.get('/locations')).body.data;
  const texts = async (path: string) =>
    (await recordsOf(shop.api, path)).map((one) => JSON.stringify(one)).sort();
  const stock = await recordsOf(shop.api, `/stock?location_id=${location.id}&sort=sku`);
  return {
    ...{ reports, refused },
    products: await texts('/products'),
    stock: stock.map(({ sku, quantity }) => `${sku} ${quantity}`),
    events: (await recordsOf(shop.api, '/events')).length,
  };
}

const inOneRun = (shop: Shop, args: readonly string[]) => exchange.json(shop, args);

/** With kill -9, at any moment after it has begun to send. */
async function killed(shop: Shop, args: readonly string[]): Promise<unknown> {
  for (let times = 0; times < kills; times += 1) {
    const child = exchange.start(shop, [...args, '--json']);
    const printed = printedBy(child);
    const begun = (async () => {
      for await (const chunk of child.stderr ?? []) if (/ of \d+ rows/.test(String(chunk))) return;
    })();
    await Promise.race([begun, printed]);
    await sleep(Math.random() * patienceMs);
    child.kill('SIGKILL');
    const { code, stdout } = await printed;
    if (code !== null) return JSON.parse(stdout);
  }
  return exchange.json(shop, args);
}

/** Every third request is lost on its way or refused for now, and so is every third answer. */
async function cutOff(shop: Shop, args: readonly string[]): Promise<unknown> {
  const fates: readonly Fate[] = [
    { kind: 'cut answer', after: 100 },
    { kind: 'answer', status: 503 },
    { kind: 'cut request', after: 5_000 },
    { kind: 'answer', status: 429, headers: { 'retry-after': '1' } },
  ];
  proxy.fateOf = (n) => (n % 3 === 2 ? (fates[Math.floor(n / 3) % fates.length] ?? pass) : pass);
  const { stdout, stderr } = await printedBy(
    exchange.start(shop, [...args, '--json'], proxy.origin),
  );
  expect(stderr).not.toMatch(/error|429|503/);
  return JSON.parse(stdout);
}

test(
  `killed (${kills}) or cut off all the time it makes what one run makes (${extentName})`,
  async () => {
    const whole = await made(await prepared(), inOneRun);
    expect(whole.reports).toMatchObject([
      { rows, refused: rows > 999 ? 2 : 1 },
      { rows, created: 0 },
    ]);
    expect(await made(await prepared(), killed)).toEqual(whole);
    expect(await made(await prepared(), cutOff)).toEqual(whole);
    expect(await ledgerDifferences(exchange.service.db)).toEqual([]);
  },
  timeout,
);
