// What the columns of a file are, and what it would do.

import {
  Button,
  Checkbox,
  Group,
  Paper,
  Progress,
  Select,
  Stack,
  Table,
  Text,
  TextInput,
  Title,
} from '@mantine/core';
import { newKey } from '@tallybook/client';
import { useState } from 'react';
import { countText } from '../../format.ts';
import { Failure } from '../../parts/failure.tsx';
import { texts } from '../../texts.ts';
import type { RowResult, Wanted } from './check-rows.ts';
import { fieldsOf, isEnough, type Mapping, missingIn, type NounName, nounOf } from './columns.ts';
import { CountedWhere, useWhere } from './counted-where.tsx';
import { Results } from './results.tsx';
import type { Run } from './send-rows.ts';
import { type Constants, type Source, withConstants } from './source.ts';
import { useCheck } from './use-check.ts';

const words = texts.exchange;

interface ImportStepsProps {
  readonly source: Source;
  readonly noun: NounName;
  readonly mapping: Mapping;
  onStart(run: Run): void;
}

export function ImportSteps({ source: file, noun, mapping: guess, onStart }: ImportStepsProps) {
  const [columns, setColumns] = useState(guess);
  const { missing, constants, setConstant } = useConstants(columns);
  const [add, setAdd] = useState(false);
  const used = useWhere(noun);
  const { checked, done, problem, isBusy, check, forget } = useCheck();
  const source = withConstants(file, constants);
  const mapping = [...columns, ...Object.keys(constants)];
  const twice = mapping.find((field, index) => field !== '' && mapping.indexOf(field) !== index);
  const needsMore = !isEnough(nounOf(noun), mapping);
  const isOff = twice !== undefined || needsMore || (noun === 'counts' && used.where === null);
  /** What was looked at was something else. */
  const changed = <Value,>(set: (value: Value) => void) => {
    return (value: Value) => {
      set(value);
      forget();
    };
  };
  return (
    <Stack gap="md">
      <Columns source={file} noun={noun} mapping={columns} onChange={changed(setColumns)} />
      <MissingFields {...{ missing, constants }} onChange={changed(setConstant)} />
      {twice !== undefined && <Text c="var(--mantine-color-error)">{words.twice(twice)}</Text>}
      {noun === 'counts' ? (
        <CountedWhere {...used} onChange={forget} />
      ) : (
        <Checkbox
          label={words.add(finderNames(noun))}
          checked={add}
          onChange={(event) => changed(setAdd)(event.currentTarget.checked)}
        />
      )}
      {noun === 'counts' && needsMore && (
        <Text c="var(--mantine-color-error)">{words.countNeeds(finderNames(noun))}</Text>
      )}
      <Group>
        <Button
          variant={checked === undefined ? 'filled' : 'default'}
          loading={isBusy}
          disabled={isOff}
          onClick={() => check({ source, noun: nounOf(noun), mapping, add }, used.where)}
        >
          {words.check}
        </Button>
        <Text size="sm" c="dimmed">
          {words.checkHint}
        </Text>
      </Group>
      {isBusy && <Progress value={(100 * done) / source.rows.length} aria-label={words.checking} />}
      {problem !== undefined && <Failure error={problem} />}
      {checked !== undefined && (
        <Found
          results={checked.results}
          onStart={() => onStart(runOf(noun, constants, checked.wanted))}
        />
      )}
    </Stack>
  );
}

function runOf(noun: NounName, constants: Constants, wanted: Wanted): Run {
  const { source, mapping, add, counting } = wanted;
  return {
    key: newKey(),
    file: { name: source.name, mark: source.mark },
    ...{ noun, mapping, constants, add, counting, rows: source.rows.length, next: 0 },
    totals: { created: 0, changed: 0, unchanged: 0, refused: 0 },
    ...{ refused: [], changes: [], plan: null, isFinished: false },
  };
}

interface FoundProps {
  readonly results: readonly RowResult[];
  onStart(): void;
}

function Found({ results, onStart }: FoundProps) {
  const isToDo = ({ kind }: RowResult) => kind === 'created' || kind === 'changed';
  const count = results.filter(isToDo).length;
  return (
    <>
      <Results results={results} title={words.wouldDo} />
      <Group>
        <Button disabled={count === 0} onClick={onStart}>
          {words.start(count, countText(count))}
        </Button>
      </Group>
    </>
  );
}

interface MissingFieldsProps {
  readonly missing: readonly string[];
  readonly constants: Constants;
  onChange(set: Constants): void;
}

function MissingFields({ missing, constants, onChange }: MissingFieldsProps) {
  if (missing.length === 0) return null;
  return (
    <Group>
      {missing.map((field) => (
        <TextInput
          key={field}
          label={words.ofAllRows[field] ?? words.fields[field] ?? field}
          value={constants[field] ?? ''}
          w={{ base: '100%', xs: 260 }}
          onChange={(event) => onChange({ [field]: event.currentTarget.value })}
        />
      ))}
    </Group>
  );
}

/** What the file has no column of, and its fields need. */
function useConstants(mapping: Mapping) {
  const [typed, setTyped] = useState<Constants>({});
  const missing = missingIn(mapping);
  const constants: Constants = Object.fromEntries(
    missing.map(([field, usual]) => [field, typed[field] ?? usual]),
  );
  const setConstant = (set: Constants) => setTyped({ ...typed, ...set });
  return { missing: missing.map(([field]) => field), constants, setConstant };
}

const finderNames = (noun: NounName) =>
  nounOf(noun)
    .finders.map((name) => words.fields[name] ?? name)
    .join(words.or);

interface ColumnsProps {
  readonly source: Source;
  readonly noun: NounName;
  readonly mapping: Mapping;
  onChange(mapping: Mapping): void;
}

function Columns({ source: { header, rows }, noun, mapping, onChange }: ColumnsProps) {
  const choices = [
    { value: '', label: words.leaveOut },
    ...fieldsOf(nounOf(noun)).map((field) => ({
      value: field,
      label: words.fields[field] ?? field,
    })),
  ];
  return (
    <Paper withBorder p={{ base: 'xs', sm: 'md' }}>
      <Title order={2} mb="xs">
        {words.columns}
      </Title>
      <Text size="sm" c="dimmed" mb="xs">
        {words.rowsIn(countText(rows.length))}
      </Text>
      <Table layout="fixed" verticalSpacing={4}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{words.column}</Table.Th>
            <Table.Th visibleFrom="sm">{words.example}</Table.Th>
            <Table.Th>{words.field}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {header.map((name, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: two columns may have one name.
            <Table.Tr key={index}>
              <Table.Td style={{ overflowWrap: 'anywhere' }}>{name}</Table.Td>
              <Table.Td visibleFrom="sm">
                <Text size="sm" c="dimmed" truncate>
                  {rows[0]?.cells[index]}
                </Text>
              </Table.Td>
              <Table.Td>
                <Select
                  size="xs"
                  aria-label={words.fieldOf(name)}
                  data={choices}
                  value={mapping[index] ?? ''}
                  allowDeselect={false}
                  onChange={(field) => onChange(mapping.with(index, field ?? ''))}
                />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Paper>
  );
}
