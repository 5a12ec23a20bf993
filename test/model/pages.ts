// Lists, a page at a time: to the end at once, or as far as some page, to be gone on from later by
// whoever, after whatever has happened in between.

import { expect } from 'vitest';
import type { JsonObject } from '../../src/contract/json.ts';
import { used } from './access.ts';
import { adoptTimes, plain, readAnswer, refusalAnswer } from './answers.ts';
import { type Command, command, type Real } from './commands.ts';
import { callerOf, type ListDraft, listOf } from './drafts.ts';
import { refusalOfCaller } from './rules.ts';
import { entries, following, metaOf, momentOf, placeKey, scopes, sortKey } from './views.ts';
import type { Caller, List, Merchant, World } from './world.ts';

export const list = (
  draft: ListDraft & { by: number; limits: readonly number[]; pages: number },
): Command =>
  command('list', draft, async (world, real) => {
    const caller = callerOf(world, draft.by);
    const wanted = listOf(world, caller.credential, draft);
    await turnPages(world, real, { caller, list: wanted, ...draft });
  });

export const goOn = (draft: {
  by: number;
  which: number;
  limits: readonly number[];
  pages: number;
}): Command =>
  command('goOn', draft, async (world, real) => {
    const bookmark = world.bookmarks[draft.which % world.bookmarks.length];
    if (bookmark === undefined) return;
    const caller = callerOf(world, draft.by);
    if (caller.credential.merchant === bookmark.merchant) {
      await turnPages(world, real, { caller, ...bookmark, ...draft });
      return;
    }
    const answer = await ask(real, caller, bookmark.list, 1, bookmark.cursor);
    const details = [{ field: 'query.cursor', code: 'malformed' }];
    const foreign = { status: 400, code: 'invalid_cursor', details };
    const refusal = refusalOfCaller(caller, scopes[bookmark.list.name]) ?? foreign;
    expect(plain(answer)).toEqual(refusalAnswer(refusal));
    real.note('a foreign cursor');
  });

interface Reading {
  readonly caller: Caller;
  readonly list: List;
  readonly limits: readonly number[];
  readonly pages: number;
  readonly after?: string;
  readonly cursor?: string;
  readonly moment?: number | undefined;
}

async function turnPages(world: World, real: Real, reading: Reading): Promise<void> {
  const { caller, list: wanted, limits, pages } = reading;
  const { merchant } = caller.credential;
  let { after, cursor } = reading;
  const moment = cursor === undefined ? momentOf(merchant, wanted) : reading.moment;
  for (let page = 0; page < pages; page += 1) {
    const limit = limits[page % limits.length] ?? 50;
    const { refusal, value } = entries(world, caller, wanted, moment);
    const answer = await ask(real, caller, wanted, limit, cursor);
    if (refusal !== undefined) {
      expect(plain(answer)).toEqual(refusalAnswer(refusal));
      real.note(`list ${wanted.name} ${refusal.code}`);
      return;
    }
    const rest = after === undefined ? value : following(wanted, value, after);
    const rows = rest.slice(0, limit);
    if (wanted.name === 'operations') adoptTimes(world.begun, rows, answer.body.data ?? []);
    const seen: readonly JsonObject[] = answer.body.data ?? [];
    expect(plain(answer)).toEqual(readAnswer(rows.map((row, n) => used(row, seen[n]))));
    const last = rows.at(-1);
    const hasMore = rest.length > limit && last !== undefined;
    const { request_id: _, next_cursor, ...meta } = answer.body.meta;
    expect(next_cursor !== undefined, 'there is a next cursor').toBe(hasMore);
    const cut = metaOf(merchant, wanted, { rows, next: rest[limit], moment });
    expect(meta).toEqual(cut);
    if (moment !== undefined) real.note(`list ${wanted.name} as of ${past(merchant, moment)}`);
    real.note(`list ${wanted.name} ${page === 0 && cursor === undefined ? 'first' : 'next'} page`);
    if (!hasMore) return;
    const { through_position } = cut;
    after = wanted.name === 'events' ? placeKey(through_position) : sortKey(wanted, last);
    cursor = answer.body.meta.next_cursor;
  }
  if (after === undefined || cursor === undefined) return;
  world.bookmarks.push({ merchant, list: wanted, after, cursor, moment });
}

const past = ({ journal }: Merchant, moment: number) =>
  moment === journal.times.length ? 'the present' : 'the past';

function ask(real: Real, caller: Caller, wanted: List, limit: number, cursor?: string) {
  const query = new URLSearchParams([...wanted.query] as [string, string][]);
  query.set('limit', String(limit));
  if (cursor !== undefined) query.set('cursor', cursor);
  const path = `${folderOf(wanted)}?${query}`;
  return real.send(caller, 'GET', path, wanted.key === undefined ? {} : { key: wanted.key });
}

function folderOf({ name, id }: List): string {
  if (name === 'product levels') return `/products/${id}/levels`;
  return listsOfStock.includes(name) ? `/inventory/${name}` : `/${name}`;
}

const listsOfStock: readonly List['name'][] = [
  ...(['levels', 'movements', 'transfers', 'counts', 'reservations'] as const),
];
