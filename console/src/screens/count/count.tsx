// Counts a location: what is scanned or typed, beside what should be there.

import { Button, Card, Group, Stack, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import type { FormEvent } from 'react';
import { agoText } from '../../format.ts';
import { ConfirmButton } from '../../parts/confirm-button.tsx';
import { Failure } from '../../parts/failure.tsx';
import { LocationSelect } from '../../parts/location-select.tsx';
import { PostState } from '../../parts/post-state.tsx';
import { ScanField } from '../../parts/scan-field.tsx';
import { Screen } from '../../parts/screen.tsx';
import { SubmitRow } from '../../parts/submit-row.tsx';
import { useTypeAnywhere } from '../../parts/type-anywhere.ts';
import { tb } from '../../service/client.ts';
import { usePlace } from '../../service/place.ts';
import { texts } from '../../texts.ts';
import { CountedNote } from './counted-note.tsx';
import { CountLines } from './lines.tsx';
import { PrintSheet } from './print-sheet.tsx';
import { SheetImport } from './sheet-import.tsx';
import { type Beginning, countFault, type UsedCount, useCount } from './use-count.ts';

const words = texts.count;

export function CountScreen() {
  const [place, choose] = usePlace();
  return (
    <Screen title={words.title} hint={words.hint}>
      <div className="no-print">
        <LocationSelect value={place ?? null} onChange={choose} w={{ base: '100%', xs: 240 }} />
      </div>
      {place === null && texts.stock.noLocation}
      {typeof place === 'string' && <CountAt key={place} place={place} />}
    </Screen>
  );
}

function CountAt({ place }: { readonly place: string }) {
  const field = useTypeAnywhere();
  const used = useCount(place, () => scrollTo(0, 0));
  const { count, counted, isBlocked } = used;
  const { begun } = count;
  if (begun === null) {
    return (
      <>
        {counted !== undefined && <CountedNote counted={counted} />}
        <Begin
          place={place}
          onBegun={(now) => {
            used.begin(now);
            setTimeout(() => field.current?.focus());
          }}
        />
      </>
    );
  }
  const { position, journal } = begun;
  return (
    <Stack>
      <Group justify="space-between" className="no-print">
        <Text size="sm">{words.begun(agoText(begun.time))}</Text>
        <Group gap="xs">
          <PrintSheet place={place} />
          <SheetImport place={place} begun={begun} disabled={isBlocked} onRead={used.take} />
        </Group>
      </Group>
      <Stack className="no-print" gap="xs">
        <ScanField
          field={field}
          query={{ location_id: place, as_of_position: position, journal }}
          disabled={isBlocked}
          onFound={used.add}
        />
        <CountForm {...used} onEnter={() => field.current?.focus()} />
      </Stack>
    </Stack>
  );
}

interface BeginProps {
  readonly place: string;
  onBegun(begun: Beginning): void;
}

function Begin({ place, onBegun }: BeginProps) {
  const { mutate, error, isPending } = useMutation({
    mutationFn: async () => {
      const query = { location_id: place, as_of: 'now', limit: 1 };
      return (await tb.inventory.levels.list(query)).meta;
    },
    onSuccess: ({ as_of_position: position, journal }) => {
      if (position === undefined || journal === undefined) return;
      onBegun({ position, journal, time: new Date().toISOString() });
    },
  });
  return (
    <Stack align="flex-start">
      <Text size="sm" maw={620}>
        {words.begin}
      </Text>
      {error !== null && <Failure error={error} />}
      <Button loading={isPending} onClick={() => mutate()}>
        {words.beginIt}
      </Button>
    </Stack>
  );
}

function CountForm({ onEnter, ...used }: UsedCount & { onEnter(): void }) {
  const { count, post, isBlocked, change, clear } = used;
  const { lines } = count;
  const isReady =
    lines.length > 0 &&
    lines.every(({ typed, product }) => countFault(typed, product.unit) === undefined);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isReady) post.send();
  };
  return (
    <Card withBorder component="form" onSubmit={submit} p={{ base: 'sm', sm: 'md' }}>
      <Stack>
        {lines.length === 0 ? (
          <Text c="dimmed" size="sm">
            {words.noLines}
          </Text>
        ) : (
          <CountLines {...used} onEnter={onEnter} />
        )}
        {lines.length > 0 && (
          <TextInput
            label={words.reference}
            description={words.referenceHint}
            value={count.reference}
            disabled={isBlocked}
            maxLength={255}
            onChange={(event) => change({ reference: event.currentTarget.value })}
          />
        )}
        <PostState post={post} />
        <SubmitRow post={post} isOff={!isReady || isBlocked} text={words.post(lines.length)}>
          <ConfirmButton
            text={words.abandon}
            question={texts.scan.askAbandon}
            disabled={isBlocked}
            onConfirm={clear}
          />
        </SubmitRow>
      </Stack>
    </Card>
  );
}
