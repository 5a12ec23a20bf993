// Looks records up by what a file calls them.

import type { Tallybook } from '@tallybook/client';
import { limits } from '../core/limits.ts';
import type { Item } from './chunks.ts';
import type { NounName } from './nouns.ts';
import { textAt } from './rows.ts';

/** As answers show it. */
export type FoundRecord = Readonly<Record<string, unknown>> & { readonly id: string };

/** The member that a row is found by: the first that it has. */
export function finderOf(finders: readonly string[], { body }: Item): string | undefined {
  return finders.find((name) => textAt(body, name) !== undefined);
}

/** What was found for each item, by the finders in their order; null: nothing. */
export async function findAll(
  tb: Tallybook,
  noun: NounName,
  finders: readonly string[],
  items: readonly Item[],
  signal: AbortSignal,
): Promise<(FoundRecord | null)[]> {
  const found: (FoundRecord | null)[] = items.map(() => null);
  for (const finder of finders) {
    const places = items.flatMap((item, place) =>
      finderOf(finders, item) === finder ? [place] : [],
    );
    const nameAt = (place: number) => textAt(items[place]?.body ?? {}, finder) ?? '';
    const byValue = await findBy(tb, noun, finder, places.map(nameAt), signal);
    for (const place of places) found[place] = byValue.get(nameAt(place)) ?? null;
  }
  return found;
}

/** The ID of a location. @throws Error when none has this code. */
export async function locationByCode(
  tb: Tallybook,
  code: string,
  signal: AbortSignal,
): Promise<string> {
  const { data } = await tb.locations.list({ code }, { signal });
  const [first] = data;
  if (first === undefined) throw new Error(`there is no location with the code ${code}`);
  return first.id;
}

/** An URL has 8 KiB; a value takes up to three times its bytes. */
const urlBytesMax = 7_000;

async function findBy(
  tb: Tallybook,
  noun: NounName,
  finder: string,
  values: readonly string[],
  signal: AbortSignal,
): Promise<Map<string, FoundRecord>> {
  const found = new Map<string, FoundRecord>();
  const name = noun === 'counts' ? 'products' : noun;
  const list = (query: object) =>
    (tb[name].list as (query: object, options: object) => AsyncIterable<unknown>)(query, {
      signal,
    });
  // Locations are few, and cannot be asked for by many codes.
  const groups = name === 'locations' ? [undefined] : groupsOf(finder, values);
  const read = async (group: readonly string[] | undefined) => {
    const query = group === undefined ? {} : { [finder]: group, limit: limits.pageSizeMax };
    for await (const record of list(query)) {
      found.set(String(Object(record)[finder]), record as FoundRecord);
    }
  };
  await Promise.all(groups.map(read));
  return found;
}

function groupsOf(finder: string, values: readonly string[]): string[][] {
  const groups: string[][] = [];
  let bytes = urlBytesMax;
  for (const value of values) {
    const size = finder.length + 2 + new URLSearchParams({ v: value }).toString().length;
    const last = groups.at(-1);
    const isFull = bytes + size > urlBytesMax || last?.length === limits.filterValuesMax;
    if (last === undefined || isFull) groups.push([value]);
    else last.push(value);
    bytes = last === undefined || isFull ? size : bytes + size;
  }
  return groups;
}
