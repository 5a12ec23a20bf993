// Proves that the audit trail is the one that was written: recomputes every hash from the line and
// the hash before it, in the order of days and numbers, and names the first record that does not
// fit. What was appended since it began is not looked at, so that it ends on a busy service.

import type { Reader } from '../../core/statement.ts';
import { type ChainFault, endFault, hashMissing, recordFault } from './faults.ts';
import { chainStart, comparePlaces, isNext, linkOf } from './link.ts';
import {
  type AuditRecord,
  type ChainEnd,
  findChainEnd,
  type Position,
  walkChain,
} from './store.ts';

export interface ChainReport {
  readonly ok: boolean;
  /** How many records are sound, from the first one on. */
  readonly records: number;
  /** The last of them. Whoever keeps its hash elsewhere can tell a trail that was made anew. */
  readonly last: (Position & { readonly hash: string }) | null;
  readonly fault: ChainFault | null;
}

/** A range of this many records takes some 30 ms and is about 1 MB. */
const rangeSizeDefault = 2_000;

/**
 * @param options.expect a hash that was kept elsewhere: the chain must lead through it.
 * @throws DatabaseFailure
 */
export async function verifyChain(
  reader: Reader,
  options: { readonly expect?: string | undefined; readonly rangeSize?: number } = {},
): Promise<ChainReport> {
  const { expect, rangeSize = rangeSizeDefault } = options;
  const [end] = await reader.query(findChainEnd());
  const chain = walk(reader, end, rangeSize);
  let before = chainStart;
  let last = chainStart;
  let records = 0;
  let isMet = expect === undefined;
  let fault: ChainFault | undefined;
  for (let step = await chain.next(); step.done !== true; step = await chain.next()) {
    const record = step.value;
    if (!isNext(last, record)) {
      const next = await chain.next();
      fault = recordFault({ before, last, record, next: next.done ? undefined : next.value });
      break;
    }
    before = last;
    last = linkOf(record);
    records += 1;
    isMet ||= record.hash === expect;
  }
  fault ??= endFault(last, end);
  if (!isMet && expect !== undefined) fault ??= hashMissing(expect);
  const { place, hash } = last;
  return {
    ok: fault === undefined,
    records,
    last: place === undefined ? null : { ...place, hash },
    fault: fault ?? null,
  };
}

/** The records up to the end as it was. Without an end, all there are. */
async function* walk(
  reader: Reader,
  end: ChainEnd | undefined,
  rangeSize: number,
): AsyncGenerator<AuditRecord, undefined> {
  if (end?.day === null) return;
  const place = end === undefined ? undefined : { day: end.day, number: end.number };
  let after: AuditRecord | undefined;
  for (;;) {
    const rows = await reader.query(walkChain(after, rangeSize));
    for (const row of rows) {
      if (place !== undefined && comparePlaces(row, place) > 0) return;
      yield row;
    }
    after = rows.at(-1);
    if (after === undefined) return;
  }
}
