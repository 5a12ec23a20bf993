// One run: warm up, break things while clients write, mend everything, see every request answered,
// check, restart, send old keys again, check once more.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkAnswers } from './check/answers.ts';
import { type Met, whatWasMet } from './check/coverage.ts';
import { checkEffects } from './check/effects.ts';
import { checkFeed } from './check/feed.ts';
import { checkLedger, offLedger } from './check/ledger.ts';
import { checkLocationStatus } from './check/location-status.ts';
import { type Recovery, recoveryOf } from './check/recovery.ts';
import { byKey, checkRegisters, type Registers } from './check/registers.ts';
import { checkStock } from './check/stock.ts';
import type { Finding } from './check/verdict.ts';
import { Clients } from './clients.ts';
import { ChaosEnvironment } from './environment/environment.ts';
import { type Attempt, isBound, now } from './history.ts';
import { unleash } from './nemesis/nemesis.ts';
import { Random } from './random.ts';
import { Receivers } from './receivers.ts';
import { plain, type Settings } from './settings.ts';

/** Everything begun before the last fault must be answered within this, once all is mended. */
export const livenessMs = 10_000;
const warmUpMs = 1_500;
const watchEveryMs = 1_000;
const replaysEach = 150;

export interface Outcome {
  readonly seed: number;
  readonly seconds: number;
  readonly settings: Settings;
  readonly requests: number;
  /** Different keys, and those that were done or refused for good. */
  readonly keys: number;
  readonly acknowledged: number;
  readonly drainedMs: number;
  readonly recovery: Recovery;
  readonly faults: ReadonlyMap<string, number>;
  readonly findings: readonly Finding[];
  readonly registers: Registers;
  readonly met: Met;
}

export async function runChaos(
  seed: number,
  seconds: number,
  settings: Settings = plain,
): Promise<Outcome> {
  let clients: Clients | undefined;
  let receivers: Receivers | undefined;
  const environment = await ChaosEnvironment.make(
    (credential) => clients?.adopt(credential),
    settings,
  );
  const directory = await mkdtemp(join(tmpdir(), 'tallybook-history-'));
  try {
    receivers = await Receivers.start(environment, new Random(seed + 1));
    clients = Clients.start(environment, seed, directory);
    await sleep(warmUpMs);
    const watch = new Watch(environment);
    const faults = await unleash(environment, new Random(seed), now() + seconds * 1_000);
    await watch.end();
    const drainedMs = await drain(environment, clients);
    await receivers.settle();
    const early = await check(environment, await clients.history());
    await environment.restart();
    await clients.replay(replaysEach);
    await clients.quit();
    const attempts = await clients.history();
    const late = await check(environment, attempts);
    const { deadlocks, recoveries } = environment.database.facts();
    await environment.close();
    const { events, refusedReads, shop } = environment;
    const registers = checkRegisters(attempts, shop);
    return {
      seed,
      seconds,
      settings,
      ...countsOf(attempts),
      drainedMs,
      recovery: recoveryOf(attempts, events),
      faults,
      findings: [
        ...merged(early, late),
        { what: 'levels and records without an order of requests', faults: registers.faults },
        ...receivers.findings(),
        { what: 'faults of processes', faults: environment.faults },
        { what: 'deadlocks', faults: deadlocks },
        { what: 'requests that were not answered in time', faults: tardiness(drainedMs) },
      ],
      registers,
      met: whatWasMet(attempts, { events, refusedReads, recoveries }),
    };
  } catch (error) {
    clients?.kill();
    await environment.close().catch(() => undefined);
    throw error;
  } finally {
    receivers?.close();
    await rm(directory, { recursive: true, force: true });
  }
}

/** @returns how long it took (ms) until everything begun was answered. */
async function drain(environment: ChaosEnvironment, clients: Clients): Promise<number> {
  await environment.database.whole();
  environment.note('mended');
  const since = now();
  await Promise.race([clients.drain(), sleep(6 * livenessMs, undefined, { ref: false })]);
  return now() - since;
}

function tardiness(drainedMs: number): string[] {
  return drainedMs <= livenessMs ? [] : [`it took ${Math.round(drainedMs)} ms`];
}

async function check(
  environment: ChaosEnvironment,
  attempts: readonly Attempt[],
): Promise<Finding[]> {
  return [
    ...(await checkEffects(environment.database, attempts, environment.shop)),
    ...(await checkLedger(environment.database)),
    ...(await checkStock(environment.database)),
    ...checkAnswers(attempts, environment.operator.bans, environment.shop),
    checkLocationStatus(attempts, environment.shop.booth),
    {
      what: 'left behind by moves of cells',
      faults: (await environment.cluster?.leftBehind()) ?? [],
    },
    ...(await checkFeed(
      environment.database,
      attempts,
      environment.operator.bans,
      environment.shop.merchant,
    )),
  ];
}

function merged(early: readonly Finding[], late: readonly Finding[]): Finding[] {
  return late.map(({ what, faults }) => {
    const before = early.find((one) => one.what === what)?.faults ?? [];
    return { what, faults: [...new Set([...before, ...faults])] };
  });
}

function countsOf(attempts: readonly Attempt[]) {
  const bound = attempts.filter(isBound);
  return {
    requests: attempts.length,
    keys: byKey(attempts.filter(({ kind }) => kind !== 'foreign')).size,
    acknowledged: new Set(bound.map(({ operation }) => operation)).size,
  };
}

/** Looks at the ledger all along: what is committed must be right at every moment. */
class Watch {
  readonly #environment: ChaosEnvironment;
  readonly #watching: Promise<void>;
  #isOver = false;

  constructor(environment: ChaosEnvironment) {
    this.#environment = environment;
    this.#watching = this.#watch();
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#watching;
  }

  async #watch(): Promise<void> {
    while (!this.#isOver) {
      await sleep(watchEveryMs);
      const rows = await this.#environment.database.query(offLedger).catch(() => []);
      for (const row of rows) this.#environment.fail(`seen meanwhile: ${JSON.stringify(row)}`);
    }
  }
}
