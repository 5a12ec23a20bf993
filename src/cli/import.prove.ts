// What `tallybook import` promises, through real processes and a real service.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { created } from '../../test/kit/again.ts';
import { Exchange, printedBy, recordsOf } from '../../test/kit/exchange.ts';

let exchange: Exchange;

beforeAll(async () => {
  exchange = await Exchange.start();
});
afterAll(() => exchange.stop());

const price = 'price.amount,price.currency';

describe.concurrent('import', () => {
  test('creates and changes by SKU, under the names of the file', async () => {
    const shop = await exchange.shop();
    const header = `Artikelnr,name,${price},status,metadata,Lager\n`;
    await exchange.write(
      'named.csv',
      `\uFEFF${header}A-1,Apfel,1.20,EUR,active,"{""farbe"":""rot""}",7\r\n` +
        "A-2,'=1,,,archived,,8\r\n",
    );
    const args = ['import', 'products', 'named.csv', '--map', 'Artikelnr=sku,Lager='];
    const dry = await exchange.run(shop, [...args, '--dry-run']);
    expect(dry.stdout).toMatch(/^line 2: sku A-1: new\nline 3: sku A-2: new\n2 rows: 2 created/);
    expect(await recordsOf(shop.api, '/products')).toEqual([]);
    expect(await exchange.json(shop, args)).toEqual({
      ...{ rows: 2, created: 2, changed: 0, unchanged: 0, refused: 0, refused_file: null },
    });
    expect(await recordsOf(shop.api, '/products')).toMatchObject([
      { sku: 'A-1', price: { amount: '1.20', currency: 'EUR' }, metadata: { farbe: 'rot' } },
      { sku: 'A-2', name: '=1', price: null, status: 'archived' },
    ]);
    await exchange.write(
      'named.csv',
      `Artikelnr,name,${price}\nA-1,Apfel,,\nA-3,"Birne, grün",,\n`,
    );
    const again = await exchange.run(shop, [...args.slice(0, 4), 'Artikelnr=sku', '--dry-run']);
    expect(again.stdout).toMatch(
      /line 2: sku A-1: price \{"amount".* → null\nline 3: sku A-3: new/,
    );
    const second = await exchange.json(shop, [...args.slice(0, 4), 'Artikelnr=sku']);
    expect(second).toMatchObject({ created: 1, changed: 1, unchanged: 0 });
    const [first] = await recordsOf(shop.api, '/products');
    expect(first).toMatchObject({
      sku: 'A-1',
      price: null,
      metadata: { farbe: 'rot' },
      version: 2,
    });
  });

  test('asks before a file is imported twice, and then changes nothing', async () => {
    const shop = await exchange.shop();
    await exchange.write('twice.csv', 'external_id,name,email\n1,Ada,ada@example.com\n');
    const args = ['import', 'customers', 'twice.csv'];
    expect(await exchange.json(shop, args)).toMatchObject({ created: 1 });
    const refused = await exchange.run(shop, args);
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toContain('was imported already; --again imports it as another run');
    const again = await exchange.json(shop, [...args, '--again']);
    expect(again).toMatchObject({ created: 0, unchanged: 1 });
  });

  test('keeps refused rows with the reason, to be mended and imported', async () => {
    const shop = await exchange.shop();
    await created(shop.api, '/products', { name: 'Other', sku: 'TAKEN' });
    await exchange.write('some.csv', 'external_id,sku,name\n1,FREE,One\n2,TAKEN,Two\n');
    const done = await exchange.run(shop, ['import', 'products', 'some.csv']);
    expect(done.code).toBe(1);
    const file = 'some.csv.refused.csv';
    const text = await exchange.read(file);
    expect(text).toMatch(
      /^external_id,sku,name,refused_because\n2,TAKEN,Two,sku_taken: sku is already .*\n$/,
    );
    await exchange.write(file, text.replace('TAKEN', 'OTHER'));
    expect(await exchange.json(shop, ['import', 'products', file])).toMatchObject({ created: 1 });
  });

  test('makes rows that nothing names only when told', async () => {
    const shop = await exchange.shop();
    await exchange.write('nobody.ndjson', '{"name":"Ada","email":"ada@example.com"}\n');
    const args = ['import', 'customers', 'nobody.ndjson'];
    const refused = await exchange.run(shop, args);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('--add makes it')]);
    expect(await exchange.json(shop, [...args, '--add'])).toMatchObject({ created: 1 });
  });

  test('reads standard input once, and knows it again', async () => {
    const shop = await exchange.shop();
    const args = ['import', 'products', '-', '--format', 'csv'];
    const input = 'sku,name\nPIPE,Pipe\n';
    expect(await exchange.json(shop, args, input)).toMatchObject({ created: 1 });
    expect((await exchange.run(shop, args, input)).stderr).toContain('imported already');
  });

  test('says on a terminal how far it came, how fast it is and how long it takes', async () => {
    const shop = await exchange.shop();
    const rows = Array.from({ length: 900 }, (_, n) => `${n},Product ${n}\n`);
    await exchange.write('bar.csv', `external_id,name\n${rows.join('')}`);
    const { stdout } = await exchange.onTerminal(shop, 'import products bar.csv');
    expect(stdout).toMatch(/█+.*100% \| 900 of 900 rows \| \d+\/s \| \S+ left/);
    expect(stdout).toContain('900 rows: 900 created');
  });

  test('stops at Ctrl-C, and goes on where it was', async () => {
    const shop = await exchange.shop();
    const rows = Array.from({ length: 3_000 }, (_, n) => `S-${n},Product ${n}\n`);
    await exchange.write('stop.csv', `sku,name\n${rows.join('')}`);
    const child = exchange.start(shop, ['import', 'products', 'stop.csv']);
    const printed = printedBy(child);
    await expect
      .poll(() => exchange.read('stop.csv.import').catch(() => ''))
      .toContain('"rows_done":');
    child.kill('SIGINT');
    const { code, stderr } = await printed;
    expect([code, stderr]).toEqual([130, expect.stringContaining('The same command goes on')]);
    const other = await exchange.service.given.credential(shop.merchant);
    const foreign = await exchange.run(other, ['import', 'products', 'stop.csv']);
    expect([foreign.code, foreign.stderr]).toEqual([
      2,
      expect.stringContaining('another credential'),
    ]);
    const done = await exchange.json(shop, ['import', 'products', 'stop.csv']);
    expect(done).toMatchObject({ rows: 3_000, created: 3_000, refused: 0 });
    const products = await recordsOf(shop.api, '/products');
    expect(products).toHaveLength(3_000);
    expect(products.every(({ version }) => version === 1)).toBe(true);
  });

  test('says which scope is missing, and where no service is', async () => {
    const shop = await exchange.shop(['products.read']);
    await exchange.write('scope.csv', 'sku,name\nS,Scope\n');
    const args = ['import', 'products', 'scope.csv'];
    const refused = await exchange.run(shop, args);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('products.write')]);
    const unnamed = await exchange.run({ token: '' }, args);
    expect([unnamed.code, unnamed.stderr]).toEqual([2, expect.stringContaining('TALLYBOOK_TOKEN')]);
  });
});
