// How far an import came. It goes on by itself when its file is there, and says what was refused.

import { Anchor, Button, Group, Paper, Progress, Stack, Text, Title } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { stringify } from 'csv-stringify/browser/esm/sync';
import { useEffect, useRef, useState } from 'react';
import { Link } from 'react-router';
import { countText } from '../../format.ts';
import { Failure } from '../../parts/failure.tsx';
import { tb } from '../../service/client.ts';
import type { Draft } from '../../service/drafts.ts';
import { texts } from '../../texts.ts';
import { type Plan, planOf } from './check-rows.ts';
import { nounOf } from './columns.ts';
import { download } from './download.ts';
import { ResultRows, Totals } from './results.tsx';
import { type Run, sendRows } from './send-rows.ts';
import type { Source } from './source.ts';
import { useAttempt } from './use-attempt.ts';

const words = texts.exchange;

/** The column that an import passes over, should the mended file have it still. */
const reasonColumn = 'refused_because';

interface RunProgressProps {
  readonly source: Source;
  readonly draft: Draft<Run | null>;
  onAnother(): void;
}

export function RunProgress({ source, draft, onAnother }: RunProgressProps) {
  const run = draft.value;
  const [plan] = useState(() => run && planOf(wantedOf(source, run)));
  const { problem, isBusy, goOn } = useSending(source, draft, plan);
  if (run === null || plan === null) return null;
  const done = run.isFinished ? run.rows : run.next;
  const totals = { ...run.totals, refused: run.totals.refused + plan.refused.length };
  const refused = [
    ...plan.refused.map(({ index, text }) => [index, text] as const),
    ...run.refused,
  ].sort(([a], [b]) => a - b);
  return (
    <Paper withBorder p="md" maw={640}>
      <Stack gap="sm" aria-live="polite">
        <Title order={2}>{run.isFinished ? words.finished : words.importing(run.file.name)}</Title>
        <Progress value={(100 * done) / run.rows} aria-label={words.progress} />
        <Text size="sm">
          {words.rowsDone(countText(done), countText(run.rows))} {!run.isFinished && words.keepOpen}
        </Text>
        <Totals totals={totals} />
        {run.isFinished && run.counting !== null && <Changes run={run} source={source} />}
        {problem !== undefined && !isBusy && (
          <Failure error={problem} title={words.stopped} onAgain={goOn} />
        )}
        <Group>
          {run.isFinished && refused.length > 0 && (
            <Button
              variant="default"
              onClick={() => download(`refused-${run.file.name}`, [refusedText(source, refused)])}
            >
              {words.downloadRefused}
            </Button>
          )}
          {run.isFinished && <Button onClick={onAnother}>{words.another}</Button>}
        </Group>
      </Stack>
    </Paper>
  );
}

/** What became of the levels, and where all of it stands. */
function Changes({ run, source }: { readonly run: Run; readonly source: Source }) {
  const results = run.changes.map(([index, text]) => {
    return { index, line: source.rows[index]?.line ?? 0, kind: 'changed' as const, text };
  });
  const address = `/movements?location=${run.counting?.location_id}&reason=stock_count`;
  return (
    <>
      <ResultRows results={results} />
      <Anchor component={Link} to={address} size="sm">
        {words.seeMovements}
      </Anchor>
    </>
  );
}

const wantedOf = (source: Source, { noun, mapping, add, counting }: Run) => ({
  ...{ source, noun: nounOf(noun), mapping, add, counting },
});

function useSending(source: Source, draft: Draft<Run | null>, plan: Plan | null) {
  const queries = useQueryClient();
  const { problem, isBusy, attempt } = useAttempt();
  const ended = useRef(new AbortController());
  const send = async () => {
    const run = draft.value;
    if (run === null || plan === null || run.isFinished) return;
    const { signal } = ended.current;
    const keep = (next: Run) => {
      if (!signal.aborted) draft.change(next);
    };
    await attempt(signal, async () => {
      await sendRows(tb, wantedOf(source, run), plan, run, keep, signal);
      void queries.invalidateQueries();
    });
  };
  const latest = useRef(send);
  latest.current = send;
  useEffect(() => {
    ended.current = new AbortController();
    void latest.current();
    return () => ended.current.abort();
  }, []);
  return { problem, isBusy, goOn: () => void send() };
}

/** As they stood in the file, with the reason, to be mended and imported again. */
function refusedText(
  { header, rows, delimiter }: Source,
  refused: readonly (readonly [index: number, reason: string])[],
): string {
  const kept = (cells: readonly string[]) =>
    cells.filter((_, index) => header[index] !== reasonColumn);
  const lines = refused.map(([index, reason]) => [...kept(rows[index]?.cells ?? []), reason]);
  return stringify([[...kept(header), reasonColumn], ...lines], { delimiter });
}
