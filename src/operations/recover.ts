// What happens when a batch fails. Whoever is not to blame must not pay: a batch is run again or
// halved until the culprit is alone, always with the same operation IDs, so that a commit whose
// answer was lost is found instead of repeated.

import { setTimeout as sleep } from 'node:timers/promises';
import { limits } from '../core/limits.ts';
import { Problem } from '../core/problem.ts';
import { DatabaseFailure, type Writer } from '../core/statement.ts';
import { runBatch, type Settlement, type Ticket } from './batch.ts';
import { overloaded } from './queue.ts';

/** A ticket with the moment (`performance.now()`) after which nobody waits for it any more. */
export interface TimedTicket extends Ticket {
  readonly deadline: number;
}

export type Settle = (ticket: TimedTicket, result: Settlement | Problem) => void;

/**
 * Runs a batch until every ticket is settled, with its answer or with a Problem.
 *
 * | failure | what is done |
 * | --- | --- |
 * | conflict, connection lost | the same batch again, at most twice; then halved |
 * | refused, a bug | halved until the culprit is alone: 500 for it |
 * | lock or statement time-out | halved while time lasts; alone: 503 operation_in_progress |
 * | server away | 503 for all |
 */
export async function settleBatch(
  writer: Writer,
  tickets: readonly TimedTicket[],
  settle: Settle,
  attempt = 0,
): Promise<void> {
  const now = performance.now();
  const live = tickets.filter((ticket) => ticket.deadline > now);
  for (const ticket of tickets) {
    if (ticket.deadline <= now) settle(ticket, new Problem('timeout', retrySoon));
  }
  if (live.length === 0) return;
  try {
    const settlements = await runBatch(writer, live);
    for (const [index, ticket] of live.entries()) {
      settle(ticket, settlements[index] ?? { kind: 'unsettled' });
    }
  } catch (error) {
    await recover(writer, live, settle, attempt, error);
  }
}

async function recover(
  writer: Writer,
  tickets: readonly TimedTicket[],
  settle: Settle,
  attempt: number,
  error: unknown,
): Promise<void> {
  const kind = error instanceof DatabaseFailure ? error.kind : 'refused';
  const mayRepeat = kind === 'conflict' || kind === 'lost';
  if (mayRepeat && attempt < limits.batchRetriesMax) {
    await sleep(Math.random() * 20 * 2 ** attempt);
    return settleBatch(writer, tickets, settle, attempt + 1);
  }
  const isUnreachable = kind === 'away' || kind === 'lost';
  if (tickets.length > 1 && !isUnreachable) {
    const middle = Math.ceil(tickets.length / 2);
    await settleBatch(writer, tickets.slice(0, middle), settle, attempt);
    return settleBatch(writer, tickets.slice(middle), settle, attempt);
  }
  const problem = problemOf(kind, error);
  for (const ticket of tickets) settle(ticket, problem);
}

const retrySoon = { headers: { 'Retry-After': '1' } };

function problemOf(kind: DatabaseFailure['kind'], cause: unknown): Problem {
  if (kind === 'refused') return new Problem('internal_error', { cause });
  if (kind === 'timeout') return new Problem('operation_in_progress', { ...retrySoon, cause });
  return overloaded(cause);
}
