// Whether another product has the barcode that somebody typed. Two may have the same, such as sizes
// of one thing; mostly it is a slip, so the page asks before it saves.

import { Alert, Button, Group, Text } from '@mantine/core';
import type { Product } from '@tallybook/client';
import { useState } from 'react';
import { ProductLink } from '../../parts/product-link.tsx';
import { noteEnd, tb } from '../../service/client.ts';
import { texts } from '../../texts.ts';

const words = texts.product;

interface Asking {
  readonly barcode: string;
  readonly others: readonly Product[];
}

export interface UsedBarcode {
  readonly asking: Asking | undefined;
  /** Goes on at once when nothing is to be asked. */
  check(barcode: string, onFree: () => void): void;
  forget(): void;
}

/** @param id of the product itself, which has it of course. */
export function useBarcode(id?: string): UsedBarcode {
  const [asking, setAsking] = useState<Asking>();
  const check = async (barcode: string, onFree: () => void) => {
    setAsking(undefined);
    try {
      const { data } = barcode === '' ? { data: [] } : await tb.products.list({ barcode });
      const others = data.filter((one) => one.id !== id);
      if (others.length > 0) return setAsking({ barcode, others });
    } catch (error) {
      // The service has the last word: it takes the product, or says why not.
      noteEnd(error);
    }
    onFree();
  };
  return {
    asking,
    check: (barcode, onFree) => void check(barcode, onFree),
    forget: () => setAsking(undefined),
  };
}

interface BarcodeAskedProps {
  readonly used: UsedBarcode;
  onSave(): void;
}

export function BarcodeAsked({ used: { asking, forget }, onSave }: BarcodeAskedProps) {
  if (asking === undefined) return null;
  const save = () => {
    forget();
    onSave();
  };
  return (
    <Alert role="alert" color="orange" variant="light" title={words.barcodeTaken(asking.barcode)}>
      {asking.others.map(({ id, name }) => (
        <div key={id}>
          <ProductLink id={id} name={name} />
        </div>
      ))}
      <Text size="sm">{words.barcodeWords}</Text>
      <Group gap="xs" mt="xs">
        <Button size="xs" onClick={save}>
          {words.barcodeSave}
        </Button>
        <Button size="xs" variant="default" onClick={forget}>
          {words.barcodeBack}
        </Button>
      </Group>
    </Alert>
  );
}
