// What is asked before a program loses access.

import { Text } from '@mantine/core';
import { Dialog } from '../../parts/dialog.tsx';
import { DialogButtons } from '../../parts/dialog-buttons.tsx';
import { PostState } from '../../parts/post-state.tsx';
import { tb } from '../../service/client.ts';
import { useDraft } from '../../service/drafts.ts';
import { usePost } from '../../service/post.ts';
import { texts } from '../../texts.ts';
import type { TokenDialogProps } from './change-token.tsx';

const words = texts.tokens;

export function AskRevokeToken({ token, onDone, onClose }: TokenDialogProps) {
  const draft = useDraft(`token-revoke:${token.id}`, {});
  const post = usePost({
    draft,
    write: (_, options) => tb.tokens.update(token.id, { status: 'revoked' }, options),
    onDone,
  });
  return (
    <Dialog title={words.revokeTitle(token.name)} onClose={onClose} size="md">
      <Text>{token.application === null ? words.revokeWords : words.revokeApplication}</Text>
      <PostState post={post} />
      <DialogButtons post={post} text={words.revoke} color="red" onCancel={onClose} />
    </Dialog>
  );
}
