// What the database's own log holds of a run. Answers do not show it: a deadlock is answered as
// something else, and a recovery looks like a lost connection.

export interface LogFacts {
  /** SQLSTATE 40P01, each with one victim: who waited for whom, and with which statement. */
  readonly deadlocks: readonly string[];
  /** Starts after a crash that ended with a database that accepts connections. */
  readonly recoveries: number;
}

/** The error, and two processes: what each waits for, and its statement. */
const linesOfOne = 16;

const deadlock = /\bERROR: {2}deadlock detected/;
const crashed = /\bLOG: {2}database system was (interrupted|not properly shut down)/;
const ready = /\bLOG: {2}database system is ready to accept connections/;
/** A standby that was killed: what makes it a primary later is another matter. */
const isStandby = /\bLOG: {2}entering standby mode/;

export function factsOf(log: string): LogFacts {
  const deadlocks: string[] = [];
  let recoveries = 0;
  let isRecovering = false;
  const lines = log.split('\n');
  for (const [at, line] of lines.entries()) {
    if (deadlock.test(line)) deadlocks.push(lines.slice(at, at + linesOfOne).join('\n'));
    if (crashed.test(line)) isRecovering = true;
    if (isStandby.test(line)) isRecovering = false;
    if (!ready.test(line)) continue;
    if (isRecovering) recoveries += 1;
    isRecovering = false;
  }
  return { deadlocks, recoveries };
}
