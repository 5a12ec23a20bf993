// The rows of a file in lists that fit one request each. They are the same at every reading,
// wherever reading begins, because a list ends by what is in it.

import { type JsonObject, valuesIn } from '../contract/json.ts';
import { limits } from '../core/limits.ts';
import { isRecordNoun, type Noun } from './nouns.ts';
import type { RowReader } from './rows.ts';
import type { Sheet, SheetRow } from './sheet.ts';

export interface Item {
  readonly row: SheetRow;
  readonly body: JsonObject;
}

export interface Chunk {
  /** The index of its first row. */
  readonly first: number;
  readonly items: readonly Item[];
}

/** A request has up to 1 MiB; the rest is for keys and names. */
const bytesMax = 900_000;
const valuesMax = limits.batchValuesMax - 10 * limits.batchItemsMax;

const encoder = new TextEncoder();
const bytesOf = (text: string) => encoder.encode(text).length;

export async function* chunksOf(
  noun: Noun,
  reader: RowReader,
  rows: Sheet['rows'],
  from: number,
): AsyncGenerator<Chunk> {
  const most = isRecordNoun(noun) ? limits.batchItemsMax : limits.countLinesMax;
  let items: Item[] = [];
  let bytes = 0;
  let values = 0;
  for await (const row of rows) {
    if (row.index < from) continue;
    const body = reader.read(row);
    const [size, parts] = [bytesOf(JSON.stringify(body)), valuesIn(body)];
    const isFull = items.length === most || bytes + size > bytesMax || values + parts > valuesMax;
    if (isFull && items.length > 0) {
      yield { first: items[0]?.row.index ?? 0, items };
      items = [];
      bytes = 0;
      values = 0;
    }
    items.push({ row, body });
    bytes += size;
    values += parts;
  }
  if (items.length > 0) yield { first: items[0]?.row.index ?? 0, items };
}
