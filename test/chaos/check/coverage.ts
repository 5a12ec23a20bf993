// What a run must have reached, or it has proven nothing about it: each situation at least once,
// in a long run many times.

import { type Attempt, type Event, isBound } from '../history.ts';
import type { Settings } from '../settings.ts';
import { byKey } from './registers.ts';

export interface Met {
  readonly replyLostAfterCommit: number;
  readonly killedInsideBatch: number;
  readonly duplicateMetOwnerRunning: number;
  readonly waiterTookOver: number;
  readonly lockTimedOut: number;
  readonly replayAcrossRestart: number;
  readonly racedConflict: number;
  readonly racedNoChange: number;
  readonly connectionsExhausted: number;
  readonly databaseRecovered: number;
  readonly statusObeyed: number;
  readonly countedMeanwhile: number;
  readonly endsRaced: number;
  readonly upsertsRaced: number;
  readonly batchAgain: number;
  readonly revokedTried: number;
  readonly servedBesideWorker: number;
  readonly servedWithoutCoordinator: number;
  readonly servedWhileMoving: number;
  readonly moveRepeated: number;
}

/** What only a run on a cluster can meet. */
const ofClusters: readonly (keyof Met)[] = [
  ...(['servedBesideWorker', 'servedWithoutCoordinator'] as const),
  ...(['servedWhileMoving', 'moveRepeated'] as const),
];

/** What is counted besides the history. */
export interface Noted {
  readonly events: readonly Event[];
  /** Reads refused while connections were exhausted. */
  readonly refusedReads: number;
  /** By the database's own log. */
  readonly recoveries: number;
}

/** From so many seconds on a run is long. */
export const longRun = 600;

/** What a long run must have met; a short one must have met each of it once. */
const often: Met = {
  replyLostAfterCommit: 100,
  killedInsideBatch: 50,
  duplicateMetOwnerRunning: 100,
  waiterTookOver: 20,
  lockTimedOut: 10,
  replayAcrossRestart: 100,
  racedConflict: 50,
  racedNoChange: 50,
  connectionsExhausted: 10,
  databaseRecovered: 20,
  statusObeyed: 10,
  countedMeanwhile: 50,
  endsRaced: 50,
  upsertsRaced: 50,
  batchAgain: 20,
  revokedTried: 50,
  servedBesideWorker: 50,
  servedWithoutCoordinator: 50,
  servedWhileMoving: 50,
  moveRepeated: 10,
};

/** 0: a run with these settings cannot meet it. */
export function required(name: keyof Met, { seconds, settings }: Asked): number {
  if (ofClusters.includes(name) && !settings.citus) return 0;
  return seconds < longRun ? 1 : often[name];
}

/** What a run was asked for. */
interface Asked {
  readonly seconds: number;
  readonly settings: Settings;
}

export const meanings: Readonly<Record<keyof Met, string>> = {
  replyLostAfterCommit: 'an answer was lost after its commit',
  killedInsideBatch: 'the service or its database was killed inside a batch',
  duplicateMetOwnerRunning: 'a duplicate request came while the first one was running',
  waiterTookOver: 'a first request failed and its duplicate took over',
  lockTimedOut: 'a write gave up waiting for a lock or for the first request',
  replayAcrossRestart: 'a key was replayed across a restart',
  racedConflict: 'two bodies raced for one key',
  racedNoChange: 'two keys raced for one quantity',
  connectionsExhausted: 'a read got no connection',
  databaseRecovered: 'the database recovered from a crash',
  statusObeyed: 'an adjustment was refused because its location was inactive',
  countedMeanwhile: 'a count added what had moved since it was taken',
  endsRaced: 'a reservation was to be ended that had ended',
  upsertsRaced: 'two upserts of a new external ID raced',
  batchAgain: 'a batch was sent again after a fault',
  revokedTried: 'a token was tried after it was revoked',
  servedBesideWorker: 'a write was done while the worker of other cells was down',
  servedWithoutCoordinator: 'a write was done while the coordinator was down',
  servedWhileMoving: 'a write was done while its cell moved',
  moveRepeated: 'a move failed, and succeeded later',
};

export function whatWasMet(
  attempts: readonly Attempt[],
  { events, refusedReads, recoveries }: Noted,
): Met {
  const keys = [...byKey(attempts).values()];
  const count = (test: (own: readonly Attempt[]) => boolean) => keys.filter(test).length;
  const servedWhile = (begins: string, ends: string) => {
    const times = timesOf(events, begins, ends);
    const isInside = ({ start, end }: Attempt) =>
      times.some(({ from, until }) => start > from && end < until);
    return count((own) => {
      const owner = ownerOf(own);
      return owner !== undefined && owner.credential !== 'neighbour' && isInside(owner);
    });
  };
  const restarts = events.filter(({ what }) => what === 'killed' || what === 'restarted');
  return {
    replyLostAfterCommit: count(isLostReply),
    killedInsideBatch: events.filter(({ inBatch }) => inBatch === true).length,
    duplicateMetOwnerRunning: count(hasDuplicateMeanwhile),
    waiterTookOver: count(hasTakenOver),
    lockTimedOut: attempts.filter(({ code }) => code === 'operation_in_progress').length,
    replayAcrossRestart: count((own) => isReplayedAcross(own, restarts)),
    racedConflict: count(isRacedConflict),
    racedNoChange: racedNoChanges(keys),
    connectionsExhausted: refusedReads,
    databaseRecovered: recoveries,
    statusObeyed: count((own) => ownerOf(own)?.code === 'location_inactive'),
    countedMeanwhile: count((own) => ownerOf(own)?.isSince === true),
    endsRaced: count((own) => ownerOf(own)?.code === 'reservation_not_active'),
    upsertsRaced: racedUpserts(keys),
    batchAgain: count((own) => own.some(isBound) && own.some(isUnanswered)),
    revokedTried: attempts.filter(({ kind, status }) => kind === 'ended' && status === 401).length,
    servedBesideWorker: servedWhile('other worker down', 'other worker up'),
    servedWithoutCoordinator: servedWhile('coordinator down', 'coordinator up'),
    servedWhileMoving: servedWhile('shop moving', 'shop moved'),
    moveRepeated: events.filter(({ what }) => what === 'move repeated').length,
  };
}

function timesOf(events: readonly Event[], begins: string, ends: string) {
  const atOf = (name: string) => events.filter(({ what }) => what === name).map(({ at }) => at);
  const last = atOf(ends);
  return atOf(begins).map((from, index) => ({ from, until: last[index] ?? from }));
}

const overlaps = (a: Attempt, b: Attempt) => a.start < b.end && b.start < a.end;
const isUnknown = ({ status }: Attempt) => status === 0 || status >= 500;

const isUnanswered = ({ kind, status }: Attempt) => kind === 'batch' && status === 0;

/** The answer to the commit was lost: the first answer is a replay, after one without an answer. */
function isLostReply(own: readonly Attempt[]): boolean {
  const bound = own.filter(isBound);
  return (
    bound.length > 0 && bound.every(({ isReplay }) => isReplay === true) && own.some(isUnknown)
  );
}

function ownerOf(own: readonly Attempt[]): Attempt | undefined {
  return own.find((one) => isBound(one) && one.isReplay !== true);
}

function hasDuplicateMeanwhile(own: readonly Attempt[]): boolean {
  const owner = ownerOf(own);
  return owner !== undefined && own.some((one) => one.isReplay === true && overlaps(one, owner));
}

/** Somebody asked before the owner did, and failed while the owner was running. */
function hasTakenOver(own: readonly Attempt[]): boolean {
  const owner = ownerOf(own);
  if (owner === undefined) return false;
  return own.some((one) => isUnknown(one) && one.start < owner.start && one.end > owner.start);
}

/** The owner's node was replaced before the replay was asked for. */
function isReplayedAcross(own: readonly Attempt[], restarts: readonly Event[]): boolean {
  const owner = ownerOf(own);
  if (owner === undefined) return false;
  return own.some(
    (one) =>
      one.isReplay === true &&
      restarts.some(
        ({ at, node }) =>
          at > owner.end && at < one.start && (node === undefined || node === owner.node),
      ),
  );
}

function isRacedConflict(own: readonly Attempt[]): boolean {
  const owner = ownerOf(own);
  return owner !== undefined && own.some((one) => one.status === 409 && overlaps(one, owner));
}

/** A refusal and a success of the same quantity at the same level, next to each other in time. */
function racedNoChanges(keys: readonly Attempt[][]): number {
  const targets = new Map<string, Attempt[]>();
  for (const owner of keys.flatMap((own) => ownerOf(own) ?? [])) {
    const name = JSON.stringify(owner.target);
    const own = targets.get(name);
    if (own === undefined) targets.set(name, [owner]);
    else own.push(owner);
  }
  const pairs = [...targets.values()].flatMap((own) => {
    const sorted = own.sort((a, b) => a.start - b.start);
    return sorted.slice(1).map((one, index) => [sorted[index] ?? one, one] as const);
  });
  return pairs.filter(([a, b]) => overlaps(a, b) && a.status + b.status === 201 + 422).length;
}

/** One made it, and another that began before it was made changed it. */
function racedUpserts(keys: readonly Attempt[][]): number {
  const owners = keys.flatMap((own) => ownerOf(own) ?? []).filter(({ named }) => named);
  const makers = owners.filter(({ status }) => status === 201);
  return makers.filter((maker) =>
    owners.some((one) => one !== maker && one.named === maker.named && overlaps(one, maker)),
  ).length;
}
