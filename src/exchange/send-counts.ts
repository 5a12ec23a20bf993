// Rows that are lines of counts. A count is done as a whole or not at all: one that is refused is
// sent again without the lines that were refused.

import {
  type InventoryCount,
  type InventoryCountBody,
  RefusedError,
  type Tallybook,
} from '@tallybook/client';
import type { Chunk, Item } from './chunks.ts';
import { findAll } from './find.ts';
import { textAt } from './rows.ts';
import { type Plan, type RowOutcome, reasonOf, type Sender, type Sending } from './sender.ts';

/** Where the journal is: what moves behind it is added to what was counted before. */
export interface CountMoment {
  readonly position: string;
  readonly journal: string;
}

/** Now, at this location. */
export async function countMoment(
  tb: Tallybook,
  location_id: string,
  signal: AbortSignal,
): Promise<CountMoment> {
  const query = { location_id, as_of: 'now', limit: 1 };
  const { meta } = await tb.inventory.levels.list(query, { signal });
  const { as_of_position: position, journal } = meta;
  if (position === undefined || journal === undefined) throw new Error('the levels have no moment');
  return { position, journal };
}

interface CountRun {
  /** Part of every key. */
  readonly run: string;
  readonly counted_at: CountMoment | null;
}

export interface CountTarget {
  readonly location_id: string;
  readonly reference: string | undefined;
  readonly note: string | undefined;
}

export class CountSender implements Sender {
  readonly #connection: Sending;
  readonly #target: CountTarget;
  /** The columns that products are found by, the first first. */
  readonly #finders: readonly string[];
  readonly #run: CountRun;

  constructor(connection: Sending, target: CountTarget, finders: readonly string[], run: CountRun) {
    this.#connection = connection;
    this.#target = target;
    this.#finders = finders;
    this.#run = run;
  }

  async plan({ items }: Chunk): Promise<Plan> {
    const ids = await productIds(this.#connection, this.#finders, items);
    const missing = ids.flatMap((id, place) =>
      id === null ? [[place, 'no product has this ID']] : [],
    );
    const first = new Map<string, number>();
    const twice = ids.flatMap((id, place) => {
      const before = id === null ? undefined : first.get(id);
      if (id !== null && before === undefined) first.set(id, place);
      return before === undefined
        ? []
        : [[place, `is the product of line ${items[before]?.row.line}`]];
    });
    return { ids, refused: Object.fromEntries([...missing, ...twice]), attempt: 0 };
  }

  async send(
    { first, items }: Chunk,
    plan: Plan | undefined,
    keep: (plan: Plan) => Promise<void>,
  ): Promise<RowOutcome[]> {
    if (plan === undefined) throw new Error('a count has a plan');
    const { ids, refused = {}, attempt = 0 } = plan;
    const places = items.map((_, place) => place).filter((place) => refused[place] === undefined);
    if (places.length === 0) return outcomesOf(items, refused, new Map());
    const body = this.#bodyOf(items, ids, places);
    const idempotencyKey = `${this.#run.run}-from-${first}-try-${attempt}`;
    const { tb, signal } = this.#connection;
    try {
      const { data } = await tb.inventory.counts.create(body, { idempotencyKey, signal });
      const changes = new Map(data.lines.map((line, index) => [places[index] ?? 0, line]));
      return outcomesOf(items, refused, changes);
    } catch (error) {
      if (!(error instanceof RefusedError)) throw error;
      const more = refusedLines(error, places);
      if (Object.keys(more).length === 0) throw new Error(reasonOf(error));
      const next = { ids, refused: { ...refused, ...more }, attempt: attempt + 1 };
      await keep(next);
      return this.send({ first, items }, next, keep);
    }
  }

  /** What has moved since the run began is added to what was counted. */
  #bodyOf(items: readonly Item[], ids: Plan['ids'], places: readonly number[]): InventoryCountBody {
    const { location_id, reference, note } = this.#target;
    const { counted_at } = this.#run;
    return {
      location_id,
      reference: reference ?? null,
      note: note ?? null,
      counted_at_position: counted_at?.position ?? null,
      journal: counted_at?.journal ?? null,
      lines: places.map((place) => {
        const body = items[place]?.body ?? {};
        const expected = textAt(body, 'expected_quantity');
        return {
          product_id: ids[place] ?? '',
          counted_quantity: textAt(body, 'counted_quantity') ?? '',
          ...(expected === undefined ? {} : { expected_quantity: expected }),
        };
      }),
    };
  }
}

async function productIds(
  { tb, signal }: Sending,
  finders: readonly string[],
  items: readonly Item[],
): Promise<(string | null)[]> {
  const others = finders.filter((name) => name !== 'product_id');
  const found = await findAll(tb, 'counts', others, items, signal);
  return items.map(({ body }, place) => found[place]?.id ?? textAt(body, 'product_id') ?? null);
}

/** The reasons of the lines that a refusal names, by their place among the items. */
function refusedLines(error: RefusedError, places: readonly number[]): Record<string, string> {
  const reasons: Record<string, string> = {};
  for (const detail of error.details) {
    const [, line] = /^lines\.([0-9]+)\./.exec(detail.field ?? '') ?? [];
    const place = line === undefined ? undefined : places[Number(line)];
    if (place !== undefined) reasons[place] = `${detail.code}: ${detail.message}`;
  }
  return reasons;
}

function outcomesOf(
  items: readonly Item[],
  refused: Readonly<Record<string, string>>,
  changes: ReadonlyMap<number, InventoryCount['lines'][number]>,
): RowOutcome[] {
  return items.map((_, place) => {
    const reason = refused[place];
    if (reason !== undefined) return { kind: 'refused', reason };
    const line = changes.get(place);
    if (line?.outcome !== 'changed') return { kind: 'unchanged' };
    return { kind: 'changed', text: `${line.quantity_before} → ${line.quantity_after}` };
  });
}
