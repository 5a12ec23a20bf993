// Makes a token of a program. Its text comes with the first answer, and is kept nowhere.

import { NumberInput } from '@mantine/core';
import type { Token } from '@tallybook/client';
import { grantOf } from '../../parts/granted-locations.tsx';
import { tb } from '../../service/client.ts';
import { useDraft } from '../../service/drafts.ts';
import { type Scope, useMe } from '../../service/me.tsx';
import { usePost } from '../../service/post.ts';
import { texts } from '../../texts.ts';
import { type Access, AccessDialog } from './access-dialog.tsx';
import { ScopesField } from './scopes-field.tsx';

const words = texts.tokens;

interface Wanted extends Access {
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
  return (
    <AccessDialog
      {...{ draft, post, onClose }}
      title={words.make}
      nameField={{ label: words.name, description: words.nameHint, maxLength: 255 }}
      rights={<ScopesField draft={draft} />}
      isReady={value.scopes.length > 0}
      end={
        <DaysField
          value={value.days}
          isOff={isSent}
          onChange={(days) => draft.change({ ...value, days })}
        />
      }
      text={words.make}
    />
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
