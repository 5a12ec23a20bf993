// Files that are not what they should be: each fault is told with its line and column, all of
// them at once, and nothing is sent.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { Exchange, recordsOf, type Shop } from '../../test/kit/exchange.ts';
import { extentName, sampleOf } from '../../test/kit/extent.ts';

interface BadFile {
  readonly what: string;
  readonly name: string;
  readonly content: string | Uint8Array;
  /** What is told, in order. */
  readonly expected: readonly string[];
}

const csv = (what: string, content: string | Uint8Array, ...expected: string[]): BadFile => ({
  ...{ what, content, expected },
  name: `${what.replaceAll(/\W+/g, '-')}.csv`,
});

const large = 'x'.repeat(10_000_000);

const badFiles: readonly BadFile[] = [
  csv(
    'several faults',
    'sku,name,price.amount,price.currency\nA,Apple,1.2,EUR\nA,,x,EUR\nB,Pear,1.20,XXY\n',
    'line 2, column 3 (price.amount): must have exactly 2 decimal places',
    'line 3, column 2 (name): must not be empty',
    'line 3, column 1 (sku): is that of line 2',
    'line 4, column 4 (price.currency): must be an ISO 4217 currency',
  ),
  csv(
    'not UTF-8',
    Buffer.from('sku,name\nA,\xc4pfel\n', 'latin1'),
    'line 2, column 2 (name): is not UTF-8',
  ),
  csv(
    'UTF-16',
    Buffer.from('\ufeffsku,name\nA,B\n', 'utf16le'),
    'line 1, column 1: the file is in UTF-16',
  ),
  csv(
    'an open quote',
    'sku,name\nA,"Apple\nB,Pear\n',
    'line 2, column 2 (name): a quote opens here',
  ),
  csv(
    'more after a quote',
    'sku,name\nA,"Apple"s\n',
    'line 2, column 2 (name): after a closing quote',
  ),
  csv('a quote within', 'sku,name\nB,C\nA,5"\n', 'line 3, column 2 (name): a quote stands'),
  csv('a missing cell', 'sku,name\nA\nB,Pear\n', 'line 2: has 1 cells, and the header has 2'),
  csv('a header twice', 'sku,name,sku\nA,B,A\n', 'line 1, column 3 (sku): is sku, as column 1 is'),
  csv('an unknown header', 'sku,Farbe\nA,rot\n', 'line 1, column 2 (Farbe): is not known'),
  csv('10 MB in a cell', `sku,name\nA,${large}\n`, 'line 2, column 2 (name)'),
  csv('an open quote before 10 MB', `sku,name\nA,"${large}`, 'line 2, column 2 (name): the row'),
  csv('a formula', 'sku,name\nA,=1+1\n', 'line 2, column 2 (name): is a formula'),
  csv('an empty file', '', 'line 1, column 1: the file is empty'),
  csv('JSON', '{"sku":"A"}\n', 'line 1, column 1: this is JSON and not CSV'),
  csv('a spreadsheet', 'PK\u0003\u0004rest', 'line 1, column 1: this is a spreadsheet'),
  csv('a binary', Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1, 2]), 'line 1, column 1'),
  {
    what: 'CSV that is called JSON',
    name: 'csv.ndjson',
    content: 'sku,name\nA,B\n',
    expected: ['line 1, column 1: this is no JSON'],
  },
  {
    what: 'lines of JSON with faults',
    name: 'faults.ndjson',
    content: '{"sku":"A","name":"B"}\n{"sku":"C","name":7,"farbe":"rot"}\n{"sku": "D",}\n',
    expected: [
      'line 2, member farbe: is not known',
      'line 2, member name: must be a string',
      'line 3, character 13: is no JSON object',
    ],
  },
];

let exchange: Exchange;
let shop: Shop;

beforeAll(async () => {
  exchange = await Exchange.start();
  shop = await exchange.shop();
});
afterAll(() => exchange.stop());

test.concurrent.each(sampleOf(badFiles, 5))(
  `$what is told with line and column, and nothing is sent (${extentName})`,
  async ({ name, content, expected }) => {
    await exchange.write(name, content);
    const { code, stdout, stderr } = await exchange.run(shop, ['import', 'products', name]);
    const lines = stderr.trimEnd().split('\n');
    expect({ code, stdout, faults: lines.length - 1 }).toEqual({
      ...{ code: 2, stdout: '', faults: expected.length },
    });
    for (const [index, text] of expected.entries()) {
      expect(lines[index]).toContain(`${name}: ${text}`);
      expect(lines[index]?.length).toBeLessThan(500);
    }
    expect(lines.at(-1)).toMatch(/^error: .* has (a fault|\d faults); nothing was sent$/);
    expect(await recordsOf(shop.api, '/products')).toEqual([]);
  },
);
