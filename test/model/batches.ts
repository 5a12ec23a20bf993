// Batches: writes of the model together in one request. Their order is the service's choice: that
// of the positions.

import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { JsonObject } from '../../src/contract/json.ts';
import type { Answer } from '../kit/api.ts';
import {
  etagOf,
  fits,
  isReplay,
  locationOf,
  newId,
  plain,
  refusalAnswer,
  settle,
} from './answers.ts';
import { type Command, command, type DefiniteAnswer, type Real } from './commands.ts';
import { callerOf, keyOf, type WriteDraft, writeOf } from './drafts.ts';
import { hasId, judge, refusalOfCaller, sentBody } from './rules.ts';
import { actorOf, type Caller, type World, type Write } from './world.ts';

export interface BatchDraft {
  readonly by: number;
  readonly writes: readonly WriteDraft[];
  /** How often it is sent, one after the other. */
  readonly times: number;
}

interface Item {
  readonly write: Write;
  readonly key: string;
}

export const batch = (draft: BatchDraft): Command =>
  command('batch', draft, async (world, real) => {
    const caller = callerOf(world, draft.by);
    const items = itemsOf(world, caller, draft);
    world.keys += 1;
    const key = `key-of-a-batch-${world.keys}`;
    let known: string | undefined;
    for (let time = 0; time < draft.times; time += 1) {
      const from = Date.now();
      const { answer, isUnclear } = await send(real, caller, items, key);
      const refusal = refusalOfCaller(caller, null);
      if (refusal !== undefined) {
        expect(plain(answer)).toEqual(refusalAnswer(refusal));
        return;
      }
      const { id, results } = answer.body.data;
      expect([answer.status, results.length]).toEqual([200, items.length]);
      expect(answer.body.meta.operation_id).toBe(id);
      if (!isUnclear) expect(isReplay(answer)).toBe(time > 0);
      if (known === undefined) bind(world, caller, id, answer);
      else expect(id).toBe(known);
      known = id;
      settleAll(world, real, { caller, items, results, isUnclear, span: { from, to: Date.now() } });
    }
  });

/** Keys of one type differ. */
function itemsOf(world: World, { credential }: Caller, { writes }: BatchDraft): Item[] {
  const seen = new Set<string>();
  return writes
    .map((draft) => ({ write: writeOf(world, credential, draft), key: keyOf(world, draft.key) }))
    .filter(({ write, key }) => {
      const name = `${write.type} ${key}`;
      return !seen.has(name) && seen.add(name);
    });
}

/** Until each of its writes has a definite answer. */
async function send(
  real: Real,
  caller: Caller,
  items: readonly Item[],
  key: string,
): Promise<{ answer: DefiniteAnswer; isUnclear: boolean }> {
  const operations = items.map(({ write, key: idempotency_key }) => ({
    type: write.type,
    idempotency_key,
    ...(hasId(write.type) ? { id: write.id } : {}),
    ...(write.named === undefined ? {} : { external_id: write.named }),
    ...(write.ifMatch === undefined ? {} : { if_match: write.ifMatch }),
    body: sentBody(write),
  }));
  const request = { body: JSON.stringify({ operations }), key };
  for (let isUnclear = false; ; isUnclear = true) {
    const answer = await real.send(caller, 'POST', '/batches', request);
    const results: readonly { status: number }[] = answer.body.data?.results ?? [];
    const isDefinite = !results.some(({ status }) => status >= 500);
    if (isDefinite) return { answer, isUnclear: isUnclear || answer.isRetry };
    await sleep(200);
  }
}

interface Ended {
  readonly caller: Caller;
  readonly items: readonly Item[];
  readonly results: readonly JsonObject[];
  readonly isUnclear: boolean;
  readonly span: { readonly from: number; readonly to: number };
}

/**
 * What changed something is in the order of positions. What did not was judged on what was there
 * between two of these, nobody knows which: its answer must be right once.
 */
function settleAll(world: World, real: Real, ended: Ended): void {
  const { caller, span, isUnclear } = ended;
  const before = caller.credential.merchant.journal.times.length;
  const all = ended.items.map((item, n) => {
    const answer = answerOf(item, ended.results[n]);
    const place = Number(answer.body.meta.position ?? 0);
    return { ...item, answer, place: place > before ? place : 0 };
  });
  const changes = all.filter(({ place }) => place > 0).sort((a, b) => a.place - b.place);
  let left = all.filter(({ place }) => place === 0);
  const settleOne = ({ write, key, answer }: (typeof all)[number]) => {
    const verdict = judge(world, caller, write, key);
    real.note(`in a batch: ${write.type} ${verdict.kind}`);
    settle(world, verdict, { caller, write, key, answer, span, isUnclear });
    world.sent.push({ credential: caller.credential, write, key });
  };
  for (const next of [...changes, undefined]) {
    const right = left.filter(({ write, key, answer }) => {
      const verdict = judge(world, caller, write, key);
      return fits(verdict, { caller, write, key, answer, span, isUnclear });
    });
    for (const one of next === undefined ? left : right) settleOne(one);
    left = left.filter((one) => !right.includes(one));
    if (next !== undefined) settleOne(next);
  }
}

/** A result as its own request would be answered. */
function answerOf({ write }: Item, result: JsonObject | undefined): Answer {
  const { status, data, error, meta } = result as Record<string, JsonObject | undefined>;
  const { replayed, ...others } = meta ?? {};
  const headers = new Headers();
  if (replayed === true) headers.set('idempotent-replayed', 'true');
  if (data !== undefined) {
    const etag = etagOf(data);
    if (etag !== null) headers.set('etag', etag);
    if (Number(status) === 201) headers.set('location', locationOf(write.type, String(data.id)));
  }
  const code = error === undefined ? undefined : String(error.code);
  if (code === 'insufficient_scope') {
    const [detail] = (error?.details ?? []) as unknown as { scope: string }[];
    const challenge = `Bearer realm="tallybook", error="${code}", scope="${detail?.scope}"`;
    headers.set('www-authenticate', challenge);
  }
  return { status: Number(status), code, headers, body: { data, error, meta: others } };
}

function bind(world: World, { credential }: Caller, operation: string, answer: Answer): void {
  const id = newId(world, operation, 'op_');
  credential.merchant.operations.set(id, {
    id,
    type: 'batches.submit',
    status: 'succeeded',
    resource: { type: 'batch', id },
    error: null,
    location_id: null,
    position: null,
    credential_id: credential.id,
    actor: actorOf(credential),
    request_id: answer.body.meta.request_id,
    created_at: null,
  });
}
