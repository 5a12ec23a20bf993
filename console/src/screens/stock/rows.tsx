// The rows in sight, of however many there are: 100,000 products scroll like 100.

import { Anchor, Badge, Group, Text } from '@mantine/core';
import { Quantity, type StockItem } from '@tallybook/client';
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useRef } from 'react';
import { Link } from 'react-router';
import { agoText, exactMomentText, momentText, quantityText } from '../../format.ts';
import { useAsOf } from '../../service/as-of.ts';
import { useMay } from '../../service/me.tsx';
import { texts } from '../../texts.ts';
import { EditableLevel } from './editable-level.tsx';
import { Unit } from './unit.tsx';

const words = texts.stock;

interface RowsProps {
  readonly rows: readonly StockItem[];
  readonly more: (() => void) | undefined;
  readonly isNow: boolean;
}

/** Rows before the last one at which the next page is asked for. */
const ahead = 60;

export function StockRows({ rows, more, isNow }: RowsProps) {
  const list = useRef<HTMLDivElement>(null);
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => 56,
    overscan: 12,
    scrollMargin: list.current?.offsetTop ?? 0,
    getItemKey: (index) => rows[index]?.product_id ?? index,
  });
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (more !== undefined && last >= rows.length - ahead) more();
  }, [more, last, rows.length]);
  if (rows.length === 0) return null;
  return (
    // A table element would lay out all of its rows.
    <div
      className="rows"
      role="table"
      aria-label={words.title}
      aria-rowcount={more === undefined ? rows.length + 1 : -1}
    >
      <Head isNow={isNow} />
      <div
        ref={list}
        role="rowgroup"
        style={{ height: virtual.getTotalSize(), position: 'relative' }}
      >
        {items.map(({ index, key, start }) => {
          const row = rows[index];
          return row === undefined ? null : (
            <div
              key={key}
              ref={virtual.measureElement}
              data-index={index}
              role="row"
              aria-rowindex={index + 2}
              className="stock-row"
              style={{
                position: 'absolute',
                top: 0,
                left: 0,
                right: 0,
                transform: `translateY(${start - virtual.options.scrollMargin}px)`,
              }}
            >
              <Cells row={row} isNow={isNow} />
            </div>
          );
        })}
      </div>
    </div>
  );
}

function Head({ isNow }: { readonly isNow: boolean }) {
  const { columns } = words;
  const names = isNow
    ? [
        columns.product,
        columns.onHand,
        columns.reserved,
        columns.available,
        columns.changed,
        columns.counted,
      ]
    : [columns.product, columns.onHand, columns.changed];
  const quantities = isNow ? 4 : 2;
  return (
    <div role="rowgroup">
      <div role="row" className="stock-row head" aria-rowindex={1}>
        {names.map((name, index) => (
          <span
            key={name}
            role="columnheader"
            className={index > 0 && index < quantities ? 'quantity' : undefined}
          >
            {name}
          </span>
        ))}
      </div>
    </div>
  );
}

function Cells({ row, isNow }: { readonly row: StockItem; readonly isNow: boolean }) {
  const mayWrite = useMay('inventory.write');
  const { reserved_quantity: reserved, available_quantity: available } = row;
  return (
    <>
      <div role="cell" className="stock-name">
        <Name row={row} />
      </div>
      {isNow && mayWrite ? (
        <EditableLevel row={row} />
      ) : (
        <div role="cell" className="quantity">
          {quantityText(row.quantity)} <Unit row={row} />
        </div>
      )}
      {isNow && (
        <>
          <Cell label={words.columns.reserved} isQuantity>
            {reserved === null || Quantity.compare(reserved, '0') === 0
              ? '–'
              : quantityText(reserved)}
          </Cell>
          <Cell label={words.columns.available} isQuantity>
            {available === null ? '–' : quantityText(available)}
          </Cell>
        </>
      )}
      <Cell label={words.columns.changed}>
        <Moment time={row.updated_at} />
      </Cell>
      {isNow && (
        <Cell label={words.columns.counted}>
          <Moment time={row.counted_at} />
        </Cell>
      )}
    </>
  );
}

interface CellProps {
  readonly label: string;
  readonly isQuantity?: boolean;
  readonly children: React.ReactNode;
}

/** On a phone, where there are no columns, each value has its name. */
function Cell({ label, isQuantity = false, children }: CellProps) {
  return (
    <div role="cell" className={isQuantity ? 'quantity' : undefined}>
      <span className="phone-label" aria-hidden="true">
        {label}{' '}
      </span>
      {children}
    </div>
  );
}

function Name({ row }: { readonly row: StockItem }) {
  const { moment } = useAsOf();
  const search = moment === undefined ? '' : `?as_of=${moment}`;
  const codes = [row.sku, row.barcode].filter((code) => code !== null).join(' · ');
  return (
    <>
      <Group gap={6} wrap="nowrap">
        <Anchor component={Link} to={{ pathname: `/products/${row.product_id}`, search }} fw={550}>
          {row.name}
        </Anchor>
        {isLow(row) && (
          <Badge size="sm" color="orange" variant="light">
            {words.lowBadge}
          </Badge>
        )}
      </Group>
      {codes !== '' && (
        <Text size="xs" c="dimmed" className="code">
          {codes}
        </Text>
      )}
    </>
  );
}

function isLow({ available_quantity: available, low_stock_at: at }: StockItem): boolean {
  return available !== null && at !== null && Quantity.compare(available, at) <= 0;
}

function Moment({ time }: { readonly time: string | null }) {
  const { moment } = useAsOf();
  if (time === null)
    return (
      <Text span size="sm" c="dimmed">
        {words.never}
      </Text>
    );
  return (
    <Text span size="sm" title={exactMomentText(time)} style={{ whiteSpace: 'nowrap' }}>
      {/* In the past nothing is so long ago from now. */}
      {moment === undefined ? agoText(time) : momentText(time)}
    </Text>
  );
}
