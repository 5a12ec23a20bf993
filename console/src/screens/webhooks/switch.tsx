// Pauses a webhook, or lets it go on where it was.

import { Text } from '@mantine/core';
import { Dialog } from '../../parts/dialog.tsx';
import { DialogButtons } from '../../parts/dialog-buttons.tsx';
import { PostState } from '../../parts/post-state.tsx';
import { tb } from '../../service/client.ts';
import { useDraft } from '../../service/drafts.ts';
import { usePost } from '../../service/post.ts';
import { texts } from '../../texts.ts';
import type { WebhookDialogProps } from './webhook-card.tsx';

const words = texts.webhooks;

export function Switch({ webhook, onDone, onClose }: WebhookDialogProps) {
  const isActive = webhook.status === 'active';
  const draft = useDraft<{ readonly status: 'active' | 'paused' }>(`webhook-on:${webhook.id}`, {
    status: isActive ? 'paused' : 'active',
  });
  const post = usePost({
    draft,
    write: ({ status }, options) => tb.webhooks.update(webhook.id, { status }, options),
    onDone: ({ data }) => onDone(data),
  });
  const text = isActive ? words.pause : words.resume;
  return (
    <Dialog title={text} onClose={onClose} size="md">
      <Text>{isActive ? words.pauseWords : words.resumeWords}</Text>
      <PostState post={post} />
      <DialogButtons post={post} text={text} onCancel={onClose} />
    </Dialog>
  );
}
