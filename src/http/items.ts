// The writes of a batch, between one request and one answer: each is gathered, judged and performed
// as its own request would be, by the same functions, and its answer becomes a result in the list.

import { setImmediate as turn } from 'node:timers/promises';
import { limits } from '../core/limits.ts';
import type { Problem } from '../core/problem.ts';
import { problemAnswer, problemOf, type Success } from './respond.ts';

/**
 * Makes something of each, and lets others have their turn meanwhile: to parse and to fingerprint
 * the bodies of a large batch takes a while.
 */
export async function eachInTurns<Item>(
  items: readonly Item[],
  make: (item: Item) => void,
): Promise<undefined> {
  let since = performance.now();
  for (const item of items) {
    make(item);
    if (performance.now() - since < limits.turnTime) continue;
    await turn();
    since = performance.now();
  }
}

/** What the own request of a write would be answered; headers that say something are in `meta`. */
export async function resultOf(
  answer: Promise<Success>,
  requestId: string,
  note: (problem: Problem) => void,
): Promise<object> {
  try {
    const { status, data, meta, headers = {} } = await answer;
    const replayed = 'Idempotent-Replayed' in headers ? { replayed: true } : {};
    return { status, data, meta: { request_id: requestId, ...meta, ...replayed } };
  } catch (failure) {
    const problem = problemOf(failure);
    note(problem);
    const { error, meta } = problemAnswer(problem, requestId);
    const wait = problem.headers['Retry-After'];
    const more = {
      ...(problem.replayed ? { replayed: true } : {}),
      ...(wait === undefined ? {} : { retry_after: Number(wait) }),
    };
    return { status: problem.status, error, meta: { ...meta, ...more } };
  }
}
