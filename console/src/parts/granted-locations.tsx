// Which locations somebody works at: all, those to come included, or chosen ones. Only those that
// one works at oneself can be given.

import { Checkbox, Radio, Stack } from '@mantine/core';
import { useLocations, useMe } from '../service/me.tsx';
import { texts } from '../texts.ts';

const words = texts.granted;

export interface Granted {
  readonly all_locations: boolean;
  readonly location_ids: readonly string[];
}

interface GrantedLocationsProps {
  readonly value: Granted;
  readonly isOff: boolean;
  onChange(value: Granted): void;
}

export function GrantedLocations({ value, isOff, onChange }: GrantedLocationsProps) {
  const { allLocations } = useMe();
  const locations = useLocations() ?? [];
  const isAll = value.all_locations && allLocations;
  return (
    <Stack gap="xs">
      {allLocations && (
        <Radio.Group
          label={words.label}
          value={isAll ? 'all' : 'some'}
          onChange={(chosen) => onChange({ ...value, all_locations: chosen === 'all' })}
        >
          <Stack gap={6} mt={4}>
            <Radio value="all" label={words.all} disabled={isOff} />
            <Radio value="some" label={words.some} disabled={isOff} />
          </Stack>
        </Radio.Group>
      )}
      {!isAll && (
        <Checkbox.Group
          label={words.chosen}
          value={[...value.location_ids]}
          onChange={(location_ids) => onChange({ all_locations: false, location_ids })}
        >
          <Stack gap={6} mt={4} className="choices">
            {locations.map(({ id, name }) => (
              <Checkbox key={id} value={id} label={name} disabled={isOff} />
            ))}
          </Stack>
        </Checkbox.Group>
      )}
    </Stack>
  );
}

/** As the service takes it. */
export function grantOf({ all_locations, location_ids }: Granted) {
  return all_locations ? { all_locations } : { all_locations, location_ids: [...location_ids] };
}

/** Whether anything is chosen. */
export const isGranted = ({ all_locations, location_ids }: Granted): boolean =>
  all_locations || location_ids.length > 0;

/** In words. A location that one does not work at has no name here. */
export function useGrantText(): (granted: Granted) => string {
  const locations = useLocations() ?? [];
  return ({ all_locations, location_ids }) => {
    if (all_locations) return texts.allLocations;
    const names = location_ids.map((id) => locations.find((one) => one.id === id)?.name ?? id);
    return names.length === 0 ? words.none : names.join(', ');
  };
}
