// What can become of a write in the database, each with the exchanges that it waits for. A test
// compares the lists with what really happens, so that each new await gets its faults.

import { type Fault, isOfOpening } from '../kit/exchanges.ts';
import type { FaultEnvironment } from './environment.ts';
import { isSentWithCommit, type Kind, looked, type Write } from './kinds.ts';

export interface Scenario {
  readonly name: string;
  readonly kind: Kind;
  /** In order, on connections that are open. */
  readonly exchanges: readonly string[];
  /** Those of them that no other scenario has. Faults are injected here. */
  readonly own: readonly string[];
  /** Whether its success is a replay. */
  readonly isReplay: boolean;
  /** Done before the request. */
  prepare(environment: FaultEnvironment, write: Write): Promise<unknown>;
  /** The fault at an exchange that makes the scenario happen. */
  faultOf(environment: FaultEnvironment, write: Write): (exchange: string) => Fault | undefined;
}

const withoutFault = () => () => undefined;
const unprepared = async () => undefined;

export const first = (kind: Kind): Scenario => ({
  name: `${kind.name}: a first request`,
  kind,
  exchanges: [...kind.before, ...kind.batch],
  own: [...kind.before, ...kind.batch],
  isReplay: false,
  prepare: unprepared,
  faultOf: withoutFault,
});

export const repeated = (kind: Kind): Scenario => ({
  name: `${kind.name}: a repeated request`,
  kind,
  exchanges: [looked, ...kind.replay],
  own: [looked, kind.find],
  isReplay: true,
  prepare: (environment, write) => mustBeDone(environment, write),
  faultOf: withoutFault,
});

export const duplicateFirst = (kind: Kind): Scenario => ({
  name: `${kind.name}: a request whose duplicate commits after its key was looked up`,
  kind,
  exchanges: [...kind.before, ...kind.lateBatch, 'find_keys', ...kind.replay],
  own: ['find_keys', kind.find],
  isReplay: true,
  prepare: unprepared,
  faultOf(environment, write) {
    let duplicate: Promise<unknown> | undefined;
    return (exchange) => {
      if (exchange !== 'begin' || duplicate !== undefined) return undefined;
      duplicate = environment.send(environment.api, write);
      return { kind: 'hold', until: duplicate };
    };
  },
});

export const answerLost = (kind: Kind): Scenario => ({
  name: `${kind.name}: a request whose commit is done, and its answer lost`,
  kind,
  exchanges: [...kind.before, ...kind.batch, ...kind.lateBatch, 'find_keys', kind.find],
  own: ['find_keys', kind.find],
  isReplay: false,
  prepare: unprepared,
  faultOf() {
    let isLost = false;
    return (exchange) => {
      if (exchange !== 'commit' || isLost) return undefined;
      isLost = true;
      return { kind: 'reset', when: 'after' };
    };
  },
});

/** On a machine that is busy with other work it may take more than one attempt. */
async function mustBeDone(environment: FaultEnvironment, write: Write): Promise<void> {
  for (let tries = 1; tries <= 5; tries += 1) {
    const { status } = await environment.send(environment.api, write);
    if (status === write.kind.status) return;
  }
  throw new Error(`${write.kind.name} is not done`);
}

export const scenariosOf = (kind: Kind): readonly Scenario[] =>
  [first, repeated, duplicateFirst, answerLost].map((scenario) => scenario(kind));

/** Faults that end at once. Those that wait are in test/failpoints/stall.prove.ts. */
export const faults: Readonly<Record<string, Fault>> = {
  '40001 serialization_failure': { kind: 'raise', sqlstate: '40001' },
  '40P01 deadlock_detected': { kind: 'raise', sqlstate: '40P01' },
  '57014 query_canceled': { kind: 'raise', sqlstate: '57014' },
  '57P01 admin_shutdown': { kind: 'end' },
  '53100 disk_full': { kind: 'raise', sqlstate: '53100' },
  '23505 of another constraint': {
    kind: 'raise',
    sqlstate: '23505',
    constraint: 'customers_external_id',
  },
  'XX000 internal_error': { kind: 'raise', sqlstate: 'XX000' },
  'a reset before': { kind: 'reset', when: 'before' },
  'a reset after': { kind: 'reset', when: 'after' },
};

const away = '503 service_unavailable';

/** Where nothing is repeated: what reads the credential and the key, and what a replay shows. */
const ofReads: Readonly<Record<string, string>> = {
  '57014 query_canceled': '504 timeout',
  'XX000 internal_error': '500 internal_error',
};

/** Within a batch what may go well the next time is repeated, with the same operation ID. */
const ofBatches: Readonly<Record<string, string>> = {
  '57014 query_canceled': '503 operation_in_progress',
  '53100 disk_full': away,
  'XX000 internal_error': '500 internal_error',
};

/** What a request is answered that meets a fault once. */
export function answerTo(kind: Kind, exchange: string, fault: string): string {
  if (isOfOpening(exchange)) return away;
  if (exchange === looked || exchange === kind.find) return ofReads[fault] ?? away;
  return ofBatches[fault] ?? `${kind.status}`;
}

/** The answer when a fault that is harmless once happens at each attempt. */
export function answerToRepeated(kind: Kind, exchange: string, fault: string): string {
  // The next attempt finds its key bound when it binds it, unless the fault happens before.
  const isReached = exchange === 'commit' || !kind.lateBatch.includes(exchange);
  const isFound = isSentWithCommit(exchange) && isReached && fault === 'a reset after';
  return isFound ? `${kind.status}` : away;
}
