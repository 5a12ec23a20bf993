// Lists as a client reads them: page by page.

import { expect } from 'vitest';
import type { Answer, Api } from './api.ts';

/** The data of each page, to the end. @param path of the list, with a query */
export async function pagesOf<Item>(api: Api, path: string): Promise<Item[][]> {
  const pages: Item[][] = [];
  for (let rest: string | undefined = path; rest !== undefined; ) {
    const answer: Answer = await api.get(rest);
    expect([answer.status, answer.body.error]).toEqual([200, undefined]);
    pages.push(answer.body.data);
    const { next_cursor: next } = answer.body.meta;
    rest = next === undefined ? undefined : `${path}&cursor=${encodeURIComponent(next)}`;
  }
  return pages;
}
