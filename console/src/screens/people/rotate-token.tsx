// What is asked before a program gets a new token. Its text comes with the first answer alone.

import { Checkbox, Text } from '@mantine/core';
import type { Token } from '@tallybook/client';
import { Dialog } from '../../parts/dialog.tsx';
import { DialogButtons } from '../../parts/dialog-buttons.tsx';
import { PostState } from '../../parts/post-state.tsx';
import { tb } from '../../service/client.ts';
import { useDraft } from '../../service/drafts.ts';
import { usePost } from '../../service/post.ts';
import { texts } from '../../texts.ts';

const words = texts.tokens;

interface AskRotateProps {
  readonly token: Token;
  onDone(token: Token): void;
  onClose(): void;
}

export function AskRotateToken({ token, onDone, onClose }: AskRotateProps) {
  const draft = useDraft(`token-rotate:${token.id}`, { isAtOnce: false });
  const { value, isSent, change } = draft;
  const post = usePost({
    draft,
    write: ({ isAtOnce }, options) =>
      tb.tokens.rotate(token.id, isAtOnce ? { overlap_hours: 0 } : {}, options),
    onDone: ({ data }) => onDone(data),
  });
  return (
    <Dialog title={words.rotateTitle(token.name)} onClose={onClose} size="md">
      <Text>{words.rotateWords}</Text>
      <Checkbox
        label={words.rotateNow}
        checked={value.isAtOnce}
        disabled={isSent}
        onChange={(event) => change({ isAtOnce: event.currentTarget.checked })}
      />
      <PostState post={post} />
      <DialogButtons post={post} text={words.rotate} onCancel={onClose} />
    </Dialog>
  );
}
