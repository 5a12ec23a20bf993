// Takes back what was just done, by the opposite of it, under a key of its own.

import { Button, Stack } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useDraft } from '../service/drafts.ts';
import { tell, type Undo } from '../service/notices.ts';
import { usePost } from '../service/post.ts';
import { texts } from '../texts.ts';
import { PostState } from './post-state.tsx';

interface UndoButtonProps {
  readonly undo: Undo;
  onBegin?(): void;
  onDone(): void;
}

export function UndoButton({ undo, onBegin, onDone }: UndoButtonProps) {
  const queries = useQueryClient();
  const draft = useDraft(`undo:${undo.operation_id}`, {});
  const post = usePost({
    draft,
    write: (_, options) => undo.write(options),
    onDone: () => {
      tell(texts.undo.done);
      void queries.invalidateQueries({ queryKey: ['stock'] });
      void queries.invalidateQueries({ queryKey: ['levels'] });
      onDone();
    },
  });
  const send = () => {
    onBegin?.();
    post.send();
  };
  return (
    <Stack gap="xs" mt="xs" align="flex-start">
      <PostState post={post} />
      {!post.isUnsettled && (
        <Button size="xs" variant="default" loading={post.isBusy} onClick={send}>
          {texts.undo.button}
        </Button>
      )}
    </Stack>
  );
}
