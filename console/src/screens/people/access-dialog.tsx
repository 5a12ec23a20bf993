// What the dialogs of people and of tokens have in common: a name, locations, and the way out. A
// change by another owner meanwhile is shown.

import { TextInput, type TextInputProps } from '@mantine/core';
import { VersionError } from '@tallybook/client';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Dialog } from '../../parts/dialog.tsx';
import { DialogButtons } from '../../parts/dialog-buttons.tsx';
import { problemAt } from '../../parts/failure.tsx';
import {
  type Granted,
  GrantedLocations,
  isGranted,
  useGrantText,
} from '../../parts/granted-locations.tsx';
import { OtherVersion } from '../../parts/other-version.tsx';
import { PostState } from '../../parts/post-state.tsx';
import type { Draft } from '../../service/drafts.ts';
import type { Post } from '../../service/post.ts';
import { texts } from '../../texts.ts';

export interface Access extends Granted {
  readonly name: string;
}

interface AccessDialogProps<Value extends Access> {
  readonly title: string;
  readonly draft: Draft<Value>;
  readonly post: Post;
  readonly nameField: Pick<TextInputProps, 'label' | 'description' | 'maxLength'>;
  /** What it may do. */
  readonly rights: ReactNode;
  /** Whether that is enough. */
  readonly isReady?: boolean;
  /** When it ends. */
  readonly end?: ReactNode;
  /** What the write does. */
  readonly text: string;
  /** Somebody was faster. */
  readonly other?: (leave: () => void) => ReactNode;
  onClose(): void;
}

export function AccessDialog<Value extends Access>(dialog: AccessDialogProps<Value>) {
  const { title, draft, post, rights, isReady = true, end, text, other, onClose } = dialog;
  const { value, isSent, change } = draft;
  const cancel = () => {
    if (!isSent) draft.clear();
    onClose();
  };
  const isOther = other !== undefined && post.problem instanceof VersionError && !post.isBusy;
  return (
    <Dialog title={title} onClose={onClose}>
      <TextInput
        {...dialog.nameField}
        value={value.name}
        data-autofocus
        autoComplete="off"
        disabled={isSent}
        error={problemAt(post.problem, 'name')}
        onChange={(event) => change({ ...value, name: event.currentTarget.value })}
      />
      {rights}
      <GrantedLocations
        value={value}
        isOff={isSent}
        onChange={(granted) => change({ ...value, ...granted })}
      />
      {end}
      {isOther ? other(cancel) : <PostState post={post} />}
      <DialogButtons
        post={post}
        text={text}
        isOff={isOther || !isReady || value.name.trim() === '' || !isGranted(value)}
        onCancel={cancel}
      />
    </Dialog>
  );
}

interface Changed extends Access {
  readonly version: number;
}

interface OtherAccessProps<Value extends Changed, Row extends Changed> {
  /** The first of the keys of its queries, and its ID. */
  readonly queryKey: readonly [string, string];
  readonly draft: Draft<Value>;
  readonly nameLabel: string;
  /** What it may do: what that is called, and in words. */
  readonly rightsLabel: string;
  rightsOf(one: Value | Row): string;
  read(signal: AbortSignal): Promise<{ readonly data: Row }>;
  onMine(): void;
  onTheirs(): void;
}

export function OtherAccess<Value extends Changed, Row extends Changed>({
  draft,
  rightsOf,
  read,
  ...other
}: OtherAccessProps<Value, Row>) {
  const grantText = useGrantText();
  const { value } = draft;
  const { data: now } = useQuery({
    queryKey: [...other.queryKey, value.version],
    staleTime: 0,
    queryFn: async ({ signal }) => (await read(signal)).data,
  });
  if (now === undefined) return null;
  const rows = [
    { name: other.nameLabel, now: now.name, mine: value.name },
    { name: other.rightsLabel, now: rightsOf(now), mine: rightsOf(value) },
    { name: texts.people.columns.locations, now: grantText(now), mine: grantText(value) },
  ];
  const takeMine = () => {
    draft.change({ ...value, version: now.version });
    other.onMine();
  };
  return <OtherVersion rows={rows} onMine={takeMine} onTheirs={other.onTheirs} />;
}
