// Webhooks: which addresses are called with what happens, and whether they answer.

import { Button, Stack, Text } from '@mantine/core';
import type { Webhook } from '@tallybook/client';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Failure } from '../../parts/failure.tsx';
import { Loading } from '../../parts/loading.tsx';
import { Screen } from '../../parts/screen.tsx';
import { ShowMore } from '../../parts/show-more.tsx';
import { tb } from '../../service/client.ts';
import { useMay } from '../../service/me.tsx';
import { usePages } from '../../service/pages.ts';
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

export function WebhooksScreen() {
  const pages = usePages(['webhooks'], (page, options) => tb.webhooks.list(page, options), {
    againMs: lookAgainMs,
  });
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
  const { rows: shown, error, isPending } = pages;
  return (
    <Screen
      title={words.title}
      hint={words.hint}
      actions={mayWrite && <Button onClick={() => setOpen(true)}>{words.make}</Button>}
    >
      {error !== null && <Failure error={error} onAgain={pages.again} />}
      {isPending && <Loading />}
      {!isPending && error === null && shown.length === 0 && <Text>{words.nothing}</Text>}
      <Stack component="ul" gap="sm" p={0} m={0} style={{ listStyle: 'none' }}>
        {shown.map((webhook) => (
          <WebhookCard
            key={webhook.id}
            webhook={webhook}
            onAction={(action) => setChosen({ webhook, action })}
          />
        ))}
      </Stack>
      <ShowMore pages={pages} />
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
