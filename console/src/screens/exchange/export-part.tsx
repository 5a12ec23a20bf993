// What the merchant has, as CSV that a spreadsheet opens and an import takes.

import { Button, Group, Paper, Radio, Stack, Text } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import { textsOf } from '../../../../src/exchange/export.ts';
import { countText } from '../../format.ts';
import { Failure } from '../../parts/failure.tsx';
import { LocationSelect } from '../../parts/location-select.tsx';
import { noteEnd, tb } from '../../service/client.ts';
import { type Scope, useMe } from '../../service/me.tsx';
import { usePlace } from '../../service/place.ts';
import { texts } from '../../texts.ts';
import { download } from './download.ts';

const words = texts.exchange;

type What = keyof typeof words.exports;

const scopeOf: Readonly<Record<What, Scope>> = {
  products: 'products.read',
  customers: 'customers.read',
  levels: 'inventory.read',
};

export function ExportPart() {
  const { scopes } = useMe();
  const [place, choosePlace] = usePlace();
  const [what, setWhat] = useState<What>('products');
  const { isBusy, records, problem, start } = useExport();
  const offered = (Object.keys(scopeOf) as What[]).filter((one) => scopes.has(scopeOf[one]));
  const needsPlace = what === 'levels';
  return (
    <Paper withBorder p="md" maw={560}>
      <Stack gap="sm">
        <Radio.Group
          label={words.whatExport}
          value={what}
          onChange={(chosen) => setWhat(chosen as What)}
        >
          <Stack gap={6} mt={4}>
            {offered.map((one) => (
              <Radio key={one} value={one} label={words.exports[one]} disabled={isBusy} />
            ))}
          </Stack>
        </Radio.Group>
        {needsPlace && (
          <LocationSelect value={place ?? null} onChange={choosePlace} disabled={isBusy} />
        )}
        <Text size="sm" c="dimmed">
          {words.exportHint}
        </Text>
        {problem !== undefined && <Failure error={problem} />}
        <Group>
          <Button
            loading={isBusy}
            disabled={needsPlace && typeof place !== 'string'}
            onClick={() => start(what, needsPlace ? (place ?? undefined) : undefined)}
          >
            {words.download}
          </Button>
          <Text size="sm" aria-live="polite">
            {records === undefined ? '' : words.records(countText(records))}
          </Text>
        </Group>
      </Stack>
    </Paper>
  );
}

function useExport() {
  const [isBusy, setBusy] = useState(false);
  const [records, setRecords] = useState<number>();
  const [problem, setProblem] = useState<Error>();
  const ended = useRef(new AbortController());
  useEffect(() => {
    ended.current = new AbortController();
    return () => ended.current.abort();
  }, []);
  const write = async (what: What, location: string | undefined) => {
    setBusy(true);
    setProblem(undefined);
    setRecords(0);
    try {
      const options = { format: 'csv', asOf: undefined, location } as const;
      const parts: string[] = [];
      let count = 0;
      for await (const { text, records: some } of textsOf(
        ...([tb, what, options, ended.current.signal] as const),
      )) {
        parts.push(text);
        count += some;
        setRecords(count);
      }
      download(`${what}.csv`, parts);
    } catch (error) {
      if (ended.current.signal.aborted) return;
      noteEnd(error);
      setProblem(error as Error);
    } finally {
      setBusy(false);
    }
  };
  return {
    isBusy,
    records,
    problem,
    start: (what: What, location: string | undefined) => void write(what, location),
  };
}
