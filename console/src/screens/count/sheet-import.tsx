// Reads a sheet that somebody filled in. Faults are told by line, and then nothing is taken over.

import { Alert, Button, FileButton, List } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Failure } from '../../parts/failure.tsx';
import { texts } from '../../texts.ts';
import { readSheet, type SheetFault } from './read-sheet.ts';
import type { Beginning, CountLine } from './use-count.ts';

const words = texts.count;

interface SheetImportProps {
  readonly place: string;
  readonly begun: Beginning;
  readonly disabled: boolean;
  onRead(lines: readonly CountLine[]): void;
}

const shown = 12;

export function SheetImport({ place, begun, disabled, onRead }: SheetImportProps) {
  const { mutate, data, error, isPending } = useMutation({
    mutationFn: async (file: File) => readSheet(await file.text(), place, begun),
    onSuccess: ({ faults, lines }) => {
      if (faults.length === 0) onRead(lines);
    },
  });
  return (
    <>
      <FileButton
        accept=".csv,.txt,text/csv,text/plain"
        inputProps={{ 'aria-label': words.importSheet }}
        onChange={(file) => file !== null && mutate(file)}
      >
        {(button) => (
          <Button {...button} variant="default" size="xs" disabled={disabled} loading={isPending}>
            {words.importSheet}
          </Button>
        )}
      </FileButton>
      {error !== null && <Failure error={error} />}
      {data !== undefined && data.faults.length > 0 && <Faults faults={data.faults} />}
      {data?.faults.length === 0 && (
        <Alert role="status" color="teal" variant="light" w="100%" p="xs">
          {words.read(data.lines.length)}
        </Alert>
      )}
    </>
  );
}

function Faults({ faults }: { readonly faults: readonly SheetFault[] }) {
  return (
    <Alert role="alert" color="red" variant="light" w="100%" title={words.sheetFaults}>
      <List size="sm">
        {faults.slice(0, shown).map(({ line, what }) => (
          <List.Item key={`${line} ${what}`}>{words.fault(line, what)}</List.Item>
        ))}
        {faults.length > shown && (
          <List.Item>{texts.failure.more(faults.length - shown)}</List.Item>
        )}
      </List>
    </Alert>
  );
}
