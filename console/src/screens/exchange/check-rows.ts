// What an import would do, row by row, without doing it.

import type { Tallybook } from '@tallybook/client';
import { chunksOf, type Item } from '../../../../src/exchange/chunks.ts';
import { faultText } from '../../../../src/exchange/fault.ts';
import { findAll, finderOf } from '../../../../src/exchange/find.ts';
import { isRecordNoun, type Noun } from '../../../../src/exchange/nouns.ts';
import {
  countDifferences,
  type RowDifference,
  recordDifference,
} from '../../../../src/exchange/preview.ts';
import { RowReader, textAt } from '../../../../src/exchange/rows.ts';
import type { CountMoment } from '../../../../src/exchange/send-counts.ts';
import type { SheetRow } from '../../../../src/exchange/sheet.ts';
import { texts } from '../../texts.ts';
import type { Mapping } from './columns.ts';
import type { Source } from './source.ts';

export type Kind = 'created' | 'changed' | 'unchanged' | 'refused';

export interface RowResult {
  readonly line: number;
  readonly index: number;
  readonly kind: Kind;
  /** What it is called, and what changes, or why it is refused. */
  readonly text: string;
}

/** Where something was counted, and when: what moves behind it stays. */
export interface Counting {
  readonly location_id: string;
  readonly code: string | null;
  readonly reference: string;
  readonly counted_at: CountMoment;
}

export interface Wanted {
  readonly source: Source;
  readonly noun: Noun;
  readonly mapping: Mapping;
  /** Rows that name no record make a new one. */
  readonly add: boolean;
  /** Null: these are no counts. */
  readonly counting: Counting | null;
}

export interface Plan {
  readonly reader: RowReader;
  /** By which members records are found. */
  readonly finders: readonly string[];
  readonly good: readonly SheetRow[];
  readonly refused: readonly RowResult[];
}

/** Rows that are wrong in themselves are not sent. */
export function planOf({ source, noun, mapping, add, counting }: Wanted): Plan {
  const { header, rows } = source;
  const names = header.map((name, index) => mapping[index] || `${leftOut}${index} ${name}`);
  const map = Object.fromEntries(
    names.filter((name) => name.startsWith(leftOut)).map((name) => [name, '']),
  );
  const reader = new RowReader(noun, map, names);
  const finders = noun.finders.filter((name) => reader.has(name));
  const seen = new Map<string, number>();
  const good: SheetRow[] = [];
  const refused: RowResult[] = [];
  for (const row of rows) {
    const reasons = reasonsOf(row);
    if (reasons.length === 0) good.push(row);
    else {
      const { line, index } = row;
      refused.push({ line, index, kind: 'refused', text: reasons.join('; ') });
    }
  }
  return { reader, finders, good, refused };

  function reasonsOf(row: SheetRow): string[] {
    const body = reader.read(row);
    const faults = reader.faults(row, body).map((fault) => faultText({ ...fault, line: 0 }));
    if (faults.length > 0) return faults;
    const isNamed = finders.some((name) => textAt(body, name) !== undefined);
    if (!isNamed && !add) return [unnamedText(noun)];
    const code = counting === null ? undefined : textAt(body, 'location_code');
    if (code !== undefined && code !== counting?.code) return [texts.exchange.otherPlace(code)];
    return noun.unique.flatMap((name) => {
      const value = textAt(body, name);
      if (value === undefined) return [];
      const before = seen.get(`${name} ${value}`);
      if (before === undefined) seen.set(`${name} ${value}`, row.line);
      return before === undefined ? [] : [texts.exchange.repeated(name, before)];
    });
  }
}

function unnamedText({ name: noun, finders }: Noun): string {
  const { fields, or, unnamed, unnamedCount } = texts.exchange;
  const say = noun === 'counts' ? unnamedCount : unnamed;
  return say(finders.map((name) => fields[name] ?? name).join(or));
}

/** No field begins so. */
const leftOut = '\0';

export async function* rowsFrom(rows: readonly SheetRow[]): AsyncGenerator<SheetRow> {
  yield* rows;
}

/** Each row beside the record that it is found by. */
export async function checkRows(
  tb: Tallybook,
  { noun, counting }: Wanted,
  { reader, finders, good }: Plan,
  progress: (rows: number) => void,
  signal: AbortSignal,
): Promise<RowResult[]> {
  const results: RowResult[] = [];
  for await (const { items } of chunksOf(noun, reader, rowsFrom(good), 0)) {
    signal.throwIfAborted();
    const found = await findAll(tb, noun.name, finders, items, signal);
    const differences: readonly RowDifference[] = isRecordNoun(noun)
      ? items.map((item, place) => recordDifference(noun, item, found[place] ?? null))
      : await countDifferences(counting ?? { location_id: '' }, { tb, signal }, items, found);
    for (const [place, { kind, text }] of differences.entries()) {
      const item = items[place];
      if (item === undefined) continue;
      const { line, index } = item.row;
      results.push({ line, index, kind, text: `${nameOf(finders, item)}${text}` });
    }
    progress(results.length);
  }
  return results;
}

export function nameOf(finders: readonly string[], item: Item): string {
  const finder = finderOf(finders, item) ?? 'name';
  return `${textAt(item.body, finder) ?? ''}: `;
}
