// What is asked before somebody is invited again, or loses access.

import { Text } from '@mantine/core';
import { Dialog } from '../../parts/dialog.tsx';
import { DialogButtons } from '../../parts/dialog-buttons.tsx';
import { PostState } from '../../parts/post-state.tsx';
import { tb } from '../../service/client.ts';
import { useDraft } from '../../service/drafts.ts';
import { useMe } from '../../service/me.tsx';
import { usePost } from '../../service/post.ts';
import { texts } from '../../texts.ts';
import type { PersonDialogProps } from './change-person.tsx';

const words = texts.people;

export function AskAgain({ person, onDone, onClose }: PersonDialogProps) {
  const draft = useDraft(`person-again:${person.id}`, {});
  const post = usePost({
    draft,
    write: (_, options) => tb.people.invite_again(person.id, {}, options),
    onDone: ({ data }) => onDone(data),
  });
  return (
    <Dialog title={words.againTitle(person.name)} onClose={onClose} size="md">
      <Text>{person.status === 'revoked' ? words.againRevoked : words.againWords}</Text>
      <PostState post={post} />
      <DialogButtons post={post} text={words.makeLink} onCancel={onClose} />
    </Dialog>
  );
}

export function AskRevoke({ person, onDone, onClose }: PersonDialogProps) {
  const me = useMe();
  const draft = useDraft(`person-revoke:${person.id}`, {});
  const post = usePost({
    draft,
    write: (_, options) => tb.people.update(person.id, { status: 'revoked' }, options),
    onDone: ({ data }) => onDone(data),
  });
  return (
    <Dialog title={words.revokeTitle(person.name)} onClose={onClose} size="md">
      <Text>{words.revokeWords(person.name)}</Text>
      {person.id === me.person.id && <Text fw={600}>{words.revokeYourself}</Text>}
      <PostState post={post} />
      <DialogButtons post={post} text={words.revoke} color="red" onCancel={onClose} />
    </Dialog>
  );
}
