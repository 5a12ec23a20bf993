// A sheet as CSV: each line names a product by SKU or barcode, and what was counted of it. Lines
// without a count are those that nobody counted.

import type { Product } from '@tallybook/client';
import { CsvError, type Info, parse } from 'csv-parse/browser/esm/sync';
import { quantityOf, quantityText } from '../../format.ts';
import { tb } from '../../service/client.ts';
import { texts } from '../../texts.ts';
import { type Beginning, type CountLine, countFault } from './use-count.ts';

const words = texts.count;

export interface SheetFault {
  readonly line: number;
  readonly what: string;
}

interface Sheet {
  readonly lines: readonly CountLine[];
  readonly faults: readonly SheetFault[];
}

interface Row {
  readonly line: number;
  readonly sku: string;
  readonly barcode: string;
  readonly counted: string;
}

/** As many as the service takes in a count. */
const linesMax = 1_000;
/** SKUs may be long, and stand in an address. */
const codesAtOnce = 30;
const productsAtOnce = 100;

export async function readSheet(text: string, place: string, begun: Beginning): Promise<Sheet> {
  const rows = rowsOf(text);
  if (!Array.isArray(rows)) return { lines: [], faults: [rows] };
  const counted = rows.filter((row) => row.counted !== '');
  if (counted.length === 0) return { lines: [], faults: [{ line: 1, what: words.faults.empty }] };
  if (counted.length > linesMax)
    return { lines: [], faults: [{ line: linesMax + 1, what: words.faults.tooMany(linesMax) }] };
  const found = await productsOf(counted);
  const seen = new Map<string, number>();
  const faults: SheetFault[] = [];
  const good: { readonly product: Product; readonly typed: string }[] = [];
  for (const row of counted) {
    const product = found.get(row);
    const what = typeof product === 'string' ? product : faultIn(row, product, seen);
    if (what !== undefined) faults.push({ line: row.line, what });
    else if (typeof product === 'object') {
      seen.set(product.id, row.line);
      good.push({ product, typed: quantityText(quantityOf(row.counted) ?? '0') });
    }
  }
  if (faults.length > 0) return { lines: [], faults };
  const levels = await levelsOf(
    good.map(({ product }) => product.id),
    place,
    begun,
  );
  const lines = good.map(({ product: { id, name, sku, unit }, typed }) => ({
    product: { product_id: id, name, sku, unit },
    expected: levels.get(id) ?? '0',
    typed,
  }));
  return { lines, faults };
}

function faultIn(row: Row, product: Product | undefined, seen: ReadonlyMap<string, number>) {
  if (product === undefined) return words.faults.unknown(row.sku === '' ? row.barcode : row.sku);
  if (product.status === 'archived') return words.faults.archived(product.name);
  if (!product.inventory_tracked) return words.faults.notTracked(product.name);
  const before = seen.get(product.id);
  if (before !== undefined) return words.faults.repeated(product.name, before);
  const fault = countFault(row.counted, product.unit);
  return fault === undefined ? undefined : words.faults.quantity(row.counted, fault);
}

const names: Readonly<Record<string, keyof Row>> = {
  sku: 'sku',
  barcode: 'barcode',
  ean: 'barcode',
  counted: 'counted',
  counted_quantity: 'counted',
  quantity: 'counted',
};

function rowsOf(text: string): Row[] | SheetFault {
  try {
    const parsed = parse(text, {
      bom: true,
      delimiter: [',', ';', '\t'],
      trim: true,
      skip_empty_lines: true,
      info: true,
    }) as unknown as { readonly record: string[]; readonly info: Info }[];
    const [head, ...rest] = parsed;
    const columns = head?.record.map((name) => names[name.toLowerCase().replaceAll(' ', '_')]);
    const hasCode = columns?.includes('sku') || columns?.includes('barcode');
    if (!hasCode || !columns?.includes('counted')) return { line: 1, what: words.faults.columns };
    return rest.map(({ record, info }) => {
      const cell = (name: keyof Row) => record[columns.indexOf(name)]?.replace(/^'/, '') ?? '';
      return {
        line: info.lines,
        sku: cell('sku'),
        barcode: cell('barcode'),
        counted: cell('counted'),
      };
    });
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const line = typeof error.lines === 'number' ? error.lines : 1;
    return { line, what: words.faults.csv };
  }
}

/** The product of each row, or what is wrong with its code. */
async function productsOf(rows: readonly Row[]) {
  const found = new Map<Row, Product | string>();
  const bySku = new Map<string, Product>();
  const skus = rows.map(({ sku }) => sku).filter((sku) => sku !== '');
  for (let first = 0; first < skus.length; first += codesAtOnce) {
    const sku = skus.slice(first, first + codesAtOnce);
    for await (const product of tb.products.list({ sku, limit: 200 }))
      bySku.set(product.sku?.toLowerCase() ?? '', product);
  }
  for (const row of rows) {
    const product = bySku.get(row.sku.toLowerCase());
    if (row.sku === '' && row.barcode === '') found.set(row, words.faults.noCode);
    else if (row.sku === '') found.set(row, await byBarcode(row.barcode));
    else if (product !== undefined) found.set(row, product);
  }
  return found;
}

async function byBarcode(barcode: string): Promise<Product | string> {
  const { data } = await tb.products.list({ barcode, status: 'active', limit: 2 });
  const [one, other] = data;
  if (one === undefined) return words.faults.unknown(barcode);
  return other === undefined ? one : words.faults.several(barcode);
}

async function levelsOf(ids: readonly string[], location_id: string, begun: Beginning) {
  const found = new Map<string, string>();
  const { position: as_of_position, journal } = begun;
  for (let first = 0; first < ids.length; first += productsAtOnce) {
    const product_id = ids.slice(first, first + productsAtOnce);
    const query = { location_id, product_id, as_of_position, journal, limit: 200 };
    for await (const level of tb.inventory.levels.list(query))
      found.set(level.product_id, level.quantity);
  }
  return found;
}
