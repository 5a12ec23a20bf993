// Of counts: which location they are of, and what they are called in its history.

import { Group, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { LocationSelect } from '../../parts/location-select.tsx';
import { useLocations } from '../../service/me.tsx';
import { usePlace } from '../../service/place.ts';
import { texts } from '../../texts.ts';
import type { NounName } from './columns.ts';
import type { Where } from './use-check.ts';

const words = texts.exchange;

interface UsedWhere {
  /** Null: not of counts, or not known yet. */
  readonly where: Where | null;
  choose(location: string | null): void;
  setReference(reference: string): void;
}

export function useWhere(noun: NounName): UsedWhere {
  const [location_id, choose] = usePlace();
  const [reference, setReference] = useState('');
  const code = useLocations()?.find(({ id }) => id === location_id)?.code ?? null;
  const isKnown = noun === 'counts' && typeof location_id === 'string';
  return { where: isKnown ? { location_id, code, reference } : null, choose, setReference };
}

interface CountedWhereProps extends UsedWhere {
  onChange(): void;
}

export function CountedWhere({ where, choose, setReference, onChange }: CountedWhereProps) {
  return (
    <>
      <Group align="flex-start">
        <LocationSelect
          label={words.countedWhere}
          value={where?.location_id ?? null}
          w={{ base: '100%', xs: 240 }}
          onChange={(location) => {
            choose(location);
            onChange();
          }}
        />
        <TextInput
          label={texts.count.reference}
          description={texts.count.referenceHint}
          inputWrapperOrder={['label', 'input', 'description']}
          value={where?.reference ?? ''}
          maxLength={255}
          w={{ base: '100%', xs: 240 }}
          onChange={(event) => {
            setReference(event.currentTarget.value);
            onChange();
          }}
        />
      </Group>
      <Text size="sm" c="dimmed" maw={620}>
        {words.countHint}
      </Text>
    </>
  );
}
