// Which location: one of those that the person works at.

import { Select, type SelectProps } from '@mantine/core';
import { useLocations } from '../service/me.tsx';
import { texts } from '../texts.ts';

type LocationSelectProps = Omit<SelectProps, 'data' | 'onChange'> & {
  onChange(id: string | null): void;
  /** Another choice above them, such as all of them. */
  readonly none?: string;
};

export function LocationSelect({ none, onChange, value, ...rest }: LocationSelectProps) {
  const locations = useLocations();
  const shown = locations ?? [];
  return (
    <Select
      label={texts.location}
      {...rest}
      value={value ?? (none === undefined ? null : '')}
      disabled={rest.disabled === true || locations === undefined}
      allowDeselect={false}
      searchable={shown.length > 8}
      data={[
        ...(none === undefined ? [] : [{ value: '', label: none }]),
        ...shown.map(({ id, name }) => ({ value: id, label: name })),
      ]}
      onChange={(id) => onChange(id === '' ? null : id)}
    />
  );
}
