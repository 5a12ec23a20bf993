// The fields of a product in a form, for a new one and for changes.

import { Checkbox, Select, SimpleGrid, Textarea, TextInput } from '@mantine/core';
import type { TallybookError } from '@tallybook/client';
import { problemAt } from '../../parts/failure.tsx';
import { QuantityInput } from '../../parts/quantity-input.tsx';
import { texts } from '../../texts.ts';
import type { Fields } from './fields.ts';

const words = texts.product;

interface FormProps {
  readonly fields: Fields;
  readonly problem: TallybookError | undefined;
  readonly disabled: boolean;
  onChange(fields: Fields): void;
}

const precisions = ['0', '1', '2', '3', '4', '5'].map((value) => ({
  value,
  label: words.precisions(value),
}));

/** What the record calls them. */
const members = {
  name: 'name',
  sku: 'sku',
  barcode: 'barcode',
  unit: 'unit.code',
  amount: 'price.amount',
  currency: 'price.currency',
  lowStockAt: 'low_stock_at',
  externalId: 'external_id',
} as const;

export function ProductFields(form: FormProps) {
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm" verticalSpacing="sm">
      <TextInput {...textField(form, 'name')} required maxLength={255} data-autofocus />
      <TextInput {...textField(form, 'sku')} maxLength={100} />
      <TextInput {...textField(form, 'barcode')} maxLength={64} />
      <QuantityInput {...quantityField(form, 'lowStockAt')} description={words.lowStockHint} />
      <UnitFields {...form} />
      <QuantityInput {...quantityField(form, 'amount')} />
      <TextInput {...textField(form, 'currency')} placeholder="EUR" maxLength={3} />
      <OtherFields {...form} />
    </SimpleGrid>
  );
}

function UnitFields(form: FormProps) {
  const { fields, problem, disabled, onChange } = form;
  const unit = textField(form, 'unit');
  return (
    <>
      <TextInput
        {...unit}
        maxLength={16}
        description={words.unitHint}
        error={problemAt(problem, 'unit') ?? unit.error}
      />
      <Select
        label={words.fields.precision}
        data={precisions}
        value={fields.precision}
        disabled={disabled}
        allowDeselect={false}
        error={problemAt(problem, 'unit.precision')}
        onChange={(precision) => precision !== null && onChange({ ...fields, precision })}
      />
    </>
  );
}

function OtherFields(form: FormProps) {
  const { fields, problem, disabled, onChange } = form;
  return (
    <>
      <Textarea
        label={words.fields.description}
        value={fields.description}
        disabled={disabled}
        autosize
        minRows={2}
        maxRows={6}
        maxLength={5000}
        error={problemAt(problem, 'description')}
        onChange={(event) => onChange({ ...fields, description: event.currentTarget.value })}
      />
      <TextInput
        {...textField(form, 'externalId')}
        maxLength={255}
        description={words.externalIdHint}
      />
      <Checkbox
        label={words.fields.isTracked}
        checked={fields.isTracked}
        disabled={disabled}
        onChange={(event) => onChange({ ...fields, isTracked: event.currentTarget.checked })}
      />
    </>
  );
}

const order: ('label' | 'input' | 'description' | 'error')[] = [
  'label',
  'input',
  'description',
  'error',
];

function field({ fields, problem, disabled }: FormProps, name: keyof typeof members) {
  return {
    label: words.fields[name],
    value: fields[name],
    disabled,
    autoComplete: 'off',
    inputWrapperOrder: order,
    error: problemAt(problem, members[name]),
  };
}

const textField = (form: FormProps, name: keyof typeof members) => ({
  ...field(form, name),
  onChange: ({ currentTarget }: { readonly currentTarget: HTMLInputElement }) =>
    form.onChange({ ...form.fields, [name]: currentTarget.value }),
});

const quantityField = (form: FormProps, name: 'amount' | 'lowStockAt') => ({
  ...field(form, name),
  onChange: (typed: string) => form.onChange({ ...form.fields, [name]: typed }),
});
