// Sends the rows of a file: several lists at once, and what became of them in order, so that one
// number says how far the run came.

import type { Chunk } from './chunks.ts';
import { chunksOf } from './chunks.ts';
import type { SourceFile } from './file.ts';
import type { ColumnMap } from './header.ts';
import type { Noun } from './nouns.ts';
import { RefusedRows, refusedPath } from './refused.ts';
import { RowReader } from './rows.ts';
import type { RunFile } from './run-file.ts';
import type { RowOutcome, Sender } from './sender.ts';

/** Lists under way: a merchant has two workers at most, and the next lists wait for them. */
const listsAtOnce = 4;

interface Work {
  readonly file: SourceFile;
  readonly noun: Noun;
  readonly map: ColumnMap;
  readonly runFile: RunFile;
  readonly sender: Sender;
  readonly signal: AbortSignal;
  /** Hears how many rows are done. */
  progress(rows: number): void;
}

interface Sent {
  readonly chunk: Chunk;
  readonly outcomes: Promise<RowOutcome[]>;
}

/** Returns the path of the refused rows, if there are any. */
export async function carryOut(work: Work): Promise<string | undefined> {
  const { file, noun, map, runFile, signal } = work;
  const { run } = runFile;
  const { header, rows } = await file.table();
  const refused = await RefusedRows.open(
    refusedPath(file.path, file.format),
    { header, delimiter: file.delimiter },
    run.refused_bytes,
  );
  const underWay: Sent[] = [];
  const settleFirst = async () => {
    const [sent] = underWay;
    if (sent === undefined) return;
    await settle(work, refused, sent);
    underWay.shift();
  };
  try {
    const reader = new RowReader(noun, map, header);
    for await (const chunk of chunksOf(noun, reader, rows, run.rows_done)) {
      signal.throwIfAborted();
      await file.mustBeUnchanged();
      const outcomes = outcomesOf(work, chunk);
      outcomes.catch(() => undefined);
      underWay.push({ chunk, outcomes });
      if (underWay.length === listsAtOnce) await settleFirst();
    }
    while (underWay.length > 0) await settleFirst();
    run.isFinished = true;
  } finally {
    await Promise.allSettled(underWay.map(({ outcomes }) => outcomes));
    await runFile.save();
    await refused.close();
  }
  return run.totals.refused > 0 ? refused.path : undefined;
}

async function outcomesOf({ runFile, sender }: Work, chunk: Chunk): Promise<RowOutcome[]> {
  const { plans } = runFile.run;
  const keep = async (plan: NonNullable<(typeof plans)[string]>) => {
    plans[chunk.first] = plan;
    await runFile.save();
  };
  const kept = plans[chunk.first];
  const plan = kept ?? (await sender.plan(chunk));
  if (kept === undefined && plan !== undefined) await keep(plan);
  return sender.send(chunk, plan, keep);
}

async function settle(work: Work, refused: RefusedRows, { chunk, outcomes }: Sent): Promise<void> {
  const { runFile, progress } = work;
  const { run } = runFile;
  const settled = await outcomes;
  const rows = chunk.items.map(({ row }, place) => ({ row, outcome: settled[place] }));
  await refused.add(
    rows.flatMap(({ row, outcome }) =>
      outcome?.kind === 'refused' ? [{ row, reason: outcome.reason }] : [],
    ),
  );
  for (const { outcome } of rows) run.totals[outcome?.kind ?? 'unchanged'] += 1;
  run.rows_done = chunk.first + chunk.items.length;
  run.refused_bytes = refused.bytes;
  delete run.plans[chunk.first];
  // A crash before it is saved costs a list that is sent again.
  runFile.save().catch(() => undefined);
  progress(run.rows_done);
}
