// Changes what somebody is called and may do. A change by another owner meanwhile is shown.

import { TextInput } from '@mantine/core';
import { type Person, VersionError } from '@tallybook/client';
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
import { usePost } from '../../service/post.ts';
import type { RoleName } from '../../service/roles.ts';
import { texts } from '../../texts.ts';
import { RoleField } from './role-field.tsx';

const words = texts.people;

interface Change extends Granted {
  readonly name: string;
  readonly role: RoleName;
  readonly version: number;
}

const changeOf = ({ name, role, all_locations, location_ids, version }: Person): Change => ({
  ...{ name, role, all_locations, location_ids, version },
});

export interface PersonDialogProps {
  readonly person: Person;
  onDone(person: Person): void;
  onClose(): void;
}

export function ChangePerson({ person, onDone, onClose }: PersonDialogProps) {
  const draft = useDraft<Change>(`person:${person.id}`, changeOf(person));
  const post = usePost({
    draft,
    write: ({ name, role, version, ...granted }, options) =>
      tb.people.update(
        person.id,
        { name: name.trim(), role, ...grantOf(granted) },
        { ...options, ifMatch: version },
      ),
    onDone: ({ data }) => onDone(data),
  });
  const { value, isSent } = draft;
  const cancel = () => {
    if (!isSent) draft.clear();
    onClose();
  };
  const isOther = post.problem instanceof VersionError && !post.isBusy;
  return (
    <Dialog title={words.changeOf(person.name)} onClose={onClose}>
      <TextInput
        label={words.name}
        value={value.name}
        maxLength={100}
        disabled={isSent}
        error={problemAt(post.problem, 'name')}
        onChange={(event) => draft.change({ ...value, name: event.currentTarget.value })}
      />
      <RoleField
        value={value.role}
        isOff={isSent}
        onChange={(role) => draft.change({ ...value, role })}
      />
      <GrantedLocations
        value={value}
        isOff={isSent}
        onChange={(granted) => draft.change({ ...value, ...granted })}
      />
      {isOther ? (
        <Other id={person.id} draft={draft} onMine={post.send} onTheirs={cancel} />
      ) : (
        <PostState post={post} />
      )}
      <DialogButtons
        post={post}
        text={texts.save}
        isOff={isOther || value.name.trim() === '' || !isGranted(value)}
        onCancel={cancel}
      />
    </Dialog>
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
    queryKey: ['people', id, draft.value.version],
    staleTime: 0,
    queryFn: async ({ signal }) => (await tb.people.get(id, { signal })).data,
  });
  if (now === undefined) return null;
  const { value } = draft;
  const rows = [
    { name: words.name, now: now.name, mine: value.name },
    {
      name: words.role,
      now: texts.roles[now.role] ?? now.role,
      mine: texts.roles[value.role] ?? value.role,
    },
    { name: words.columns.locations, now: grantText(now), mine: grantText(value) },
  ];
  const takeMine = () => {
    draft.change({ ...value, version: now.version });
    onMine();
  };
  return <OtherVersion rows={rows} onMine={takeMine} onTheirs={onTheirs} />;
}
