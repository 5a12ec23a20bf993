// The first page of each list against one far behind it, reached as a client would: by cursors.

import { median } from '../measure.ts';
import { Client } from '../setup/client.ts';
import { type MerchantGroup, single } from '../setup/merchants.ts';

export interface PageComparison {
  readonly list: string;
  readonly page: number;
  readonly firstMs: number;
  readonly pageMs: number;
}

const pageSize = 50;
/** The most that a request may ask for: the same rows in a quarter of the requests. */
const strideSize = 200;
const warmUps = 10;

const lists: Readonly<Record<string, string>> = {
  products: '/products?',
  customers: '/customers?',
  levels: '/inventory/levels?location_id={location}&',
  movements: '/inventory/movements?',
  operations: '/operations?',
};

export async function comparePages(
  origin: string,
  group: MerchantGroup,
  { page, rounds }: { readonly page: number; readonly rounds: number },
  progress: (text: string) => void,
): Promise<PageComparison[]> {
  const client = new Client(origin);
  const { token, location } = single(group);
  const headers = { Authorization: `Bearer ${token}` };
  const ask = (path: string) =>
    client.askWell({ method: 'GET', path: `/api/v1${path}`, headers, body: undefined });
  const compared: PageComparison[] = [];
  for (const [list, template] of Object.entries(lists)) {
    progress(`page ${page} of ${list}`);
    const path = template.replace('{location}', location);
    const cursor = await cursorAfter(ask, path, (page - 1) * pageSize);
    const first = `${path}limit=${pageSize}`;
    compared.push({ list, page, ...(await inTurn(ask, first, `${first}&${cursor}`, rounds)) });
  }
  client.close();
  return compared;
}

type Ask = (path: string) => Promise<{ readonly text: string; readonly milliseconds: number }>;

async function cursorAfter(ask: Ask, path: string, rows: number): Promise<string> {
  let cursor = '';
  for (let left = rows; left > 0; left -= strideSize) {
    const { text } = await ask(`${path}limit=${Math.min(left, strideSize)}&${cursor}`);
    const { meta } = JSON.parse(text) as { meta: { next_cursor?: string | null } };
    if (typeof meta.next_cursor !== 'string') throw new Error(`${path} has no ${rows} rows`);
    cursor = `cursor=${encodeURIComponent(meta.next_cursor)}`;
  }
  return cursor;
}

async function inTurn(ask: Ask, first: string, page: string, rounds: number) {
  const firsts: number[] = [];
  const pages: number[] = [];
  for (let round = 0; round < warmUps + rounds; round += 1) {
    const one = await ask(first);
    const other = await ask(page);
    if (round < warmUps) continue;
    firsts.push(one.milliseconds);
    pages.push(other.milliseconds);
  }
  return { firstMs: median(firsts), pageMs: median(pages) };
}
