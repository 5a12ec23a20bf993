// What a merchant has as CSV or lines of JSON, page by page. What records are is exact, so that a
// file can be imported again; levels say which product and location they are of, so that they can
// be counted at another merchant.

import type { Tallybook } from '@tallybook/client';
import { stringify } from 'csv-stringify/sync';
import { limits } from '../core/limits.ts';
import { customers } from '../customers/contract.ts';
import { listEvents } from '../events/contract.ts';
import { listLevels, listMovements } from '../inventory/contract.ts';
import { locations } from '../locations/contract.ts';
import { products } from '../products/contract.ts';
import { firstBudgetMs } from './client.ts';
import { type Column, columnsOf, valueAt, writeCell } from './columns.ts';
import { type LevelQuery, levelNames, levelPages } from './export-levels.ts';
import type { FileFormat } from './sheet.ts';

export interface ExportOptions {
  readonly format: FileFormat;
  /** A time in RFC 3339. */
  readonly asOf: string | undefined;
  /** The ID of a location. */
  readonly location: string | undefined;
}

const columns = {
  products: columnsOf(products.answer),
  customers: columnsOf(customers.answer),
  locations: columnsOf(locations.answer),
  levels: [...levelNames, ...columnsOf(listLevels.data)],
  movements: columnsOf(listMovements.data),
  events: columnsOf(listEvents.data),
};

export type Exportable = keyof typeof columns;

/** The text of a file, in parts, each with the number of its records. */
export async function* textsOf(
  tb: Tallybook,
  what: Exportable,
  { format, asOf, location }: ExportOptions,
  signal: AbortSignal,
): AsyncGenerator<{ readonly text: string; readonly records: number }> {
  await tb.credential.get({ signal, budgetMs: firstBudgetMs });
  const pages = pagesOf(tb, what, { asOf, location }, signal);
  if (format === 'csv') yield { text: lineOf(columns[what].map(({ name }) => name)), records: 0 };
  for await (const page of pages) {
    const text = page.map((one) =>
      format === 'csv' ? lineOf(cellsOf(columns[what], one)) : `${JSON.stringify(one)}\n`,
    );
    yield { text: text.join(''), records: page.length };
  }
}

const cellsOf = (shown: readonly Column[], record: unknown) =>
  shown.map((column) => writeCell(column, valueAt(record, column.path)));

const lineOf = (cells: readonly string[]) => stringify([[...cells]]);

function pagesOf(
  tb: Tallybook,
  what: Exportable,
  query: LevelQuery,
  signal: AbortSignal,
): AsyncIterable<readonly unknown[]> {
  const { asOf, location } = query;
  const limit = limits.pageSizeMax;
  const at = location === undefined ? {} : { location_id: location };
  switch (what) {
    case 'levels':
      return levelPages(tb, query, signal);
    case 'movements': {
      const until = asOf === undefined ? {} : { recorded_before: behind(asOf) };
      const asked = { ...at, ...until, order: 'asc', limit } as const;
      return itemsOf(tb.inventory.movements.list(asked, { signal }));
    }
    case 'events': {
      const pages = itemsOf(tb.events.list({ ...at, limit }, { signal }));
      return asOf === undefined ? pages : upTo(pages, new Date(asOf).toISOString());
    }
    default:
      return itemsOf<unknown>(tb[what].list({ limit }, { signal }));
  }
}

async function* itemsOf<Item>(list: {
  pages(): AsyncIterable<{ readonly data: readonly Item[] }>;
}): AsyncGenerator<readonly Item[]> {
  for await (const { data } of list.pages()) yield data;
}

/** The filter leaves out what is of its own time. Times are to the millisecond. */
const behind = (time: string) => new Date(Date.parse(time) + 1).toISOString();

/** Events are in the order of their times. */
async function* upTo<Item extends { readonly occurred_at: string }>(
  pages: AsyncIterable<readonly Item[]>,
  time: string,
): AsyncGenerator<readonly Item[]> {
  for await (const page of pages) {
    const before = page.filter(({ occurred_at }) => occurred_at <= time);
    yield before;
    if (before.length < page.length) return;
  }
}
