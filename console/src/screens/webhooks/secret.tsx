// What calls are signed with. It is read when it is looked at, and kept nowhere.

import { Alert, Button, Group, Text } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { momentText } from '../../format.ts';
import { CopyText } from '../../parts/copy-text.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Failure } from '../../parts/failure.tsx';
import { Loading } from '../../parts/loading.tsx';
import { PostState } from '../../parts/post-state.tsx';
import { tb } from '../../service/client.ts';
import { useDraft } from '../../service/drafts.ts';
import { usePost } from '../../service/post.ts';
import { texts } from '../../texts.ts';
import type { WebhookDialogProps } from './webhook-card.tsx';

const words = texts.webhooks;

export function Secret({ webhook, onClose }: WebhookDialogProps) {
  const queries = useQueryClient();
  const queryKey = ['webhooks', webhook.id, 'secret'];
  const { data, error, refetch } = useQuery({
    queryKey,
    gcTime: 0,
    queryFn: async ({ signal }) => (await tb.webhooks.secret.get(webhook.id, { signal })).data,
  });
  const draft = useDraft(`webhook-secret:${webhook.id}`, {});
  const post = usePost({
    draft,
    write: (_, options) => tb.webhooks.update(webhook.id, { rotate_secret: true }, options),
    onDone: () => void queries.invalidateQueries({ queryKey: ['webhooks'] }),
  });
  return (
    <Dialog title={words.secret} onClose={onClose}>
      <Text size="sm">{words.secretWords}</Text>
      {error !== null && <Failure error={error} onAgain={() => void refetch()} />}
      {data === undefined && error === null && <Loading />}
      {data !== undefined && <CopyText label={words.secretLabel} text={data.secret} />}
      {data?.previous != null && (
        <Alert color="orange" variant="light">
          {words.previous(momentText(data.previous.expires_at))}
        </Alert>
      )}
      <PostState post={post} />
      <Group justify="space-between" mt="xs">
        <Button
          variant="default"
          loading={post.isBusy}
          disabled={post.isUnsettled}
          onClick={post.send}
        >
          {words.rotate}
        </Button>
        <Button onClick={onClose}>{texts.close}</Button>
      </Group>
    </Dialog>
  );
}
