// Levels as of a moment: which position of the journal a query means, and how all pages of one walk
// show the same. The cursor of such a walk holds the position, with the journal that it is of.

import { rowsOf } from '../contract/columns.ts';
import { type Page, type PageRequest, takePage } from '../contract/page.ts';
import type { MerchantId } from '../core/principal.ts';
import { type Detail, Problem } from '../core/problem.ts';
import type { Reader, Statement } from '../core/statement.ts';
import { mismatch, requireKnown } from '../journal/known.ts';
import { hasSettled, lastPositionAt } from '../journal/store.ts';
import type { LevelsAsOf } from './as-of-store.ts';
import type { LevelRow } from './ledger.ts';

/** What a query says of the moment. */
export interface MomentQuery {
  readonly as_of_position?: string;
  readonly as_of?: string;
  readonly journal?: string;
  readonly updated_after?: string;
}

type ShownLevel = Omit<LevelRow, 'first_position'>;

export const isAsOf = ({ as_of, as_of_position }: MomentQuery): boolean =>
  as_of !== undefined || as_of_position !== undefined;

/** At most one moment, and no filter that only the present knows. */
export function momentFaults(query: MomentQuery): Detail[] {
  const { as_of, as_of_position, updated_after } = query;
  if (!isAsOf(query)) return [];
  const named = { as_of, as_of_position, updated_after };
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
 * A page of levels as of the moment that the query means, or that the cursor holds. The journal is
 * read by the statement of the page, which spares a query of its own.
 * @throws Problem invalid_parameter, missing_parameter or journal_mismatch
 */
export async function pageAsOf<Item>(
  reader: Reader,
  merchant: MerchantId,
  { query, page }: { readonly query: MomentQuery; readonly page: PageRequest },
  statementOf: (walk: {
    readonly position: string | undefined;
    readonly after: string | undefined;
  }) => Statement<LevelsAsOf>,
  { key, present }: { key: 'product_id' | 'location_id'; present: (row: ShownLevel) => Item },
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
  const rows = rowsOf<ShownLevel>([columns]);
  const { items, next } = takePage(rows, page, (row) => row[key], present);
  const end = next ?? looked_to;
  return {
    items,
    next: end === null ? undefined : `${shown}.${id}.${end}`,
    meta: { as_of_position: shown, journal: id },
  };
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
