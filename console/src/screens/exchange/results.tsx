// What becomes of rows: how many of each kind, and the first of them in words.

import { Badge, Group, Paper, Table, Text, Title } from '@mantine/core';
import { countText } from '../../format.ts';
import { texts } from '../../texts.ts';
import type { Kind, RowResult } from './check-rows.ts';

const words = texts.exchange;

const colors = { created: 'teal', changed: 'harbour', unchanged: 'gray', refused: 'red' } as const;
const kinds = Object.keys(colors) as Kind[];

const shownMax = 100;

interface ResultsProps {
  readonly title: string;
  readonly results: readonly RowResult[];
}

export function Results({ title, results }: ResultsProps) {
  const totals = Object.fromEntries(
    kinds.map((kind) => [kind, results.filter((one) => one.kind === kind).length]),
  ) as Record<Kind, number>;
  const listed = [
    ...results.filter(({ kind }) => kind === 'refused'),
    ...results.filter(({ kind }) => kind === 'changed' || kind === 'created'),
  ];
  return (
    <Paper withBorder p={{ base: 'xs', sm: 'md' }}>
      <Title order={2} mb="xs">
        {title}
      </Title>
      <Totals totals={totals} />
      <ResultRows results={listed} />
    </Paper>
  );
}

export function ResultRows({ results: listed }: { readonly results: readonly RowResult[] }) {
  return (
    <>
      {listed.length > 0 && (
        <Table mt="sm" verticalSpacing={4}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th w={64}>{words.line}</Table.Th>
              <Table.Th>{words.what}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {listed.slice(0, shownMax).map(({ line, kind, text }) => (
              <Table.Tr key={line}>
                <Table.Td>{countText(line)}</Table.Td>
                <Table.Td style={{ overflowWrap: 'anywhere' }}>
                  <KindBadge kind={kind} /> {text}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
      {listed.length > shownMax && (
        <Text size="sm" c="dimmed" mt="xs">
          {words.andMore(countText(listed.length - shownMax))}
        </Text>
      )}
    </>
  );
}

function KindBadge({ kind }: { readonly kind: Kind }) {
  return (
    <Badge variant="light" color={colors[kind]} tt="none" size="sm" mr={4}>
      {words.kinds[kind]}
    </Badge>
  );
}

export function Totals({ totals }: { readonly totals: Readonly<Record<Kind, number>> }) {
  return (
    <Group gap="xs">
      {kinds.map((kind) => (
        <Badge key={kind} variant="light" color={colors[kind]} tt="none" size="lg">
          {countText(totals[kind])} {words.kinds[kind]}
        </Badge>
      ))}
    </Group>
  );
}
