// One movement, and when it is opened, the same in words.

import { Group, List, Table, Text, UnstyledButton } from '@mantine/core';
import type { InventoryMovement } from '@tallybook/client';
import { useId, useState } from 'react';
import { agoText, changeText, exactMomentText, quantityText } from '../../format.ts';
import { ProductLink } from '../../parts/product-link.tsx';
import { RequestLink } from '../../parts/request-link.tsx';
import { useLocationName, useProduct } from '../../service/names.ts';
import { texts } from '../../texts.ts';

const words = texts.movements;
const { columns, explained } = words;

interface MovementRowProps {
  readonly movement: InventoryMovement;
  /** It came while the list was looked at. */
  readonly isFresh: boolean;
}

export function MovementRow({ movement, isFresh }: MovementRowProps) {
  const [isOpen, setOpen] = useState(false);
  const details = useId();
  const product = useProduct(movement.product_id);
  const nameOf = useLocationName();
  const unit = product === undefined || product.unit.code === 'each' ? '' : product.unit.code;
  const when = agoText(movement.recorded_at);
  return (
    <>
      <Table.Tr className={isFresh ? 'fresh' : undefined}>
        <Table.Td data-label={columns.when}>
          <UnstyledButton
            className="opener"
            aria-expanded={isOpen}
            aria-controls={details}
            aria-label={explained.open(when, product?.name ?? movement.product_id)}
            title={exactMomentText(movement.recorded_at)}
            onClick={() => setOpen((before) => !before)}
          >
            <span className="opener-sign" aria-hidden="true" />
            {when}
          </UnstyledButton>
          {isFresh && <span className="fresh-mark">{words.freshMark}</span>}
        </Table.Td>
        <Table.Td data-label={columns.product}>
          <ProductLink id={movement.product_id} name={product?.name} />
        </Table.Td>
        <Table.Td data-label={columns.location}>{nameOf(movement.location_id)}</Table.Td>
        <Table.Td data-label={columns.change} className="quantity">
          <Text span fw={600} size="sm">
            {changeText(movement.quantity_delta)}
          </Text>
        </Table.Td>
        <Table.Td data-label={columns.after} className="quantity">
          {`${quantityText(movement.quantity_after)} ${unit}`.trim()}
        </Table.Td>
        <Table.Td data-label={columns.why}>
          {texts.reasons[movement.reason] ?? movement.reason}
        </Table.Td>
        <Table.Td data-label={columns.who}>{movement.actor.name}</Table.Td>
        <Table.Td data-label={columns.note} className="note">
          <Noted movement={movement} />
        </Table.Td>
        <Table.Td data-label={columns.request} className="not-on-phone">
          <RequestLink id={movement.operation_id} />
        </Table.Td>
      </Table.Tr>
      <Table.Tr id={details} hidden={!isOpen} className="explained">
        <Table.Td colSpan={9}>
          {isOpen && <Explained movement={movement} product={product?.name} />}
        </Table.Td>
      </Table.Tr>
    </>
  );
}

function Noted({ movement: { note, reference } }: { readonly movement: InventoryMovement }) {
  return (
    <>
      {note !== null && <Text size="sm">{note}</Text>}
      {reference !== null && (
        <Text size="xs" c="dimmed" className="code">
          {reference}
        </Text>
      )}
    </>
  );
}

interface ExplainedProps {
  readonly movement: InventoryMovement;
  readonly product: string | undefined;
}

function Explained({ movement, product }: ExplainedProps) {
  const nameOf = useLocationName();
  const { actor, note, reference } = movement;
  const facts: readonly (readonly [name: string, value: string])[] = [
    [explained.because, texts.reasons[movement.reason] ?? movement.reason],
    [explained.where, nameOf(movement.location_id)],
    [explained.at, exactMomentText(movement.recorded_at)],
    ...(actor.application_id === null
      ? []
      : ([[explained.by, `${actor.name}, ${explained.application}`]] as const)),
    ...(note === null ? [] : ([[explained.note, note]] as const)),
    ...(reference === null ? [] : ([[explained.reference, reference]] as const)),
    [
      explained.sequence,
      explained.nth(String(movement.sequence), product ?? explained.thisProduct),
    ],
  ];
  return (
    <>
      <Text fw={600}>{sentenceOf(movement)}</Text>
      <List size="sm" listStyleType="none" mt={4}>
        {facts.map(([name, value]) => (
          <List.Item key={name}>
            <Text span c="dimmed" size="sm">
              {name}:
            </Text>{' '}
            {value}
          </List.Item>
        ))}
        <List.Item>
          <Group gap={4}>
            <Text span c="dimmed" size="sm">
              {explained.request}:
            </Text>
            <RequestLink id={movement.operation_id} isWhole />
          </Group>
        </List.Item>
      </List>
    </>
  );
}

function sentenceOf({ type, actor, ...movement }: InventoryMovement): string {
  const before = quantityText(movement.quantity_before);
  const after = quantityText(movement.quantity_after);
  const size = quantityText(movement.quantity_delta.replace('-', ''));
  if (type === 'adjustment') return explained.adjustment(actor.name, before, after);
  if (type === 'count') return explained.count(actor.name, before, after);
  if (type === 'fulfilment') return explained.reserved(actor.name, size, before, after);
  const isOut = movement.quantity_delta.startsWith('-');
  return explained[isOut ? 'out' : 'in'](actor.name, size, before, after);
}
