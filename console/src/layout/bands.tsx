// What counts for the whole page: no network, and stock that is not of now.

import { Alert, Button, Group, Text } from '@mantine/core';
import { useSyncExternalStore } from 'react';
import { momentText } from '../format.ts';
import { useAsOf } from '../service/as-of.ts';
import { texts } from '../texts.ts';

function subscribe(listener: () => void): () => void {
  addEventListener('online', listener);
  addEventListener('offline', listener);
  return () => {
    removeEventListener('online', listener);
    removeEventListener('offline', listener);
  };
}

export function OfflineBand() {
  const isOnline = useSyncExternalStore(subscribe, () => navigator.onLine);
  if (isOnline) return null;
  return (
    <Alert role="status" color="orange" variant="light" mb="md" title={texts.offline.title}>
      {texts.offline.words}
    </Alert>
  );
}

export function AsOfBand() {
  const { moment, show } = useAsOf();
  if (moment === undefined) return null;
  return (
    <Alert role="status" color="grape" variant="light" mb="md" p="xs">
      <Group justify="space-between">
        <Text size="sm" fw={600}>
          {texts.asOf.band(momentText(moment))}
        </Text>
        <Button size="xs" variant="default" onClick={() => show(undefined)}>
          {texts.asOf.now}
        </Button>
      </Group>
    </Alert>
  );
}
