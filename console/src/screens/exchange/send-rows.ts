// Sends the rows of a file, list by list, each under the key of its run: a page that was closed
// goes on where it was, and what was done already is not done again.

import type { Tallybook } from '@tallybook/client';
import { chunksOf } from '../../../../src/exchange/chunks.ts';
import { isRecordNoun } from '../../../../src/exchange/nouns.ts';
import { CountSender } from '../../../../src/exchange/send-counts.ts';
import { RecordSender } from '../../../../src/exchange/send-records.ts';
import type { Sender, Plan as SendPlan } from '../../../../src/exchange/sender.ts';
import {
  type Counting,
  type Kind,
  nameOf,
  type Plan,
  rowsFrom,
  type Wanted,
} from './check-rows.ts';
import type { Mapping, NounName } from './columns.ts';
import type { Constants } from './source.ts';

/** What is kept in the browser. */
export interface Run {
  /** The beginning of its keys. */
  readonly key: string;
  readonly file: { readonly name: string; readonly mark: string };
  readonly noun: NounName;
  /** With the constants behind the columns of the file. */
  readonly mapping: Mapping;
  readonly constants: Constants;
  readonly add: boolean;
  readonly counting: Counting | null;
  readonly rows: number;
  /** Rows before this one are settled. */
  readonly next: number;
  readonly totals: Readonly<Record<Kind, number>>;
  /** Rows that the service refused, by their index, with the reason. */
  readonly refused: readonly (readonly [index: number, reason: string])[];
  /** What became of levels: the first of them, by the index of their row. */
  readonly changes: readonly (readonly [index: number, text: string])[];
  /** What was found for the rows that are under way. */
  readonly plan: { readonly first: number; readonly plan: SendPlan } | null;
  readonly isFinished: boolean;
}

/** Of a million rows nobody reads more; Movements has them all. */
const changesMax = 100;

/** @throws what a request throws: the run can go on later. */
export async function sendRows(
  tb: Tallybook,
  { noun, counting }: Wanted,
  { reader, finders, good }: Plan,
  begun: Run,
  keep: (run: Run) => void,
  signal: AbortSignal,
): Promise<void> {
  let run = begun;
  const save = (change: Partial<Run>) => {
    run = { ...run, ...change };
    keep(run);
  };
  const connection = { tb, signal };
  const sender: Sender = isRecordNoun(noun)
    ? new RecordSender(connection, noun, finders, run.key)
    : new CountSender(connection, countTarget(counting), finders, {
        run: run.key,
        counted_at: counting?.counted_at ?? null,
      });
  for await (const chunk of chunksOf(noun, reader, rowsFrom(good), run.next)) {
    signal.throwIfAborted();
    const { first, items } = chunk;
    const kept = run.plan?.first === first ? run.plan.plan : undefined;
    const plan = kept ?? (await sender.plan(chunk));
    if (plan !== undefined && kept === undefined) save({ plan: { first, plan } });
    const outcomes = await sender.send(chunk, plan, async (next) => {
      save({ plan: { first, plan: next } });
    });
    const totals = { ...run.totals };
    const refused = [...run.refused];
    const changes = [...run.changes];
    for (const [place, outcome] of outcomes.entries()) {
      totals[outcome.kind] += 1;
      const item = items[place];
      if (item === undefined) continue;
      const { index } = item.row;
      if (outcome.kind === 'refused') refused.push([index, outcome.reason]);
      else if (outcome.text !== undefined && changes.length < changesMax)
        changes.push([index, `${nameOf(finders, item)}${outcome.text}`]);
    }
    const next = (items.at(-1)?.row.index ?? first) + 1;
    save({ totals, refused, changes, next, plan: null });
  }
  save({ isFinished: true });
}

const countTarget = (counting: Counting | null) => ({
  location_id: counting?.location_id ?? '',
  reference: counting?.reference || undefined,
  note: undefined,
});
