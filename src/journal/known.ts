// A position that a request names means something in one journal only, the one that it came with.

import type { MerchantId } from '../core/principal.ts';
import { Problem } from '../core/problem.ts';
import type { Reader } from '../core/statement.ts';
import { findJournal, type Journal } from './store.ts';

/** What a request says of a place in the journal. */
export interface NamedPosition {
  /** The parameter that holds the position. */
  readonly parameter: string;
  readonly position: string | undefined;
  readonly journal: string | undefined;
}

/**
 * The journal of a merchant, when a position that a query names is one of it. Position 0 is in
 * every journal, and needs no name of one.
 * @throws Problem missing_parameter or journal_mismatch
 */
export async function journalOf(
  reader: Reader,
  merchant: MerchantId,
  named: NamedPosition,
): Promise<Journal> {
  const [found] = await reader.query(findJournal(merchant));
  if (found === undefined) throw new Error(`${merchant} has no journal`);
  requireKnown(found, named);
  return found;
}

/** The same of a journal that was read already. @throws Problem, the same */
export function requireKnown(
  found: Journal,
  { parameter, position = '0', journal }: NamedPosition,
): void {
  if (journal === undefined) {
    if (position === '0') return;
    const message = `is required with ${parameter}`;
    throw new Problem('missing_parameter', {
      details: [{ field: 'query.journal', code: 'required', message }],
    });
  }
  const wrong = mismatchOf(found, { parameter, position, journal });
  if (wrong !== undefined) throw mismatch(wrong.parameter, wrong.message);
}

/** What of a named position does not belong to a journal, in a query or a body. */
export function mismatchOf(
  found: Journal,
  { parameter, position = '0', journal }: NamedPosition,
): { readonly parameter: string; readonly message: string } | undefined {
  if (journal !== undefined && journal !== found.id) {
    return { parameter: 'journal', message: 'is not the journal of this merchant' };
  }
  if (Number(position) <= found.last) return undefined;
  return { parameter, message: 'is beyond the end of the journal' };
}

export function mismatch(parameter: string, message: string): Problem {
  return new Problem('journal_mismatch', {
    details: [{ field: `query.${parameter}`, code: 'journal_mismatch', message }],
  });
}
