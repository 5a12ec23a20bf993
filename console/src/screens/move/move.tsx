// Moves stock: sold, received, carried to another location, broken or lost. All lines or none.

import { Button, Card, Group, Select, Stack, Tabs, Text, TextInput } from '@mantine/core';
import { type FormEvent, useEffect } from 'react';
import { useLocation, useNavigate } from 'react-router';
import { LocationSelect } from '../../parts/location-select.tsx';
import { ScanField } from '../../parts/scan-field.tsx';
import { Screen } from '../../parts/screen.tsx';
import { SubmitRow } from '../../parts/submit-row.tsx';
import { useTypeAnywhere } from '../../parts/type-anywhere.ts';
import { useLocations } from '../../service/me.tsx';
import { texts } from '../../texts.ts';
import { isArrival, type Kind, kinds, lineFault } from './draft.ts';
import { Lines } from './lines.tsx';
import { MovedNote } from './moved-note.tsx';
import { Refused } from './refused.tsx';
import { type Used, useMove } from './use-move.ts';

const words = texts.move;

export function MoveScreen() {
  const field = useTypeAnywhere();
  const used = useMove(() => setTimeout(() => field.current?.focus()));
  const { move, moved, isBlocked, change } = used;
  useWantedKind(used, () => field.current?.focus());
  const locations = useLocations();
  // Who works at one location carries nothing to another.
  const isOne = locations?.length === 1 && move.kind !== 'transfer';
  const offered = kinds.filter((kind) => kind !== 'transfer' || !isOne);
  return (
    <Screen title={words.title} hint={words.hints[move.kind]}>
      <Tabs
        value={move.kind}
        onChange={(kind) => kind !== null && change({ kind: kind as Kind })}
        keepMounted={false}
      >
        <Tabs.List aria-label={words.title} mb="md">
          {offered.map((kind) => (
            <Tabs.Tab key={kind} value={kind} disabled={isBlocked}>
              {words.kinds[kind]}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value={move.kind}>
          <Stack>
            {moved !== undefined && <MovedNote moved={moved} onUndone={used.forgetMoved} />}
            <Places {...used} />
            {move.place !== null && (
              <ScanField
                field={field}
                query={{ location_id: move.place }}
                disabled={isBlocked}
                onFound={used.add}
              />
            )}
            <MoveForm {...used} onEnter={() => field.current?.focus()} />
          </Stack>
        </Tabs.Panel>
      </Tabs>
    </Screen>
  );
}

/** A shortcut says what is to be moved. It is done once: the back button does not do it again. */
function useWantedKind({ isBlocked, change }: Used, onChosen: () => void): void {
  const { state, pathname, search } = useLocation();
  const navigate = useNavigate();
  const kind = kinds.find((one) => one === Object(state).kind);
  useEffect(() => {
    if (kind === undefined) return;
    if (!isBlocked) change({ kind });
    void navigate(pathname + search, { replace: true, state: null });
    setTimeout(onChosen);
  });
}

function Places({ move, isBlocked, change }: Used) {
  const isSame = move.kind === 'transfer' && move.to !== null && move.to === move.place;
  return (
    <Group align="flex-start">
      <LocationSelect
        label={isArrival(move.kind) ? words.to : words.from}
        value={move.place}
        disabled={isBlocked}
        onChange={(place) => change({ place })}
        w={{ base: '100%', xs: 240 }}
      />
      {move.kind === 'transfer' && (
        <LocationSelect
          label={words.to}
          value={move.to}
          disabled={isBlocked}
          placeholder={words.choose}
          error={isSame ? words.samePlace : undefined}
          onChange={(to) => change({ to })}
          w={{ base: '100%', xs: 240 }}
        />
      )}
      {move.kind === 'gone' && (
        <Select
          label={words.gone}
          data={[
            { value: 'damage', label: words.damage },
            { value: 'loss', label: words.loss },
          ]}
          value={move.gone}
          disabled={isBlocked}
          allowDeselect={false}
          onChange={(gone) => change({ gone: gone === 'loss' ? 'loss' : 'damage' })}
          w={{ base: '100%', xs: 240 }}
        />
      )}
    </Group>
  );
}

function MoveForm({ onEnter, ...used }: Used & { onEnter(): void }) {
  const { move, post, isBlocked, change, clear } = used;
  if (move.lines.length === 0) {
    return (
      <Text c="dimmed" size="sm">
        {words.noLines}
      </Text>
    );
  }
  const isTransfer = move.kind === 'transfer';
  const hasPlaces = !isTransfer || (move.to !== null && move.to !== move.place);
  const isReady = hasPlaces && move.lines.every((line) => lineFault(line) === undefined);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isReady) post.send();
  };
  return (
    <Card withBorder component="form" onSubmit={submit} p={{ base: 'sm', sm: 'md' }}>
      <Stack>
        <Lines {...used} onEnter={onEnter} />
        <Group grow preventGrowOverflow={false} align="flex-start">
          <TextInput
            label={words.reference}
            description={words.referenceHint[move.kind]}
            value={move.reference}
            disabled={isBlocked}
            maxLength={255}
            onChange={(event) => change({ reference: event.currentTarget.value })}
          />
          <TextInput
            label={words.note}
            description={words.noteHint}
            value={move.note}
            disabled={isBlocked}
            maxLength={500}
            onChange={(event) => change({ note: event.currentTarget.value })}
          />
        </Group>
        <Refused {...used} />
        <SubmitRow
          post={post}
          isOff={!isReady || isBlocked}
          text={words.post[move.kind](move.lines.length)}
        >
          <Button variant="subtle" color="gray" c="dimmed" disabled={isBlocked} onClick={clear}>
            {words.clear}
          </Button>
        </SubmitRow>
      </Stack>
    </Card>
  );
}
