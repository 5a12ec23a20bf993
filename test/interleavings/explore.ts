// Runs sessions once for every order in which they can take their steps, one step at a time: a
// session that waits for a lock is left alone until the one that holds it goes on. The orders are
// found while they run: each run takes, where it first can, a path that no run has completed.

import type { TestDatabase } from '../kit/database.ts';
import type { Session } from './session.ts';

/** Sessions that have begun, on data that no other run has touched. */
export interface Run {
  readonly sessions: readonly Session[];
  /** Resolves when all are done. */
  readonly end: Promise<unknown>;
  /** Judges what became of them, once all are done. Returns what to count it as. */
  judge(steps: readonly Step[]): Promise<string>;
}

export interface Step {
  readonly session: string;
  readonly statement: string;
}

export interface Explored {
  readonly interleavings: number;
  /** How many of them ended how. */
  readonly outcomes: Readonly<Record<string, number>>;
}

/** The state after the same steps, and the sessions that can run next. */
interface Fork {
  readonly branches: Map<string, Fork>;
  /** How many runs reached it. */
  visits: number;
  /** All branches have been run to their end. */
  isDone: boolean;
}

/** So many runs in a row that see nothing new end the search for what no run comes to again. */
const barrenRunsMax = 10;

/** Which of these server processes wait for a lock, and for whom. */
export type Blockers = (pids: readonly number[]) => Promise<Map<number, readonly number[]>>;

export async function blockersIn(db: TestDatabase): Promise<Blockers> {
  const session = await db.session();
  return async (pids) => {
    const { rows } = await session.query<{ pid: number; blockers: number[] }>({
      name: 'blockers',
      text: 'select pid, pg_blocking_pids(pid) as blockers from unnest($1::int[]) as pid',
      values: [pids],
    });
    return new Map(rows.map(({ pid, blockers }) => [pid, blockers]));
  };
}

/**
 * Of two sessions every order is run, once, or `most` of them. Of three, two may wait for one lock:
 * the database says which of them gets it, and what it does not say again is not run.
 * @throws Error naming the steps, when a run ends in a deadlock or is judged wrong.
 */
export async function explore(
  blockers: Blockers,
  open: () => Promise<Run>,
  most: number,
): Promise<Explored> {
  const outcomes: Record<string, number> = {};
  const root = newFork();
  let interleavings = 0;
  for (
    let barren = 0;
    !root.isDone && barren < barrenRunsMax && interleavings < most;
    barren += 1
  ) {
    const run = await open();
    const { steps, isNew } = await walk(blockers, run, root);
    const outcome = await run.judge(steps).catch((error: Error) => {
      throw new Error(`${textOf(steps)}: ${error.message}`, { cause: error });
    });
    if (!isNew) continue;
    barren = 0;
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    interleavings += 1;
  }
  return { interleavings, outcomes };
}

/** One run. Says whether no run has gone the same way before. */
async function walk(
  blockers: Blockers,
  { sessions, end }: Run,
  root: Fork,
): Promise<{ steps: readonly Step[]; isNew: boolean }> {
  const steps: Step[] = [];
  const forks = [root];
  try {
    for (let fork = root; ; forks.push(fork)) {
      await rest(blockers, sessions);
      const ready = sessions.filter(({ next }) => next !== undefined);
      for (const { name } of ready)
        if (!fork.branches.has(name)) fork.branches.set(name, newFork());
      const session = leastGone(fork, ready);
      if (session?.next === undefined) break;
      steps.push({ session: session.name, statement: session.next });
      fork = fork.branches.get(session.name) ?? root;
      fork.visits += 1;
      session.allow();
    }
    if (!sessions.every(({ isDone }) => isDone)) throw new Error(`deadlock: ${textOf(steps)}`);
  } finally {
    for (const session of sessions) session.free();
    await end;
  }
  const isNew = forks.at(-1)?.isDone === false;
  for (const fork of forks.reverse()) {
    fork.isDone = [...fork.branches.values()].every(({ isDone }) => isDone);
  }
  return { steps, isNew };
}

/**
 * Of those whose way has not been gone to its end, the one whose way was gone least: an end that
 * the database does not let a run come to again must not keep it from all others.
 */
function leastGone({ branches }: Fork, ready: readonly Session[]): Session | undefined {
  const open = ready.filter(({ name }) => !branches.get(name)?.isDone);
  const visits = ({ name }: Session) => branches.get(name)?.visits ?? 0;
  return [...(open.length > 0 ? open : ready)].sort((a, b) => visits(a) - visits(b))[0];
}

const newFork = (): Fork => ({ branches: new Map(), visits: 0, isDone: false });

/** Waits until every session is done, halted, or waits for a lock of one that is. */
async function rest(blockers: Blockers, sessions: readonly Session[]): Promise<void> {
  for (;;) {
    const moving = () => sessions.filter(({ isDone, next }) => !isDone && next === undefined);
    if (moving().length === 0) return;
    await change(sessions);
    const asking = moving();
    if (asking.length === 0) return;
    if (!asking.every(({ isAsking }) => isAsking)) continue;
    const pids = asking.map(({ pid }) => pid ?? 0);
    const found = await blockers(pids);
    const known = new Set(sessions.map(({ pid }) => pid));
    // Nobody but a session at rest may be waited for: anybody else is about to let go.
    const isBlocked = (pid: number) => {
      const others = found.get(pid) ?? [];
      return others.length > 0 && others.every((other) => known.has(other));
    };
    if (pids.every(isBlocked) && moving().length === asking.length) return;
  }
}

/** Resolves at the next change, or after a moment: a session that starts to wait says nothing. */
function change(sessions: readonly Session[]): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, 1);
    for (const session of sessions) {
      session.onChange = () => {
        clearTimeout(timer);
        resolve();
      };
    }
  });
}

function textOf(path: readonly Step[]): string {
  return path.map(({ session, statement }) => `${session} ${statement}`).join(', ');
}
