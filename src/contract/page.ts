// Keyset pages: over-fetch by one, no counts, no offsets, so page 5,000 costs what page 1 costs.

import Type from 'typebox';
import { limits } from '../core/limits.ts';

export const pageQuery = {
  limit: Type.Integer({
    minimum: 1,
    maximum: limits.pageSizeMax,
    default: limits.pageSizeDefault,
    description: 'How many to return at most. It may change between pages.',
  }),
  // Any text that fits into a URL: a text of any length that is no cursor is an invalid cursor.
  cursor: Type.String({
    maxLength: limits.urlBytesMax,
    description: 'meta.next_cursor of the page before, with the same filters.',
  }),
};

export interface PageRequest {
  readonly limit: number;
  /** The sort key of the last row of the page before. */
  readonly after: string | undefined;
}

export interface Page<Item> {
  readonly items: readonly Item[];
  /** The sort key to continue after, when more follows. */
  readonly next: string | undefined;
  /** What the answer says of the page as a whole. */
  readonly meta?: Readonly<Record<string, string>>;
  /** Where a list that grows at its end goes on: its position, and the sort key for it. */
  readonly end?: { readonly position: number; readonly key: string };
}

/**
 * Limits stand in the texts of statements, and each connection keeps its plans of them: those of
 * 200 limits of five lists took 37 MB of every connection. 1 is among them because callers ask
 * whether there is any.
 */
const pageSizes = [1, 10, limits.pageSizeDefault, 100, limits.pageSizeMax];

/** How many rows a statement asks for so that `takePage` can tell whether more follows. */
export const fetchSize = ({ limit }: PageRequest): number =>
  (pageSizes.find((size) => size >= limit) ?? limit) + 1;

/** Trims the over-fetched rows and names where the next page starts. */
export function takePage<Row, Item>(
  rows: readonly (Row & Cut)[],
  page: PageRequest,
  key: (row: Row) => string,
  present: (row: Row) => Item,
): Page<Item> {
  const shown = rows.slice(0, page.limit);
  const last = shown.at(-1);
  const isMore = rows.length > page.limit || last?.followed === true;
  return {
    items: shown.map(present),
    next: isMore && last !== undefined ? key(last) : undefined,
  };
}

/** The same of a page that is presented as a whole, by the keys of its rows. */
export function takeColumns<Item>(
  keys: readonly string[],
  followed: readonly unknown[],
  page: PageRequest,
  present: (count: number) => readonly Item[],
): Page<Item> {
  const count = Math.min(keys.length, page.limit);
  const isMore = keys.length > count || followed[count - 1] === true;
  return { items: present(count), next: isMore ? keys[count - 1] : undefined };
}

/** A row of a page that may have been cut. */
export interface Cut {
  /** Whether the statement found a row behind it. */
  readonly followed?: boolean;
}
