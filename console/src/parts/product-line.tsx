// A product in a list that somebody makes by scanning: what it is, and how much of it.

import { Badge, CloseButton, Text } from '@mantine/core';
import type { StockItem } from '@tallybook/client';
import type { ReactNode } from 'react';
import { texts } from '../texts.ts';
import { QuantityInput } from './quantity-input.tsx';

/** What of a product is kept with a draft. */
export type LineProduct = Pick<StockItem, 'product_id' | 'name' | 'sku' | 'unit'>;

export const lineProductOf = ({ product_id, name, sku, unit }: LineProduct): LineProduct => ({
  product_id,
  name,
  sku,
  unit,
});

interface ProductLineProps {
  readonly product: LineProduct;
  readonly typed: string;
  readonly label: string;
  /** What is known of it there. */
  readonly there: string;
  /** What the quantity comes to. */
  readonly outcome?: { readonly text: string; readonly color: string } | undefined;
  readonly fault: string | undefined;
  readonly disabled: boolean;
  readonly children?: ReactNode;
  onType(typed: string): void;
  onEnter(): void;
  onRemove(): void;
}

export function ProductLine(line: ProductLineProps) {
  const { product, outcome, disabled } = line;
  return (
    <li className="product-line">
      <div className="product-line-name">
        <Text fw={550}>{product.name}</Text>
        <Text size="xs" c="dimmed">
          {product.sku !== null && <span className="code">{product.sku} · </span>}
          {line.there}
        </Text>
      </div>
      <div className="product-line-outcome">
        {outcome !== undefined && (
          <Badge variant="outline" color={outcome.color} size="lg" tt="none" c="inherit">
            {outcome.text}
          </Badge>
        )}
      </div>
      <QuantityInput
        aria-label={line.label}
        value={line.typed}
        error={line.fault}
        disabled={disabled}
        onChange={line.onType}
        onKeyDown={(event) => {
          if (event.key !== 'Enter') return;
          event.preventDefault();
          line.onEnter();
        }}
        rightSection={
          product.unit.code === 'each' ? undefined : (
            <Text span size="xs" c="dimmed">
              {product.unit.code}
            </Text>
          )
        }
      />
      <CloseButton
        aria-label={texts.scan.remove(product.name)}
        disabled={disabled}
        onClick={line.onRemove}
      />
      {line.children !== undefined && <div className="product-line-more">{line.children}</div>}
    </li>
  );
}
