// Webhooks: which addresses are called with what happens, and whether they answer.

import { Button, Stack, Text } from '@mantine/core';
import type { Webhook } from '@tallybook/client';
import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Failure } from '../../parts/failure.tsx';
import { Loading } from '../../parts/loading.tsx';
import { Screen } from '../../parts/screen.tsx';
import { tb } from '../../service/client.ts';
import { useMay } from '../../service/me.tsx';
import { texts } from '../../texts.ts';
import { Deliveries } from './deliveries.tsx';
import { Redeliver } from './redeliver.tsx';
import { Secret } from './secret.tsx';
import { SendTest } from './send-test.tsx';
import { Switch } from './switch.tsx';
import { type Action, WebhookCard } from './webhook-card.tsx';
import { ChangeWebhook, MakeWebhook, useIsMaking } from './webhook-form.tsx';

const words = texts.webhooks;

interface Chosen {
  readonly webhook: Webhook;
  readonly action: Action;
}

/** Nothing tells the page how calls went. */
const lookAgainMs = 10_000;

function useWebhooks() {
  return useInfiniteQuery({
    queryKey: ['webhooks'],
    initialPageParam: undefined as string | undefined,
    refetchInterval: lookAgainMs,
    queryFn: async ({ pageParam: cursor, signal }) => {
      const { data, nextCursor } = await tb.webhooks.list({ limit: 50, cursor }, { signal });
      return { data, nextCursor };
    },
    getNextPageParam: ({ nextCursor }) => nextCursor,
  });
}

export function WebhooksScreen() {
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useWebhooks();
  const mayWrite = useMay('webhooks.write');
  const queries = useQueryClient();
  const wasMaking = useIsMaking();
  const [isOpen, setOpen] = useState(false);
  const [chosen, setChosen] = useState<Chosen>();
  const close = () => {
    setOpen(false);
    setChosen(undefined);
  };
  const onDone = (webhook: Webhook, then?: Action) => {
    setOpen(false);
    setChosen(then === undefined ? undefined : { webhook, action: then });
    void queries.invalidateQueries({ queryKey: ['webhooks'] });
  };
  const shown = data?.pages.flatMap((page) => page.data) ?? [];
  return (
    <Screen
      title={words.title}
      hint={words.hint}
      actions={mayWrite && <Button onClick={() => setOpen(true)}>{words.make}</Button>}
    >
      {error !== null && <Failure error={error} onAgain={() => void refetch()} />}
      {data === undefined && error === null && <Loading />}
      {data !== undefined && shown.length === 0 && <Text>{words.nothing}</Text>}
      <Stack component="ul" gap="sm" p={0} m={0} style={{ listStyle: 'none' }}>
        {shown.map((webhook) => (
          <WebhookCard
            key={webhook.id}
            webhook={webhook}
            onAction={(action) => setChosen({ webhook, action })}
          />
        ))}
      </Stack>
      {hasNextPage && (
        <Button variant="default" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          {texts.more}
        </Button>
      )}
      {mayWrite && (isOpen || wasMaking) && (
        <MakeWebhook onDone={(webhook) => onDone(webhook, 'secret')} onClose={close} />
      )}
      {chosen !== undefined && <ActionDialog {...chosen} onDone={onDone} onClose={close} />}
    </Screen>
  );
}

interface ActionDialogProps extends Chosen {
  onDone(webhook: Webhook): void;
  onClose(): void;
}

function ActionDialog({ webhook, action, onDone, onClose }: ActionDialogProps) {
  const parts = {
    change: ChangeWebhook,
    switch: Switch,
    test: SendTest,
    redeliver: Redeliver,
    secret: Secret,
    deliveries: Deliveries,
  };
  const Part = parts[action];
  return <Part webhook={webhook} onDone={onDone} onClose={onClose} />;
}
