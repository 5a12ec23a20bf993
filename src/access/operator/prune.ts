// Pruning: credentials that were not used for a year are revoked, and what OAuth has left behind
// is removed. It can run beside a working service, at any time: each credential is revoked in its
// own transaction, with its line in the audit trail, and only if it is still unused then.

import type { MerchantId } from '../../core/principal.ts';
import { DatabaseFailure, type Reader, type Statement, type Writer } from '../../core/statement.ts';
import { type Connections, commitAll, transact } from '../transact.ts';
import { allRows } from './all-rows.ts';
import { allMerchants } from './merchants.ts';
import {
  countEndedRecords,
  countEndedTokens,
  listUnused,
  removeEndedRecords,
  removeEndedTokens,
  revokeUnused,
  type UnusedCredential,
} from './prune-store.ts';

export type Unused = UnusedCredential;

export interface Pruning {
  /** What was revoked or, in a dry run, what would be. */
  readonly revoked: readonly Unused[];
  /** OAuth access tokens that had ended. */
  readonly removedTokens: number;
  /** Codes, refresh tokens and requests of OAuth that had ended. */
  readonly removedRecords: number;
}

/** A batch ends long before the time-out of a request that waits for one of its rows. */
const removedPerBatchMax = 1_000;

/** What pruning would do now. */
export async function previewPruning(reader: Reader): Promise<Pruning> {
  const revoked: Unused[] = [];
  let removedTokens = 0;
  for await (const { id } of allMerchants(reader)) {
    for await (const credential of unusedOf(reader, id)) revoked.push(credential);
    removedTokens += await counted(reader, countEndedTokens(id));
  }
  return { revoked, removedTokens, removedRecords: await counted(reader, countEndedRecords()) };
}

export async function prune({ reader, writer }: Connections): Promise<Pruning> {
  const revoked: Unused[] = [];
  let removedTokens = 0;
  for await (const { id } of allMerchants(reader)) {
    for await (const credential of unusedOf(reader, id)) {
      if (await revokeOne(writer, id, credential)) revoked.push(credential);
    }
    removedTokens += await removeAll(writer, (limit) => removeEndedTokens(id, limit));
  }
  const removedRecords = await removeAll(writer, removeEndedRecords);
  return { revoked, removedTokens, removedRecords };
}

function unusedOf(reader: Reader, merchant: MerchantId): AsyncGenerator<Unused> {
  return allRows(reader, (after, limit) => listUnused(merchant, after, limit));
}

/** Whether it was still unused. If not, nothing is done and no line is written. */
async function revokeOne(writer: Writer, merchant: MerchantId, one: Unused): Promise<boolean> {
  const { id, created_at, last_used_at } = one;
  const entry = { action: 'token.prune', merchant_id: merchant, credential_id: id };
  try {
    await transact(writer, { ...entry, created_at, last_used_at }, [revokeUnused(merchant, id)]);
    return true;
  } catch (error) {
    if (error instanceof DatabaseFailure && error.sqlstate === assertFailure) return false;
    throw error;
  }
}

const assertFailure = 'P0004';

/** Without a line of the audit trail, because removing what has ended changes no access. */
async function removeAll(
  writer: Writer,
  batch: (limit: number) => Statement<{ readonly count: number }>,
): Promise<number> {
  let total = 0;
  for (;;) {
    const [rows] = await commitAll(writer, [batch(removedPerBatchMax)]);
    const [removed] = (rows ?? []) as readonly { readonly count: number }[];
    const count = removed?.count ?? 0;
    total += count;
    if (count < removedPerBatchMax) return total;
  }
}

async function counted(
  reader: Reader,
  statement: Statement<{ readonly count: number }>,
): Promise<number> {
  const [row] = await reader.query(statement);
  return row?.count ?? 0;
}
