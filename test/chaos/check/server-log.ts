// What the database's own log tells of a run: a deadlock is never answered as one, and a recovery
// is more than a lost connection.

export interface LogFacts {
  /** SQLSTATE 40P01, each with one victim. */
  readonly deadlocks: number;
  /** Starts after a crash that ended with a database that accepts connections. */
  readonly recoveries: number;
}

const deadlock = /\bERROR: {2}deadlock detected/;
const crashed = /\bLOG: {2}database system was (interrupted|not properly shut down)/;
const ready = /\bLOG: {2}database system is ready to accept connections/;

export function factsOf(log: string): LogFacts {
  let deadlocks = 0;
  let recoveries = 0;
  let isRecovering = false;
  for (const line of log.split('\n')) {
    if (deadlock.test(line)) deadlocks += 1;
    if (crashed.test(line)) isRecovering = true;
    if (!ready.test(line)) continue;
    if (isRecovering) recoveries += 1;
    isRecovering = false;
  }
  return { deadlocks, recoveries };
}
