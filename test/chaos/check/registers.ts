// A history as operations on levels: one write per key, however often it was sent, and one read for
// every answer that shows a level, replays among them.

import { type Attempt, isSettled } from '../history.ts';
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

export function checkRegisters(attempts: readonly Attempt[]): Registers {
  const registers = new Map<string, Operation[]>();
  const add = (name: string, operation: Operation) => {
    const own = registers.get(name);
    if (own === undefined) registers.set(name, [operation]);
    else own.push(operation);
  };
  for (const attempt of attempts) {
    const { start, end, requestId: name = '' } = attempt;
    for (const { product, location, quantity, version } of attempt.levels ?? []) {
      add(`${product} ${location}`, { kind: 'read', start, end, name, quantity, version });
    }
  }
  for (const own of byKey(attempts).values()) {
    const [first] = own;
    if (first?.target === undefined) continue;
    const write = writeOf(own);
    if (write === undefined) continue;
    const { product, location } = write.target;
    add(`${product} ${location}`, write.operation);
  }
  const all = [...registers];
  const faults = all.flatMap(([name, operations]) => {
    const refutation = refute(operations);
    return refutation === undefined ? [] : [`level ${name}: ${JSON.stringify(refutation)}`];
  });
  const operations = all.reduce((sum, [, own]) => sum + own.length, 0);
  return { count: registers.size, operations, faults };
}

/** From its first attempt to the first answer of any: a refused twin, too, proves it was done. */
function writeOf(own: readonly Attempt[]) {
  const settled = own.filter(isSettled);
  const winner = settled.find(({ status }) => status !== 409) ?? own[0];
  if (winner?.target === undefined) return undefined;
  const { target, code, key = '' } = winner;
  const sent = own.filter(({ variant }) => variant === winner.variant);
  const start = Math.min(...sent.map((attempt) => attempt.start));
  const end = Math.min(...settled.map((attempt) => attempt.end));
  const { quantity } = target;
  const timed = { start, end, name: key, quantity };
  if (winner.movement !== undefined) {
    const { sequence: version } = winner.movement;
    return { target, operation: { kind: 'set', ...timed, version } as const };
  }
  if (code === 'inventory_no_change') {
    return { target, operation: { kind: 'no-change', ...timed } as const };
  }
  if (isSettled(winner)) return undefined;
  return { target, operation: { kind: 'set', ...timed, version: undefined } as const };
}
