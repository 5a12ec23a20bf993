// All rows of a list of any length, page by page. Each page begins after the last row of the page
// before.

import type { Reader, Statement } from '../../core/statement.ts';

const pageSize = 1_000;

/** @param list the statement of a page, by ID: at most `limit` rows after `after`. */
export async function* allRows<Row extends { readonly id: string }>(
  reader: Reader,
  list: (after: string, limit: number) => Statement<Row>,
): AsyncGenerator<Row> {
  let after = '';
  for (;;) {
    const page = await reader.query(list(after, pageSize));
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < pageSize) return;
    after = last.id;
  }
}
