// The ways of a write through the database, each with the exchanges that it waits for. A test holds
// the lists against what really happens, so that no new await goes without its faults.

import type { Fault } from '../support/exchanges.ts';
import { path, type Stand, type Write } from './stand.ts';

/** What loads, saves and commits a batch of adjustments. */
export const batch = [
  'begin',
  'share_locations',
  'create_levels',
  'lock_levels',
  'find_products_to_adjust',
  'bind_keys save_levels save_movements',
  'commit',
] as const;

/** The same, where the rule refuses: of a twin, what it wants is so already. */
const refusedBatch = batch.map((name) => (name.startsWith('bind_keys') ? 'bind_keys' : name));

export interface Way {
  readonly name: string;
  /** In order, on connections that are open. */
  readonly exchanges: readonly string[];
  /** Those of them that no other way has: here faults are put. */
  readonly own: readonly string[];
  /** Whether its success is a replay. */
  readonly isReplay: boolean;
  /** Done before the request. */
  prepare(stand: Stand, write: Write): Promise<unknown>;
  /** What happens at an exchange to make the request go this way. */
  steer(stand: Stand, write: Write): (exchange: string) => Fault | undefined;
}

const straight = () => () => undefined;

export const first: Way = {
  name: 'a first request',
  exchanges: ['find_credentials', ...batch],
  own: ['find_credentials', ...batch],
  isReplay: false,
  prepare: async () => undefined,
  steer: straight,
};

export const repeated: Way = {
  name: 'a repeated request',
  exchanges: ['find_credentials', 'find_adjustments'],
  own: ['find_credentials', 'find_adjustments'],
  isReplay: true,
  prepare: (stand, { body, key }) => stand.api.post(path, body, { key }),
  steer: straight,
};

export const overtaken: Way = {
  name: 'a request whose twin commits after its key was looked up',
  exchanges: ['find_credentials', ...refusedBatch, 'find_keys', 'find_adjustments'],
  own: ['find_keys', 'find_adjustments'],
  isReplay: true,
  prepare: async () => undefined,
  steer(stand, { body, key }) {
    let twin: Promise<unknown> | undefined;
    return (exchange) => {
      if (exchange !== 'begin' || twin !== undefined) return undefined;
      twin = stand.api.post(path, body, { key });
      return { kind: 'hold', until: twin };
    };
  },
};

export const lost: Way = {
  name: 'a request whose commit is done, and its answer lost',
  exchanges: [
    ...['find_credentials', ...batch, ...refusedBatch],
    ...['find_keys', 'find_adjustments'],
  ],
  own: ['find_keys', 'find_adjustments'],
  isReplay: false,
  prepare: async () => undefined,
  steer() {
    let isLost = false;
    return (exchange) => {
      if (exchange !== 'commit' || isLost) return undefined;
      isLost = true;
      return { kind: 'reset', when: 'after' };
    };
  },
};

export const ways: readonly Way[] = [first, repeated, overtaken, lost];

/** Faults that hit at once. Those that take their time are in test/failpoints/stall.test.ts. */
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
export function answerTo(exchange: string, fault: string): string {
  if (exchange === 'connect') return away;
  if (exchange === 'find_credentials' || exchange === 'find_adjustments') {
    return ofReads[fault] ?? away;
  }
  return ofBatches[fault] ?? '201';
}

/** What it is answered when what it would survive once happens each time it comes here. */
export function answerToRepeated(exchange: string, fault: string): string {
  // COMMIT is on its way with what it commits. What was lost behind it is found: its key is bound.
  const isSent = exchange === 'commit' || exchange.startsWith('bind_keys');
  if (isSent && fault === 'a reset after') return '201';
  return away;
}
