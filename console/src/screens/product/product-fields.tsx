// The fields of a product in a form, for a new one and for changes.

import { Checkbox, Select, SimpleGrid, Textarea, TextInput } from '@mantine/core';
import type { TallybookError } from '@tallybook/client';
import { problemAt } from '../../parts/failure.tsx';
import { QuantityInput } from '../../parts/quantity-input.tsx';
import { texts } from '../../texts.ts';
import type { Fields } from './fields.ts';

const words = texts.product;

interface ProductFieldsProps {
  readonly fields: Fields;
  readonly problem: TallybookError | undefined;
  readonly disabled: boolean;
  onChange(fields: Fields): void;
}

const precisions = ['0', '1', '2', '3', '4', '5'].map((value) => ({
  value,
  label: words.precisions(value),
}));

export function ProductFields({ fields, problem, disabled, onChange }: ProductFieldsProps) {
  const set = (some: Partial<Fields>) => onChange({ ...fields, ...some });
  const text = (name: 'name' | 'sku' | 'barcode' | 'unit' | 'currency' | 'externalId') => ({
    label: words.fields[name],
    value: fields[name],
    disabled,
    error: problemAt(problem, members[name]),
    onChange: ({ currentTarget }: { currentTarget: HTMLInputElement }) =>
      set({ [name]: currentTarget.value }),
  });
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm" verticalSpacing="sm">
      <TextInput {...text('name')} required maxLength={255} data-autofocus />
      <TextInput {...text('sku')} maxLength={100} autoComplete="off" />
      <TextInput {...text('barcode')} maxLength={64} autoComplete="off" />
      <QuantityInput
        label={words.fields.lowStockAt}
        description={words.lowStockHint}
        inputWrapperOrder={['label', 'input', 'description', 'error']}
        value={fields.lowStockAt}
        disabled={disabled}
        error={problemAt(problem, 'low_stock_at')}
        onChange={(lowStockAt) => set({ lowStockAt })}
      />
      <TextInput
        {...text('unit')}
        maxLength={16}
        description={words.unitHint}
        inputWrapperOrder={['label', 'input', 'description', 'error']}
        error={problemAt(problem, 'unit') ?? problemAt(problem, 'unit.code')}
      />
      <Select
        label={words.fields.precision}
        data={precisions}
        value={fields.precision}
        disabled={disabled}
        allowDeselect={false}
        error={problemAt(problem, 'unit.precision')}
        onChange={(precision) => precision !== null && set({ precision })}
      />
      <QuantityInput
        label={words.fields.amount}
        value={fields.amount}
        disabled={disabled}
        error={problemAt(problem, 'price.amount')}
        onChange={(amount) => set({ amount })}
      />
      <TextInput
        {...text('currency')}
        placeholder="EUR"
        maxLength={3}
        error={problemAt(problem, 'price.currency')}
      />
      <Textarea
        label={words.fields.description}
        value={fields.description}
        disabled={disabled}
        autosize
        minRows={2}
        maxRows={6}
        maxLength={5000}
        error={problemAt(problem, 'description')}
        onChange={(event) => set({ description: event.currentTarget.value })}
      />
      <TextInput
        {...text('externalId')}
        maxLength={255}
        description={words.externalIdHint}
        inputWrapperOrder={['label', 'input', 'description', 'error']}
      />
      <Checkbox
        label={words.fields.isTracked}
        checked={fields.isTracked}
        disabled={disabled}
        onChange={(event) => set({ isTracked: event.currentTarget.checked })}
      />
    </SimpleGrid>
  );
}

const members = {
  name: 'name',
  sku: 'sku',
  barcode: 'barcode',
  unit: 'unit',
  currency: 'price.currency',
  externalId: 'external_id',
} as const;
