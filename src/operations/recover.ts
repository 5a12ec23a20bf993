// What happens when a batch fails. No write pays for another one's fault: a batch is run again or
// halved until the culprit is alone, always with the same operation IDs, so that a commit whose
// answer was lost is found instead of repeated.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Operation, Write } from '../contract/endpoint.ts';
import { limits } from '../core/limits.ts';
import { overloaded, Problem, retryLater } from '../core/problem.ts';
import { DatabaseFailure, type Writer } from '../core/statement.ts';
import { type Performed, runBatch } from './batch.ts';
import { findOperations, keyOf, keyOfOperation } from './keys.ts';

/** `alone`: not run, because its batch of several merchants timed out; to be run without others. */
export type Settle = (write: Write, result: Performed | Problem | 'alone') => void;

/** A part of a batch that is still to be run. */
interface Part {
  readonly writes: readonly Write[];
  readonly attempt: number;
  readonly lockTimeout: number | undefined;
}

/**
 * Runs a batch until every write is settled, with its operation or with a Problem.
 *
 * | failure | what is done |
 * | --- | --- |
 * | a key was taken meanwhile | those that are bound are replays, the others run again |
 * | conflict | the same batch again, at most twice; then each half like a batch; alone: 503 |
 * | connection lost | the same batch again, at most twice; then 503 for all |
 * | refused, a bug | halved until the culprit is alone: 500 for it |
 * | damaged | the same, but 503 |
 * | lock or statement time-out, several merchants | after a short wait: each merchant alone |
 * | lock or statement time-out | halved, with short waits; alone: 503 operation_in_progress |
 * | server away | 503 for all |
 *
 * Halves are run after all other parts, so that the writes that can be served are, before the
 * search for the culprit goes on.
 */
export async function settleBatch(
  writer: Writer,
  writes: readonly Write[],
  settle: Settle,
): Promise<void> {
  const lockTimeout = isShared(writes) ? limits.sharedLockTimeout : undefined;
  const parts: Part[] = [{ writes, attempt: 0, lockTimeout }];
  for (let part = parts.shift(); part !== undefined; part = parts.shift()) {
    const live = dropExpired(part.writes, settle);
    if (live.length === 0) continue;
    try {
      const performed = await runBatch(writer, live, part.lockTimeout);
      for (const [index, write] of live.entries()) {
        const one = performed[index];
        if (one !== undefined) settle(write, one);
      }
    } catch (error) {
      const failed = { ...part, writes: live };
      parts.push(...(await aftermath(writer, failed, error, settle)));
    }
  }
}

function isShared(writes: readonly Write[]): boolean {
  return writes.some(({ merchant }) => merchant !== writes[0]?.merchant);
}

function dropExpired(writes: readonly Write[], settle: Settle): Write[] {
  const now = performance.now();
  for (const write of writes) {
    if (write.deadline <= now) settle(write, new Problem('timeout', { headers: retryLater() }));
  }
  return writes.filter((write) => write.deadline > now);
}

/** What is to be run again after a failure; nothing when all are settled. */
async function aftermath(
  writer: Writer,
  part: Part,
  error: unknown,
  settle: Settle,
): Promise<Part[]> {
  const { writes, attempt } = part;
  const kind = error instanceof DatabaseFailure ? error.kind : 'refused';
  if (kind === 'taken') return afterCollision(writer, part, settle);
  const mayRepeat = kind === 'conflict' || kind === 'lost';
  if (mayRepeat && attempt < limits.batchRetriesMax) {
    await sleep(Math.random() * 20 * 2 ** attempt);
    return [{ ...part, attempt: attempt + 1 }];
  }
  if (kind === 'timeout' && isShared(writes)) {
    for (const write of writes) settle(write, 'alone');
    return [];
  }
  const isUnreachable = kind === 'away' || kind === 'lost';
  if (writes.length > 1 && !isUnreachable) {
    const middle = Math.ceil(writes.length / 2);
    const halves = [writes.slice(0, middle), writes.slice(middle)];
    const lockTimeout = kind === 'timeout' ? limits.rerunLockTimeout : part.lockTimeout;
    return halves.map((half) => ({ writes: half, attempt: 0, lockTimeout }));
  }
  for (const write of writes) settle(write, problemOf(kind, error));
  return [];
}

/** Each time at least one of the keys is bound, so this comes to an end. */
async function afterCollision(writer: Writer, part: Part, settle: Settle): Promise<Part[]> {
  try {
    const operations = await findBound(writer, part.writes);
    if (operations.size === 0) throw new Error('a key was taken, but none of them is bound');
    const left = part.writes.filter((write) => {
      const operation = operations.get(keyOf(write));
      if (operation !== undefined) settle(write, { operation });
      return operation === undefined;
    });
    return [{ ...part, writes: left }];
  } catch (error) {
    return aftermath(writer, part, error, settle);
  }
}

async function findBound(
  writer: Writer,
  writes: readonly Write[],
): Promise<Map<string, Operation>> {
  const connection = await writer.connect();
  try {
    const [result] = await connection.send([findOperations(writes)]);
    connection.release();
    const rows = (result?.rows ?? []) as readonly Operation[];
    return new Map(rows.map((row) => [keyOfOperation(row), row]));
  } catch (error) {
    connection.destroy();
    throw error;
  }
}

/** A wait for each write, so that they do not all try again at the same moment. */
function problemOf(kind: DatabaseFailure['kind'], cause: unknown): Problem {
  if (kind === 'refused') return new Problem('internal_error', { cause });
  const headers = retryLater();
  if (kind === 'timeout') return new Problem('operation_in_progress', { headers, cause });
  return overloaded(cause);
}
