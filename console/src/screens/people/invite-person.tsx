// Invites somebody: name, role, locations. What was typed stays until it is settled; the link that
// comes of it is nowhere but on the page.

import { TextInput } from '@mantine/core';
import type { Person } from '@tallybook/client';
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
import { useMe } from '../../service/me.tsx';
import { usePost } from '../../service/post.ts';
import type { RoleName } from '../../service/roles.ts';
import { texts } from '../../texts.ts';
import { RoleField } from './role-field.tsx';

const words = texts.people;

interface Invitation extends Granted {
  readonly name: string;
  readonly role: RoleName;
}

function useInvitation() {
  const { allLocations } = useMe();
  return useDraft<Invitation>('person:invite', {
    name: '',
    role: 'keeper',
    all_locations: allLocations,
    location_ids: [],
  });
}

/** An invitation that was sent, and not answered, goes on where it was left. */
export const useIsInviting = (): boolean => useInvitation().isSent;

interface InvitePersonProps {
  onDone(person: Person): void;
  onClose(): void;
}

export function InvitePerson({ onDone, onClose }: InvitePersonProps) {
  const draft = useInvitation();
  const post = usePost({
    draft,
    write: ({ name, role, ...granted }, options) =>
      tb.people.invite({ name: name.trim(), role, ...grantOf(granted) }, options),
    onDone: ({ data }) => onDone(data),
  });
  const { value, isSent } = draft;
  const cancel = () => {
    if (!isSent) draft.clear();
    onClose();
  };
  return (
    <Dialog title={words.invite} onClose={onClose}>
      <TextInput
        label={words.name}
        description={words.nameHint}
        value={value.name}
        maxLength={100}
        data-autofocus
        autoComplete="off"
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
      <PostState post={post} />
      <DialogButtons
        post={post}
        text={words.makeLink}
        isOff={value.name.trim() === '' || !isGranted(value)}
        onCancel={cancel}
      />
    </Dialog>
  );
}
