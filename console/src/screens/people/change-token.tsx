// Changes what a program may do, and when its token ends.

import { Checkbox, TextInput } from '@mantine/core';
import { type Token, VersionError } from '@tallybook/client';
import { useQuery } from '@tanstack/react-query';
import { Dialog } from '../../parts/dialog.tsx';
import { DialogButtons } from '../../parts/dialog-buttons.tsx';
import { problemAt } from '../../parts/failure.tsx';
import {
  type Granted,
  GrantedLocations,
  grantOf,
  isGranted,
  useGrantText,
} from '../../parts/granted-locations.tsx';
import { OtherVersion } from '../../parts/other-version.tsx';
import { PostState } from '../../parts/post-state.tsx';
import { tb } from '../../service/client.ts';
import { type Draft, useDraft } from '../../service/drafts.ts';
import type { Scope } from '../../service/me.tsx';
import { usePost } from '../../service/post.ts';
import { texts } from '../../texts.ts';
import { DaysField } from './make-token.tsx';
import { ScopesField } from './scopes-field.tsx';

const words = texts.tokens;

interface Change extends Granted {
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** Null: its end stays. */
  readonly days: number | null;
  readonly version: number;
}

const changeOf = ({ name, scopes, all_locations, location_ids, version }: Token): Change => ({
  ...{ name, scopes, all_locations, location_ids, version, days: null },
});

export interface TokenDialogProps {
  readonly token: Token;
  onDone(): void;
  onClose(): void;
}

export function ChangeToken({ token, onDone, onClose }: TokenDialogProps) {
  const draft = useDraft<Change>(`token:${token.id}`, changeOf(token));
  const post = usePost({
    draft,
    write: ({ name, scopes, days, version, ...granted }, options) =>
      tb.tokens.update(
        token.id,
        {
          ...{ name: name.trim(), scopes, ...grantOf(granted) },
          ...(days === null ? {} : { expires_in_days: days }),
        },
        { ...options, ifMatch: version },
      ),
    onDone,
  });
  const { value, isSent } = draft;
  const cancel = () => {
    if (!isSent) draft.clear();
    onClose();
  };
  const isOther = post.problem instanceof VersionError && !post.isBusy;
  const isReady = value.name.trim() !== '' && value.scopes.length > 0 && isGranted(value);
  return (
    <Dialog title={words.changeOf(token.name)} onClose={onClose}>
      <TextInput
        label={words.name}
        value={value.name}
        maxLength={255}
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
      <End draft={draft} />
      {isOther ? (
        <Other id={token.id} draft={draft} onMine={post.send} onTheirs={cancel} />
      ) : (
        <PostState post={post} />
      )}
      <DialogButtons post={post} text={texts.save} isOff={isOther || !isReady} onCancel={cancel} />
    </Dialog>
  );
}

function End({ draft: { value, isSent, change } }: { readonly draft: Draft<Change> }) {
  return (
    <>
      <Checkbox
        label={words.newEnd}
        checked={value.days !== null}
        disabled={isSent}
        onChange={(event) => change({ ...value, days: event.currentTarget.checked ? 90 : null })}
      />
      {value.days !== null && (
        <DaysField
          value={value.days}
          isOff={isSent}
          onChange={(days) => change({ ...value, days })}
        />
      )}
    </>
  );
}

interface OtherProps {
  readonly id: string;
  readonly draft: Draft<Change>;
  onMine(): void;
  onTheirs(): void;
}

function Other({ id, draft, onMine, onTheirs }: OtherProps) {
  const grantText = useGrantText();
  const { data: now } = useQuery({
    queryKey: ['tokens', id, draft.value.version],
    staleTime: 0,
    queryFn: async ({ signal }) => (await tb.tokens.get(id, { signal })).data,
  });
  if (now === undefined) return null;
  const { value } = draft;
  const rightsOf = (scopes: readonly Scope[]) =>
    scopes.map((scope) => texts.scopes[scope]).join(', ');
  const rows = [
    { name: words.name, now: now.name, mine: value.name },
    { name: words.scopes, now: rightsOf(now.scopes), mine: rightsOf(value.scopes) },
    { name: words.columns.locations, now: grantText(now), mine: grantText(value) },
  ];
  const takeMine = () => {
    draft.change({ ...value, version: now.version });
    onMine();
  };
  return <OtherVersion rows={rows} onMine={takeMine} onTheirs={onTheirs} />;
}
