// Runs checks, some at a time, and says what came of each.

import { Unmet } from './answer.ts';
import type { Check, Subject } from './check.ts';
import { LeftOut, NotTried } from './endings.ts';
import type { Shop } from './shop.ts';

export interface Outcome {
  readonly subject: string;
  readonly name: string;
  readonly why: string;
  readonly result: 'passed' | 'failed' | 'not tried' | 'left out';
  /** What was seen, or why it was not tried. */
  readonly said: string | null;
  readonly seconds: number;
}

export interface Group {
  readonly title: string;
  readonly outcomes: readonly Outcome[];
  readonly seconds: number;
}

/** Most of a check is waiting. More at once would meet the limit of a credential sooner. */
const atOnce = 12;

/** Gives each subject when its checks, and those of the subjects before it, have ended. */
export async function* runChecks(
  shop: Shop,
  subjects: readonly Subject[],
): AsyncGenerator<Group, void, undefined> {
  const free = turns(atOnce);
  const groups = subjects.map(async ({ title, checks }) => {
    const started = performance.now();
    const all = checks.map((one) => free(() => outcomeOf(shop, title, one)));
    const outcomes = await Promise.all(all);
    return { title, outcomes, seconds: secondsSince(started) };
  });
  try {
    for (const group of groups) yield await group;
  } finally {
    await shop.close();
  }
}

async function outcomeOf(shop: Shop, subject: string, one: Check): Promise<Outcome> {
  const { name, why } = one;
  const started = performance.now();
  const [result, said] = await tried(one, shop);
  return { subject, name, why, result, said, seconds: secondsSince(started) };
}

async function tried({ run }: Check, shop: Shop): Promise<[Outcome['result'], string | null]> {
  try {
    await run(shop);
    return ['passed', null];
  } catch (error) {
    if (error instanceof LeftOut) return ['left out', error.message];
    if (error instanceof NotTried) return ['not tried', error.message];
    if (error instanceof Unmet) return ['failed', error.message];
    return ['failed', error instanceof Error ? error.message : String(error)];
  }
}

function secondsSince(started: number): number {
  return Math.round(performance.now() - started) / 1_000;
}

/** Lets so many run at once, in the order in which they came. */
function turns(count: number) {
  let left = count;
  const waiting: (() => void)[] = [];
  return async <Done>(work: () => Promise<Done>): Promise<Done> => {
    if (left === 0) await new Promise<void>((resolve) => waiting.push(resolve));
    else left -= 1;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) left += 1;
      else next();
    }
  };
}
