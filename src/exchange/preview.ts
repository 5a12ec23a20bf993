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
import type { CountMoment } from './send-counts.ts';
import type { Sending } from './sender.ts';
import type { Sheet } from './sheet.ts';

interface CountsAsked {
  readonly location_id: string | undefined;
  /** When it was counted; undefined: now. */
  readonly counted_at?: CountMoment;
}

interface Asked extends CountsAsked {
  readonly file: { table(): Promise<Sheet> };
  readonly noun: Noun;
  readonly map: ColumnMap;
  readonly finders: readonly string[];
}

export interface Preview {
  readonly rows: number;
  created: number;
  changed: number;
  unchanged: number;
  /** Counts of what is not there, or was not as expected; new records without a name. */
  refused: number;
}

export interface RowDifference {
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
): RowDifference {
  if (found === null) {
    const missing = missingIn(noun, body);
    if (missing.length === 0) return { kind: 'created', text: 'new' };
    return { kind: 'refused', text: `new, and has no ${missing.join(', nor ')}` };
  }
  const changes = Object.entries(body).flatMap(([name, value]) => {
    const [before, after] = [found[name], meantBy(noun, name, value, found[name])];
    return isEqual(before, after) ? [] : [`${name} ${shown(before)} → ${shown(after)}`];
  });
  return changes.length === 0
    ? { kind: 'unchanged', text: '' }
    : { kind: 'changed', text: changes.join(', ') };
}

/** What a new record needs, and a change does not. */
function missingIn({ resource }: RecordNoun, body: Item['body']): string[] {
  const { required = [] } = resource.createBody as { readonly required?: readonly string[] };
  return required.filter((name) => (body[name] ?? null) === null);
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

/** Each line beside the level that was there when it was counted. */
export async function countDifferences(
  { location_id = '', counted_at }: CountsAsked,
  { tb, signal }: Sending,
  items: readonly Item[],
  found: readonly (FoundRecord | null)[],
): Promise<RowDifference[]> {
  const ids = items.map(({ body }, place) => found[place]?.id ?? textAt(body, 'product_id'));
  const known = ids.filter((id) => id !== undefined);
  const levels = new Map<string, string>();
  const at =
    counted_at === undefined
      ? {}
      : { as_of_position: counted_at.position, journal: counted_at.journal };
  for (let from = 0; from < known.length; from += limits.productFiltersMax) {
    const product_id = known.slice(from, from + limits.productFiltersMax);
    const query = { location_id, product_id, ...at, limit: limits.pageSizeMax };
    for await (const level of tb.inventory.levels.list(query, { signal })) {
      levels.set(level.product_id, level.quantity);
    }
  }
  return items.map(({ body }, place): RowDifference => {
    const id = ids[place];
    if (id === undefined) return { kind: 'refused', text: 'no product has this ID' };
    const [before, after] = [levels.get(id) ?? '0', textAt(body, 'counted_quantity') ?? '0'];
    const expected = textAt(body, 'expected_quantity');
    if (expected !== undefined && Quantity.compare(before, expected) !== 0) {
      return { kind: 'refused', text: `${expected} was expected, and ${before} was there` };
    }
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
