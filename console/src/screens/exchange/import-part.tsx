// An import, step by step: a file, what its columns are, what it would do, and how far it came.

import { Alert, Button, FileInput, Group, Radio, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { Failure } from '../../parts/failure.tsx';
import { useDraft } from '../../service/drafts.ts';
import { useMe } from '../../service/me.tsx';
import { texts } from '../../texts.ts';
import { guessed, type Mapping, type NounName, nounNames, nounOf } from './columns.ts';
import { ImportSteps } from './import-steps.tsx';
import { RunProgress } from './run-progress.tsx';
import type { Run } from './send-rows.ts';
import { readSource, type Source, withConstants } from './source.ts';

const words = texts.exchange;

interface Chosen {
  readonly source: Source;
  readonly noun: NounName;
  readonly mapping: Mapping;
}

export function ImportPart() {
  const draft = useDraft<Run | null>('import', null);
  const { noun, setNoun, offered } = useNoun(draft.value);
  const [file, setFile] = useState<File | null>(null);
  const [chosen, setChosen] = useState<Chosen>();
  const [problem, setProblem] = useState<Error>();
  const run = draft.value;
  const choose = async (next: File | null, as: NounName) => {
    setFile(next);
    setChosen(undefined);
    setProblem(undefined);
    if (next === null) return;
    try {
      const source = await readSource(next);
      // Another file is another import, once the last one has ended.
      if (run?.isFinished === true && run.file.mark !== source.mark) draft.clear();
      setChosen({ source, noun: as, mapping: guessed(nounOf(as), source.header) });
    } catch (error) {
      setProblem(error as Error);
    }
  };
  const start = () => {
    draft.clear();
    void choose(null, noun);
  };
  const isOfRun = run !== null && chosen?.source.mark === run.file.mark;
  return (
    <Stack gap="md">
      {run !== null && !isOfRun && <Unfinished run={run} onForget={start} />}
      {!isOfRun && (
        <ChooseFile
          {...{ noun, offered, file }}
          onNoun={(next) => {
            setNoun(next);
            void choose(file, next);
          }}
          onFile={(next) => void choose(next, noun)}
        />
      )}
      {problem !== undefined && <Failure error={problem} title={words.unreadable} />}
      {chosen !== undefined && run === null && (
        <ImportSteps
          key={`${chosen.source.mark} ${chosen.noun}`}
          {...chosen}
          onStart={(begun) => draft.change(begun)}
        />
      )}
      {chosen !== undefined && run !== null && isOfRun && (
        <RunProgress
          key={run.key}
          source={withConstants(chosen.source, run.constants)}
          draft={draft}
          onAnother={start}
        />
      )}
    </Stack>
  );
}

interface ChooseFileProps {
  readonly noun: NounName;
  readonly offered: readonly NounName[];
  readonly file: File | null;
  onNoun(noun: NounName): void;
  onFile(file: File | null): void;
}

function ChooseFile({ noun, offered, file, onNoun, onFile }: ChooseFileProps) {
  return (
    <Group align="flex-end" gap="lg">
      <Radio.Group
        label={words.whatImport}
        value={noun}
        onChange={(value) => onNoun(value as NounName)}
      >
        <Group mt={6} mb={6}>
          {offered.map((one) => (
            <Radio key={one} value={one} label={words.nouns[one]} />
          ))}
        </Group>
      </Radio.Group>
      <FileInput
        label={words.file}
        placeholder={words.chooseFile}
        accept=".csv,.txt,text/csv"
        value={file}
        w={{ base: '100%', xs: 320 }}
        onChange={onFile}
      />
    </Group>
  );
}

/** What somebody may import. */
export function useImports(): readonly NounName[] {
  const { scopes } = useMe();
  const held: ReadonlySet<string> = scopes;
  return nounNames.filter((one) => nounOf(one).scopes.every((scope) => held.has(scope)));
}

function useNoun(run: Run | null) {
  const offered = useImports();
  const [noun, setNoun] = useState<NounName>(run?.noun ?? offered[0] ?? 'products');
  return { noun, setNoun, offered };
}

interface UnfinishedProps {
  readonly run: Run;
  onForget(): void;
}

function Unfinished({ run, onForget }: UnfinishedProps) {
  const { file, next, rows, isFinished } = run;
  return (
    <Alert
      color={isFinished ? 'teal' : 'orange'}
      variant="light"
      title={isFinished ? words.wasFinished(file.name) : words.unfinished(file.name)}
    >
      <Text size="sm">{isFinished ? words.seeAgain : words.goOn(next, rows)}</Text>
      <Button mt="xs" size="xs" variant="default" onClick={onForget}>
        {isFinished ? words.another : words.forget}
      </Button>
    </Alert>
  );
}
