// What an import would change, without changing it: each row beside the record that it is found
// by.

import { Quantity } from '@tallybook/client';
import type { JsonValue } from '../contract/json.ts';
import { limits } from '../core/limits.ts';
import { chunksOf, type Item } from './chunks.ts';
import { type FoundRecord, findAll, finderOf } from './find.ts';
import type { ColumnMap } from './header.ts';
import { isRecordNoun, type Noun, type RecordNoun } from './nouns.ts';
import { RowReader, textAt } from './rows.ts';
import type { Sending } from './sender.ts';
import type { Sheet } from './sheet.ts';

interface Asked {
  readonly file: { table(): Promise<Sheet> };
  readonly noun: Noun;
  readonly map: ColumnMap;
  readonly finders: readonly string[];
  readonly location_id: string | undefined;
}

export interface Preview {
  readonly rows: number;
  created: number;
  changed: number;
  unchanged: number;
  /** Of counts: rows whose product is not there. */
  refused: number;
}

interface Difference {
  readonly kind: keyof Omit<Preview, 'rows'>;
  readonly text: string;
}

interface Watcher extends Sending {
  progress(rows: number): void;
}

/** @param show hears of every row that would change something. */
export async function preview(
  asked: Asked,
  around: Watcher,
  show: (line: string) => void,
): Promise<Preview> {
  const { file, noun, map, finders } = asked;
  const { header, rows } = await file.table();
  const reader = new RowReader(noun, map, header);
  const counted = { created: 0, changed: 0, unchanged: 0, refused: 0 };
  let done = 0;
  for await (const { items } of chunksOf(noun, reader, rows, 0)) {
    around.signal.throwIfAborted();
    const found = await findAll(around.tb, noun.name, finders, items, around.signal);
    const differences = isRecordNoun(noun)
      ? items.map((item, place) => recordDifference(noun, item, found[place] ?? null))
      : await countDifferences(asked, around, items, found);
    for (const [place, { kind, text }] of differences.entries()) {
      counted[kind] += 1;
      const item = items[place];
      if (kind === 'unchanged' || item === undefined) continue;
      show(`line ${item.row.line}: ${nameOf(finders, item)}${text}`);
    }
    done += items.length;
    around.progress(done);
  }
  return { rows: done, ...counted };
}

function nameOf(finders: readonly string[], item: Item): string {
  const finder = finderOf(finders, item);
  return finder === undefined ? '' : `${finder} ${textAt(item.body, finder)}: `;
}

export function recordDifference(
  noun: RecordNoun,
  { body }: Item,
  found: FoundRecord | null,
): Difference {
  if (found === null) return { kind: 'created', text: 'new' };
  const changes = Object.entries(body).flatMap(([name, value]) => {
    const [before, after] = [found[name], meantBy(noun, name, value, found[name])];
    return isEqual(before, after) ? [] : [`${name} ${shown(before)} → ${shown(after)}`];
  });
  return changes.length === 0
    ? { kind: 'unchanged', text: '' }
    : { kind: 'changed', text: changes.join(', ') };
}

/** What a member is after a PATCH with this value. */
function meantBy(
  { resource }: RecordNoun,
  name: string,
  value: JsonValue,
  before: unknown,
): unknown {
  if (value === null) return name in resource.defaults ? resource.defaults[name] : null;
  if (name === 'metadata') return mergedPairs(Object(before), Object(value));
  const isQuantity = resource.members[name]?.isQuantity === true;
  return isQuantity ? Quantity.add(String(value), '0') : value;
}

function mergedPairs(before: object, patch: object): object {
  const pairs = Object.entries({ ...before, ...patch });
  return Object.fromEntries(pairs.filter(([, value]) => value !== null));
}

async function countDifferences(
  { location_id = '' }: Asked,
  { tb, signal }: Sending,
  items: readonly Item[],
  found: readonly (FoundRecord | null)[],
): Promise<Difference[]> {
  const ids = items.map(({ body }, place) => found[place]?.id ?? textAt(body, 'product_id'));
  const known = ids.filter((id) => id !== undefined);
  const levels = new Map<string, string>();
  for (let from = 0; from < known.length; from += limits.productFiltersMax) {
    const product_id = known.slice(from, from + limits.productFiltersMax);
    const query = { location_id, product_id, limit: limits.pageSizeMax };
    for await (const level of tb.inventory.levels.list(query, { signal })) {
      levels.set(level.product_id, level.quantity);
    }
  }
  return items.map(({ body }, place): Difference => {
    const id = ids[place];
    if (id === undefined) return { kind: 'refused', text: 'no product has this ID' };
    const [before, after] = [levels.get(id) ?? '0', textAt(body, 'counted_quantity') ?? '0'];
    return Quantity.compare(before, after) === 0
      ? { kind: 'unchanged', text: '' }
      : { kind: 'changed', text: `${before} → ${after}` };
  });
}

const shown = (value: unknown) => JSON.stringify(value ?? null);

/** Objects of the interface are equal whatever the order of their members. */
function isEqual(a: unknown, b: unknown): boolean {
  return sorted(a) === sorted(b);
}

const sorted = (value: unknown): string =>
  JSON.stringify(value ?? null, (_, inner) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
