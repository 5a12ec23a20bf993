// What happens when a batch fails. Whoever is not to blame must not pay: a batch is run again or
// halved until the culprit is alone, always with the same operation IDs, so that a commit whose
// answer was lost is found instead of repeated.

import { setTimeout as sleep } from 'node:timers/promises';
import { limits } from '../core/limits.ts';
import { Problem, retryLater } from '../core/problem.ts';
import { DatabaseFailure, type Writer } from '../core/statement.ts';
import { type Bound, runBatch, type Ticket } from './batch.ts';
import {
  findKeys,
  type KnownOperation,
  type KnownRow,
  keyText,
  keyTextOf,
  knownOperation,
} from './claim.ts';
import { overloaded } from './queue.ts';

/** A ticket with the moment (`performance.now()`) after which nobody waits for it any more. */
export interface TimedTicket extends Ticket {
  readonly deadline: number;
}

/** What became of a ticket. */
export type Settlement =
  /** It has bound its key: this is its first answer. */
  | ({ readonly kind: 'bound' } & Bound)
  /** Its key was bound already. */
  | { readonly kind: 'known'; readonly operation: KnownOperation };

/** `apart`: not run, for it waited together with other merchants; to be run without them. */
export type Settle = (ticket: TimedTicket, result: Settlement | Problem | 'apart') => void;

/** A part of a batch that is still to be run. */
interface Part {
  readonly tickets: readonly TimedTicket[];
  readonly attempt: number;
  readonly lockTimeout: number | undefined;
}

/**
 * Runs a batch until every ticket is settled, with its answer or with a Problem.
 *
 * | failure | what is done |
 * | --- | --- |
 * | a key was taken meanwhile | those that are known are told, the others run again |
 * | conflict, connection lost | the same batch again, at most twice; then halved |
 * | refused, a bug | halved until the culprit is alone: 500 for it |
 * | damaged | the same, but 503 |
 * | lock or statement time-out, several merchants | after a short wait: each is run apart |
 * | lock or statement time-out | halved, with short waits; alone: 503 operation_in_progress |
 * | server away | 503 for all |
 *
 * Halves go to the end of the line, so that those who can be served are, before the search for
 * the culprit goes on.
 */
export async function settleBatch(
  writer: Writer,
  tickets: readonly TimedTicket[],
  settle: Settle,
): Promise<void> {
  const lockTimeout = isShared(tickets) ? limits.sharedLockTimeout : undefined;
  const parts: Part[] = [{ tickets, attempt: 0, lockTimeout }];
  for (let part = parts.shift(); part !== undefined; part = parts.shift()) {
    const live = dropExpired(part.tickets, settle);
    if (live.length === 0) continue;
    try {
      const bound = await runBatch(writer, live, part.lockTimeout);
      for (const [index, ticket] of live.entries()) {
        const one = bound[index];
        if (one !== undefined) settle(ticket, { kind: 'bound', ...one });
      }
    } catch (error) {
      const failed = { ...part, tickets: live };
      parts.push(...(await aftermath(writer, failed, error, settle)));
    }
  }
}

function isShared(tickets: readonly Ticket[]): boolean {
  return tickets.some(({ merchant }) => merchant !== tickets[0]?.merchant);
}

function dropExpired(tickets: readonly TimedTicket[], settle: Settle): TimedTicket[] {
  const now = performance.now();
  for (const ticket of tickets) {
    if (ticket.deadline <= now) settle(ticket, new Problem('timeout', { headers: retryLater() }));
  }
  return tickets.filter((ticket) => ticket.deadline > now);
}

/** What is to be run again after a failure; nothing when all were told. */
async function aftermath(
  writer: Writer,
  part: Part,
  error: unknown,
  settle: Settle,
): Promise<Part[]> {
  const { tickets, attempt } = part;
  const kind = error instanceof DatabaseFailure ? error.kind : 'refused';
  if (kind === 'taken') return afterCollision(writer, part, settle);
  const mayRepeat = kind === 'conflict' || kind === 'lost';
  if (mayRepeat && attempt < limits.batchRetriesMax) {
    await sleep(Math.random() * 20 * 2 ** attempt);
    return [{ ...part, attempt: attempt + 1 }];
  }
  if (kind === 'timeout' && isShared(tickets)) {
    for (const ticket of tickets) settle(ticket, 'apart');
    return [];
  }
  const isUnreachable = kind === 'away' || kind === 'lost';
  if (tickets.length > 1 && !isUnreachable) {
    const middle = Math.ceil(tickets.length / 2);
    const halves = [tickets.slice(0, middle), tickets.slice(middle)];
    const lockTimeout = kind === 'timeout' ? limits.rerunLockTimeout : part.lockTimeout;
    return halves.map((half) => ({ tickets: half, attempt, lockTimeout }));
  }
  for (const ticket of tickets) settle(ticket, problemOf(kind, error));
  return [];
}

/** Each time at least one of the keys is known, so this comes to an end. */
async function afterCollision(writer: Writer, part: Part, settle: Settle): Promise<Part[]> {
  try {
    const known = await findBound(writer, part.tickets);
    if (known.size === 0) throw new Error('a key was taken, but none of them is bound');
    const left = part.tickets.filter((ticket) => {
      const operation = known.get(keyText(ticket));
      if (operation !== undefined) settle(ticket, { kind: 'known', operation });
      return operation === undefined;
    });
    return [{ ...part, tickets: left }];
  } catch (error) {
    return aftermath(writer, part, error, settle);
  }
}

async function findBound(
  writer: Writer,
  tickets: readonly Ticket[],
): Promise<Map<string, KnownOperation>> {
  const connection = await writer.connect();
  try {
    const [result] = await connection.send([findKeys(tickets)]);
    connection.release();
    const rows = (result?.rows ?? []) as readonly KnownRow[];
    return new Map(rows.map((row) => [keyTextOf(row), knownOperation(row)]));
  } catch (error) {
    connection.destroy();
    throw error;
  }
}

/** Each command's own: they shall not all come back at once. */
function problemOf(kind: DatabaseFailure['kind'], cause: unknown): Problem {
  if (kind === 'refused') return new Problem('internal_error', { cause });
  const headers = retryLater();
  if (kind === 'timeout') return new Problem('operation_in_progress', { headers, cause });
  return overloaded(cause);
}
