// Reads the audit trail: the newest records for a person, all of them for an export. It walks over
// the chain a bounded range at a time, so that millions of records never are in memory and no
// statement is long.

import type { Reader } from '../../core/statement.ts';
import { type AuditFilter, type AuditRecord, searchAudit } from './store.ts';

/** A range of this many records takes some 60 ms to search and is about 2 MB. */
const rangeSizeDefault = 5_000;

/** The newest records that are wanted, the newest last. */
export async function newestRecords(
  reader: Reader,
  filter: AuditFilter,
  limit: number,
): Promise<AuditRecord[]> {
  const found: AuditRecord[] = [];
  for await (const records of search(reader, 'down', filter, rangeSizeDefault)) {
    found.push(...records.slice(0, limit - found.length));
    if (found.length === limit) break;
  }
  return found.reverse();
}

/** All records that are wanted, in the order of the chain, some at a time. */
export function allRecords(
  reader: Reader,
  filter: AuditFilter,
  rangeSize = rangeSizeDefault,
): AsyncGenerator<readonly AuditRecord[]> {
  return search(reader, 'up', filter, rangeSize);
}

async function* search(
  reader: Reader,
  way: 'up' | 'down',
  filter: AuditFilter,
  rangeSize: number,
): AsyncGenerator<readonly AuditRecord[]> {
  let from: AuditRecord | undefined;
  for (;;) {
    const rows = await reader.query(searchAudit(way, from, filter, rangeSize));
    const records = rows
      .filter((row) => row.is_wanted)
      .map(({ is_wanted: _, ...record }) => record);
    if (records.length > 0) yield records;
    from = rows.at(-1);
    if (from === undefined) return;
  }
}

/**
 * A record as one line of JSON: the line as it is stored, with its hash as one more member at the
 * end. Whoever takes that member off again has the very text that the hash was made from.
 */
export function exportedLine({ line, hash }: AuditRecord): string {
  return `${line.replace(/\}$/, '')},"hash":"${hash}"}`;
}
