// One connection, taken for a read or a transaction: what is sent on it, and what it means when no
// answer comes.

import type pg from 'pg';
import { limits } from '../core/limits.ts';
import type { Connection, DatabaseFailure, Result, Statement } from '../core/statement.ts';
import { databaseFailure, isSilence } from './failure.ts';
import type { ConnectionHealth } from './health.ts';
import {
  inOwnSession,
  inSharedSession,
  isLostName,
  leavesOpen,
  standAlone,
  timelineIn,
} from './pooler.ts';

export interface PooledConnection extends Connection {
  /** @param timeout how long (ms) the answer may take before the connection counts as lost. */
  send(statements: readonly Statement[], timeout?: number): Promise<readonly Result[]>;
}

/** One statement has its own time-out; several may each take that long. */
const timeoutFor = (statements: readonly Statement[]) =>
  statements.length === 1 ? limits.connectionSilenceTimeout : limits.requestDeadline;

/** @param giveBack called once, and told whether the connection is of no more use. */
export function pooledConnection(
  client: pg.PoolClient,
  health: ConnectionHealth,
  cell: string,
  giveBack: (isBroken: boolean) => void,
): PooledConnection {
  const { sharing, primary, cells, entrance } = health;
  let isOurs = true;
  let isOpen = false;
  const end = (destroy: boolean) => {
    if (isOurs) giveBack(destroy);
    isOurs = false;
  };
  const sendOnce = async (statements: readonly Statement[], timeout: number) => {
    if (!sharing.isShared(client)) {
      const left = cells.get(client) ?? entrance.first;
      const { sent, before } = inOwnSession(statements, isOpen, left, cell, entrance);
      if (before > 0) cells.set(client, cell);
      const results = await exchange(client, sent, timeout, health);
      return before === 0 ? results : results.slice(before);
    }
    const { sent, before } = inSharedSession(statements, isOpen, primary.latest, cell, entrance);
    const results = await exchange(client, sent, timeout, health);
    primary.noteTimeline(timelineIn(results));
    return results.slice(before, before + statements.length);
  };
  return {
    async send(statements, timeout = timeoutFor(statements)): Promise<readonly Result[]> {
      const wasOpen = isOpen;
      try {
        return await sendOnce(statements, timeout);
      } catch (error) {
        const isRepeatable = isLostName((error as DatabaseFailure).sqlstate);
        if (!isRepeatable || !standAlone(statements, wasOpen)) throw error;
        // A transaction stays open when it is COMMIT that was not found.
        await exchange(client, [rollback], timeout, health);
        return await sendOnce(statements, timeout);
      } finally {
        isOpen = leavesOpen(statements, wasOpen);
      }
    },
    release: () => end(false),
    destroy: () => end(true),
  };
}

const rollback: Statement = { name: '', text: 'rollback', values: [] };

/** @throws DatabaseFailure: the first, when all have been answered. */
async function exchange(
  client: pg.PoolClient,
  statements: readonly Statement[],
  timeout: number,
  health: ConnectionHealth,
): Promise<readonly Result[]> {
  // A connection that was dropped without a close never answers. In pipeline mode the driver
  // closes the socket only when a query's own time-out ends: ending the client never returns.
  const last = statements.length - 1;
  const sent = statements.map(({ name, text, values }, index) =>
    client.query({
      name: health.sharing.hasNames ? name : '',
      text,
      values: values as unknown[],
      ...(index === last ? { query_timeout: timeout } : {}),
    }),
  );
  // All are awaited, so that no statement of a failed transaction is still running.
  const settled = await Promise.allSettled(sent);
  const failures = settled.filter((result) => result.status === 'rejected');
  if (failures.some(({ reason }) => isSilence(reason))) health.noteSilence();
  else health.noteAnswer(client);
  const [failed] = failures;
  if (failed !== undefined) {
    const failure = databaseFailure(failed.reason);
    health.report(failure);
    if (isLostName(failure.sqlstate)) health.sharing.loseNames();
    throw failure;
  }
  return settled.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
}
