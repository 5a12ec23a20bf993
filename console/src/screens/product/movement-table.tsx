// The movements behind the chart, newest first: when, who, why, by how much.

import { Table, Text } from '@mantine/core';
import type { InventoryMovement } from '@tallybook/client';
import { changeText, exactMomentText, momentText, quantityText } from '../../format.ts';
import { texts } from '../../texts.ts';

const words = texts.product;

export function MovementTable({ movements }: { readonly movements: readonly InventoryMovement[] }) {
  const { columns } = words;
  return (
    <Table.ScrollContainer minWidth={680}>
      <Table verticalSpacing={6} aria-label={words.movements}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{columns.when}</Table.Th>
            <Table.Th className="quantity">{columns.change}</Table.Th>
            <Table.Th className="quantity">{columns.after}</Table.Th>
            <Table.Th>{columns.why}</Table.Th>
            <Table.Th>{columns.who}</Table.Th>
            <Table.Th>{columns.note}</Table.Th>
            <Table.Th>{columns.operation}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {movements.map((movement) => (
            <Row key={movement.id} movement={movement} />
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function Row({ movement }: { readonly movement: InventoryMovement }) {
  const { recorded_at, quantity_delta, quantity_after, reason, actor, note, reference } = movement;
  const wordsOf = [reference, note].filter((text) => text !== null && text !== '').join(' · ');
  return (
    <Table.Tr>
      <Table.Td title={exactMomentText(recorded_at)} style={{ whiteSpace: 'nowrap' }}>
        {momentText(recorded_at)}
      </Table.Td>
      <Table.Td className="quantity" fw={600}>
        {changeText(quantity_delta)}
      </Table.Td>
      <Table.Td className="quantity">{quantityText(quantity_after)}</Table.Td>
      <Table.Td>{texts.reasons[reason] ?? reason}</Table.Td>
      <Table.Td>{actor.name}</Table.Td>
      <Table.Td maw={240} style={{ overflowWrap: 'anywhere' }}>
        {wordsOf === '' ? '–' : wordsOf}
      </Table.Td>
      <Table.Td>
        <Text span className="code" c="dimmed" title={movement.operation_id}>
          {/* The beginning of an ID is its time; the end tells two apart. */}
          op_…{movement.operation_id.slice(-6)}
        </Text>
      </Table.Td>
    </Table.Tr>
  );
}
