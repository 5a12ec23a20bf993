// Which product: found by name, SKU or barcode.

import { Select, type SelectProps } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { tb } from '../service/client.ts';
import { useProduct } from '../service/names.ts';
import { texts } from '../texts.ts';

type ProductSearchProps = Omit<SelectProps, 'data' | 'onChange' | 'value'> & {
  readonly value: string | undefined;
  onChange(id: string | null): void;
};

export function ProductSearch({ value, onChange, ...rest }: ProductSearchProps) {
  const [typed, setTyped] = useState('');
  const [q] = useDebouncedValue(typed.trim(), 200);
  const chosen = useProduct(value);
  const { data } = useQuery({
    queryKey: ['products', 'search', q],
    queryFn: async ({ signal }) =>
      (await tb.products.list({ limit: 20, ...(q === '' ? {} : { q }) }, { signal })).data,
    placeholderData: (before) => before,
  });
  const found = (data ?? []).filter(({ id }) => id !== chosen?.id);
  const shown = chosen === undefined ? found : [chosen, ...found];
  return (
    <Select
      label={texts.product.title}
      {...rest}
      value={value ?? null}
      searchable
      clearable
      clearButtonProps={{ 'aria-label': texts.clear }}
      nothingFoundMessage={texts.noProduct}
      onSearchChange={setTyped}
      // The service has found them: by SKU and barcode as well.
      filter={({ options }) => options}
      data={shown.map(({ id, name, sku }) => ({
        value: id,
        label: sku === null ? name : `${name} · ${sku}`,
      }))}
      onChange={onChange}
    />
  );
}
