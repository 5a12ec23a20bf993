// Somebody else changed the record first: both versions, and who reads them decides.

import { Alert, Button, Group, Table, Text } from '@mantine/core';
import { texts } from '../texts.ts';

const words = texts.otherVersion;

interface Difference {
  readonly name: string;
  readonly now: string;
  readonly mine: string;
}

interface OtherVersionProps {
  readonly rows: readonly Difference[];
  onMine(): void;
  onTheirs(): void;
}

export function OtherVersion({ rows, onMine, onTheirs }: OtherVersionProps) {
  return (
    <Alert role="alert" color="orange" variant="light" title={words.title}>
      <Text size="sm">{words.words}</Text>
      <Table my="xs" withRowBorders={false} layout="fixed" className="both-versions">
        <Table.Thead>
          <Table.Tr>
            <Table.Td />
            <Table.Th>{words.now}</Table.Th>
            <Table.Th>{words.mine}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map(({ name, now, mine }) => (
            <Table.Tr key={name}>
              <Table.Th scope="row">{name}</Table.Th>
              <Table.Td>{now}</Table.Td>
              <Table.Td>{mine}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      <Group>
        <Button size="xs" variant="default" onClick={onTheirs}>
          {words.takeTheirs}
        </Button>
        <Button size="xs" onClick={onMine}>
          {words.takeMine}
        </Button>
      </Group>
    </Alert>
  );
}
