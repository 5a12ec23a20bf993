// Makes a token of a program. Its text comes with the first answer, and is kept nowhere.

import { NumberInput, TextInput } from '@mantine/core';
import type { Token } from '@tallybook/client';
import { Dialog } from '../../parts/dialog.tsx';
import { DialogButtons } from '../../parts/dialog-buttons.tsx';
import { problemAt } from '../../parts/failure.tsx';
import {
  type Granted,
  GrantedLocations,
  grantOf,
  isGranted,
} from '../../parts/granted-locations.tsx';
import { PostState } from '../../parts/post-state.tsx';
import { tb } from '../../service/client.ts';
import { useDraft } from '../../service/drafts.ts';
import { type Scope, useMe } from '../../service/me.tsx';
import { usePost } from '../../service/post.ts';
import { texts } from '../../texts.ts';
import { ScopesField } from './scopes-field.tsx';

const words = texts.tokens;

interface Wanted extends Granted {
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly days: number;
}

const daysMax = 366;
const daysUsual = 90;

function useWanted() {
  const { allLocations } = useMe();
  return useDraft<Wanted>('token:make', {
    ...{ name: '', scopes: [], days: daysUsual },
    ...{ all_locations: allLocations, location_ids: [] },
  });
}

/** One that was sent, and not answered, goes on where it was left. */
export const useIsMaking = (): boolean => useWanted().isSent;

interface MakeTokenProps {
  onDone(token: Token): void;
  onClose(): void;
}

export function MakeToken({ onDone, onClose }: MakeTokenProps) {
  const draft = useWanted();
  const post = usePost({
    draft,
    write: ({ name, scopes, days, ...granted }, options) =>
      tb.tokens.create(
        { name: name.trim(), scopes, expires_in_days: days, ...grantOf(granted) },
        options,
      ),
    onDone: ({ data }) => onDone(data),
  });
  const { value, isSent } = draft;
  const cancel = () => {
    if (!isSent) draft.clear();
    onClose();
  };
  const isReady = value.name.trim() !== '' && value.scopes.length > 0 && isGranted(value);
  return (
    <Dialog title={words.make} onClose={onClose}>
      <TextInput
        label={words.name}
        description={words.nameHint}
        value={value.name}
        maxLength={255}
        data-autofocus
        autoComplete="off"
        disabled={isSent}
        error={problemAt(post.problem, 'name')}
        onChange={(event) => draft.change({ ...value, name: event.currentTarget.value })}
      />
      <ScopesField
        value={value.scopes}
        isOff={isSent}
        onChange={(scopes) => draft.change({ ...value, scopes })}
      />
      <GrantedLocations
        value={value}
        isOff={isSent}
        onChange={(granted) => draft.change({ ...value, ...granted })}
      />
      <DaysField
        value={value.days}
        isOff={isSent}
        onChange={(days) => draft.change({ ...value, days })}
      />
      <PostState post={post} />
      <DialogButtons post={post} text={words.make} isOff={!isReady} onCancel={cancel} />
    </Dialog>
  );
}

interface DaysFieldProps {
  readonly value: number;
  readonly isOff: boolean;
  onChange(days: number): void;
}

export function DaysField({ value, isOff, onChange }: DaysFieldProps) {
  return (
    <NumberInput
      label={words.days}
      value={value}
      min={1}
      max={daysMax}
      clampBehavior="blur"
      allowDecimal={false}
      hideControls
      w={200}
      disabled={isOff}
      onChange={(typed) => typeof typed === 'number' && onChange(typed)}
    />
  );
}
