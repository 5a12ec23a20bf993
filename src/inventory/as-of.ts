// Levels as of a moment: which position of the journal a query means, and how all pages of one walk
// show the same. The cursor of such a walk holds the position, with the journal that it is of.

import { type ByColumn, rowsOf } from '../contract/columns.ts';
import { type Page, type PageRequest, takePage } from '../contract/page.ts';
import type { MerchantId } from '../core/principal.ts';
import { type Detail, Problem } from '../core/problem.ts';
import type { Reader, Statement } from '../core/statement.ts';
import { journalOf, mismatch, requireKnown } from '../journal/known.ts';
import { hasSettled, lastPositionAt } from '../journal/store.ts';

/** What a query says of the moment. */
export interface MomentQuery {
  readonly as_of_position?: string;
  readonly as_of?: string;
  readonly journal?: string;
  readonly updated_after?: string;
  readonly low_stock?: string;
}

/** What the statement of a page says beside its rows: the journal as it is when it is read. */
export interface SeenJournal {
  readonly journal: string;
  /** The last position. */
  readonly last: number;
  /** The key of the last row that was looked at, when the page ends there. */
  readonly looked_to?: string | null;
}

/** Where a walk goes on, and the moment that it shows. */
export interface WalkAsOf {
  /** Undefined: the end of the journal. */
  readonly position: string | undefined;
  readonly after: string | undefined;
}

export const isAsOf = ({ as_of, as_of_position }: MomentQuery): boolean =>
  as_of !== undefined || as_of_position !== undefined;

/** At most one moment, and no filter that only the present knows. */
export function momentFaults(query: MomentQuery): Detail[] {
  const { as_of, as_of_position, updated_after, low_stock } = query;
  if (!isAsOf(query)) return [];
  const named = { as_of, as_of_position, updated_after, low_stock };
  const given = Object.entries(named).flatMap(([name, value]) =>
    value === undefined ? [] : [name],
  );
  if (given.length === 1) return [];
  return given.map((name) => ({
    field: `query.${name}`,
    code: 'value_not_allowed',
    message: `cannot be given with ${given.filter((other) => other !== name).join(', ')}`,
  }));
}

/**
 * A page of what is as of the moment that the query means, or that the cursor holds. The journal is
 * read by the statement of the page, which spares a query of its own.
 * @throws Problem invalid_parameter, missing_parameter or journal_mismatch
 */
export async function pageAsOf<Row extends object, Item>(
  reader: Reader,
  merchant: MerchantId,
  { query, page }: { readonly query: MomentQuery; readonly page: PageRequest },
  statementOf: (walk: WalkAsOf) => Statement<ByColumn<Row> & SeenJournal>,
  { key, present }: { key: (row: Row) => string; present: (row: Row) => Item },
): Promise<Page<Item>> {
  const reached = page.after === undefined ? undefined : openWalk(page.after);
  const position = reached?.position ?? (await positionOf(reader, merchant, query));
  const [answer] = await reader.query(statementOf({ position, after: reached?.after }));
  if (answer === undefined) throw new Error(`${merchant} has no journal`);
  const { journal: id, last, looked_to, ...columns } = answer;
  if (reached !== undefined && reached.journal !== id) {
    throw mismatch('cursor', 'is of another journal');
  }
  const { as_of_position, journal } = query;
  const named = { parameter: 'as_of_position', position: as_of_position, journal };
  requireKnown({ id, last }, named);
  const shown = position ?? String(last);
  const rows = rowsOf<Row>([columns as unknown as ByColumn<Row>]);
  const { items, next } = takePage(rows, page, key, present);
  const end = next ?? looked_to ?? undefined;
  return {
    items,
    next: end === undefined ? undefined : `${shown}.${id}.${end}`,
    meta: { as_of_position: shown, journal: id },
  };
}

/** Who names a journal learns that a restore has renewed it, also without a position. */
export async function requireJournal(
  reader: Reader,
  merchant: MerchantId,
  { journal }: MomentQuery,
): Promise<void> {
  if (journal === undefined) return;
  await journalOf(reader, merchant, { parameter: 'as_of_position', position: undefined, journal });
}

function openWalk(cursor: string) {
  const [position = '', journal = '', ...after] = cursor.split('.');
  return { position, journal, after: after.join('.') };
}

/** Undefined: the end of the journal, which the statement of the page reads. */
async function positionOf(
  reader: Reader,
  merchant: MerchantId,
  { as_of, as_of_position }: MomentQuery,
): Promise<string | undefined> {
  if (as_of === undefined || as_of === 'now') return as_of_position;
  // First, on its own: a statement sees what had committed when it began, and reads times later.
  const [time] = await reader.query(hasSettled(as_of));
  if (time?.has_settled !== true) {
    const message = 'must be at least 5 seconds ago, or "now"';
    throw new Problem('invalid_parameter', {
      details: [{ field: 'query.as_of', code: 'value_not_allowed', message }],
    });
  }
  const [found] = await reader.query(lastPositionAt(merchant, as_of, 'at'));
  return String(found?.position ?? 0);
}
