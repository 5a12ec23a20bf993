// The database's process that owns a key is frozen in the middle of its transaction: it keeps the
// key and its locks, and no time-out can end it. On a server of its own: one that drops a database
// waits for all of its processes.

import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { limits } from '../../src/core/limits.ts';
import { migrate } from '../../src/database/migrate.ts';
import { asked } from '../kit/again.ts';
import type { Answer } from '../kit/api.ts';
import { openGround } from '../upgrade/ground.ts';
import { away, FaultEnvironment, type FaultyNode, isReplay, summaryOf } from './environment.ts';
import { adjustment, create, type Kind, kinds, type Write } from './kinds.ts';

let environment: FaultEnvironment;
const frozen = new Set<number>();
const nodes: FaultyNode[] = [];

beforeAll(async () => {
  const ground = await openGround();
  await migrate({ owner: ground.ownerUrl, service: ground.serviceUrl });
  const session = async () => ground.client;
  environment = await FaultEnvironment.start({
    ...{ ...ground, session, globalSession: session },
    drop: () => ground.close(),
  });
});
afterAll(async () => {
  for (const pid of frozen) resume(pid);
  for (const node of nodes) await node.stop();
  await environment.stop();
});

/** A node, and a merchant of its own. */
async function openPlace() {
  const place = await environment.elsewhere();
  const node = await place.node();
  nodes.push(node);
  return { place, node };
}

/** Beyond the limits, for a busy machine; the next limit is the deadline of 10 s. */
const slack = 4_000;
const inProgress = '503 operation_in_progress';

test('nobody waits long for an owner that is frozen, and it is done once', {
  timeout: 60_000,
}, async () => {
  const long = await freezeForLong();
  for (const kind of [adjustment, create]) await freezeAndGoOn(kind);
  await long();
  await environment.verify();
});

/** Frozen until all others have their answers. Its own is a success all the same. */
async function freezeAndGoOn(kind: Kind): Promise<void> {
  const { place, node } = await openPlace();
  const { write, owner, pid } = await freeze(place, node, kind);
  await mustServeOthers(place, node, write);
  resume(pid);
  const answer = await owner;
  expect([kind.name, summaryOf(answer), isReplay(answer)]).toEqual([kind.name, '201', false]);
  await mustSettleOnReplay(place, write, kind.name);
}

/** Frozen for longer than a request may take: whoever shares its transaction learns no outcome. */
async function freezeForLong(): Promise<() => Promise<void>> {
  const { place, node } = await openPlace();
  const asked = performance.now();
  const { write, owner, pid } = await freeze(place, node, adjustment);
  const timed = owner.then((answer) => ({ answer, took: performance.now() - asked }));
  return async () => {
    const { answer, took } = await timed;
    expect(summaryOf(answer)).toBe('504 timeout');
    expect(took).toBeLessThan(limits.requestDeadline + slack);
    expect(summaryOf(await place.send(place.api, write))).toBe(inProgress);
    resume(pid);
    // It may not be gone yet.
    await expect.poll(async () => summaryOf(await place.send(place.api, write))).toBe('201');
    await mustSettleOnReplay(place, write, 'frozen for long');
  };
}

/**
 * Its duplicates and the other writes of its merchant, whose journal it holds, are answered as in
 * progress. Its merchant is read, and other merchants are served, by this node and others.
 */
async function mustServeOthers(
  place: FaultEnvironment,
  node: FaultyNode,
  write: Write,
): Promise<void> {
  const asked = performance.now();
  const timed = async (what: string, of: Promise<string>, expected: string) => {
    expect([what, await of]).toEqual([what, expected]);
    expect(performance.now() - asked, what).toBeLessThan(limits.lockTimeout + slack);
  };
  const places = { 'its node': node.api, 'another node': place.api };
  const all = Object.entries(places).flatMap(([by, api]) => [
    timed(`its duplicate at ${by}`, place.send(api, write).then(summaryOf), inProgress),
    place.newWrite(write.kind).then((same) =>
      timed(
        `another write of its merchant at ${by}`,
        served(() => place.send(api, same)),
        inProgress,
      ),
    ),
    ...kinds.map(async (kind) => {
      const other = await environment.newWrite(kind);
      await timed(
        `${kind.name} of another merchant at ${by}`,
        served(() => environment.send(api.as(environment.token), other)),
        `${kind.status}`,
      );
    }),
    timed(
      `a list at ${by}`,
      served(() => api.get('/products')),
      '200',
    ),
  ]);
  await Promise.all(all);
}

/** A node that opens its connections on a busy machine may say 503 at first. */
async function served(ask: () => Promise<Answer>): Promise<string> {
  const answer = await asked(ask, (one) => (summaryOf(one) === away ? away : undefined));
  return summaryOf(answer);
}

async function mustSettleOnReplay(
  place: FaultEnvironment,
  write: Write,
  what: string,
): Promise<void> {
  const answer = await place.mustSettle(write, what);
  expect([what, isReplay(answer)]).toEqual([what, true]);
}

/** Freezes the owner of a key between what binds it and COMMIT, which lies in its socket then. */
async function freeze(place: FaultEnvironment, node: FaultyNode, kind: Kind) {
  const write = await place.newWrite(kind);
  let release = () => {};
  const until = new Promise<void>((resolve) => {
    release = resolve;
  });
  let isFrozen = false;
  node.proxy.onExchange = (name) =>
    name === 'commit' && !isFrozen ? { kind: 'hold', until } : undefined;
  const owner = place.send(node.api, write);
  const pid = await vi.waitUntil(() => ownerNow(), { interval: 5, timeout: 15_000 });
  process.kill(pid, 'SIGSTOP');
  isFrozen = true;
  frozen.add(pid);
  release();
  return { write, owner, pid };
}

function resume(pid: number): void {
  if (frozen.delete(pid)) process.kill(pid, 'SIGCONT');
}

async function ownerNow(): Promise<number | undefined> {
  const [row] = await environment.db.sql<{ pid: number }>(
    `select pid from pg_stat_activity
     where datname = current_database() and state = 'idle in transaction'
       and query like '%saved_0%' and pid <> all ($1)`,
    [[...frozen]],
  );
  return row?.pid;
}
