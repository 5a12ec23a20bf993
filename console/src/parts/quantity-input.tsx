// A field for a quantity: a decimal text, as the reader's locale writes it, never a number.

import { TextInput, type TextInputProps } from '@mantine/core';

type QuantityInputProps = Omit<TextInputProps, 'value' | 'onChange' | 'type'> & {
  readonly value: string;
  /** As it was typed: `quantityOf` of format.ts reads it. */
  onChange(typed: string): void;
};

export function QuantityInput({ value, onChange, ...rest }: QuantityInputProps) {
  return (
    <TextInput
      {...rest}
      value={value}
      inputMode="decimal"
      autoComplete="off"
      classNames={{ input: 'quantity' }}
      onChange={(event) => onChange(event.currentTarget.value)}
      onFocus={(event) => event.currentTarget.select()}
    />
  );
}
