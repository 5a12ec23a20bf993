// A history as operations on levels and on records (customers, products, locations; their name is
// what changes): one write per key, however often it was sent, and one read for every answer that
// shows a level or a record, replays among them.

import { type Attempt, isBound, isSettled, type SeenRecord } from '../history.ts';
import { type Operation, refute } from './linearizable.ts';

/** Groups writes by what makes their keys one: credential, kind and key. */
export function byKey(attempts: readonly Attempt[]): Map<string, Attempt[]> {
  const keys = new Map<string, Attempt[]>();
  for (const attempt of attempts) {
    if (attempt.key === undefined) continue;
    const name = `${attempt.credential} ${attempt.kind} ${attempt.key}`;
    const own = keys.get(name);
    if (own === undefined) keys.set(name, [attempt]);
    else own.push(attempt);
  }
  return keys;
}

export interface Registers {
  readonly count: number;
  readonly operations: number;
  /** What no order explains. */
  readonly faults: readonly string[];
}

/** What was there before the first request. */
interface Before {
  readonly given: readonly SeenRecord[];
  /** What moves by quantities, or by counts: its order is that of the ledger. */
  readonly crates: readonly string[];
  readonly goods: readonly string[];
}

export function checkRegisters(
  attempts: readonly Attempt[],
  { given, crates, goods }: Before,
): Registers {
  const unjudged = [...crates, ...goods];
  const registers = new Map<string, Operation[]>();
  const add = (name: string, operation: Operation) => {
    const own = registers.get(name);
    if (own === undefined) registers.set(name, [operation]);
    else own.push(operation);
  };
  for (const { record, name, version } of given) {
    add(record, { kind: 'set', start: -1, end: -1, name: 'given', quantity: name, version });
  }
  for (const attempt of attempts) {
    const { start, end, requestId: name = '', record } = attempt;
    for (const { product, location, quantity, version } of attempt.levels ?? []) {
      if (unjudged.includes(product)) continue;
      add(`${product} ${location}`, { kind: 'read', start, end, name, quantity, version });
    }
    if (record === undefined) continue;
    const { name: quantity, version } = record;
    add(record.record, { kind: 'read', start, end, name, quantity, version });
  }
  for (const own of byKey(attempts).values()) {
    const write = writeOf(own);
    if (write !== undefined) add(write.register, write.operation);
  }
  const all = [...registers];
  const faults = all.flatMap(([name, operations]) => {
    const refutation = refute(operations);
    return refutation === undefined ? [] : [`${name}: ${JSON.stringify(refutation)}`];
  });
  const operations = all.reduce((sum, [, own]) => sum + own.length, 0);
  return { count: registers.size, operations, faults };
}

/** From its first attempt to the first answer of any: a refused duplicate proves it, too. */
function writeOf(own: readonly Attempt[]) {
  const settled = own.filter(isSettled);
  const winner = settled.find(isBound) ?? (settled.length === 0 ? own[0] : undefined);
  const place = winner && placeOf(winner);
  if (winner === undefined || place === undefined) return undefined;
  const sent = own.filter(({ variant }) => variant === winner.variant);
  const start = Math.min(...sent.map((attempt) => attempt.start));
  const end = Math.min(...settled.map((attempt) => attempt.end));
  const { register, quantity } = place;
  const timed = { start, end, name: winner.key ?? '', quantity };
  if (winner.status === 422) {
    if (winner.code !== 'inventory_no_change') return undefined;
    return { register, operation: { kind: 'no-change', ...timed } as const };
  }
  // What a replay shows of a record is a later state of it.
  const first = own.find((one) => isBound(one) && one.isReplay !== true);
  const version = winner.movement?.sequence ?? first?.record?.version;
  return { register, operation: { kind: 'set', ...timed, version } as const };
}

function placeOf({ target, wanted, resource }: Attempt) {
  if (target !== undefined) {
    const { product, location, quantity } = target;
    return { register: `${product} ${location}`, quantity };
  }
  const register = wanted?.record ?? resource;
  if (wanted === undefined || register === undefined) return undefined;
  return { register, quantity: wanted.name };
}
