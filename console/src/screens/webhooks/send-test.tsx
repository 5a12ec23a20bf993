// Sends a test event, and shows what the receiver answered.

import { Alert, Text } from '@mantine/core';
import type { WebhookDeliveries } from '@tallybook/client';
import { useState } from 'react';
import { countText } from '../../format.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { DialogButtons } from '../../parts/dialog-buttons.tsx';
import { Loading } from '../../parts/loading.tsx';
import { PostState } from '../../parts/post-state.tsx';
import { tb } from '../../service/client.ts';
import { useDraft } from '../../service/drafts.ts';
import { usePost } from '../../service/post.ts';
import { texts } from '../../texts.ts';
import { outcomeText, useDeliveries, type WebhookDialogProps } from './webhook-card.tsx';

const words = texts.webhooks;

type Attempt = WebhookDeliveries['attempts'][number];

const lookMs = 700;

export function SendTest({ webhook, onClose }: WebhookDialogProps) {
  const { data } = useDeliveries(webhook.id, lookMs);
  // Tests have no position.
  const tests = data?.attempts.filter(({ position }) => position === null) ?? [];
  const [before, setBefore] = useState<readonly string[]>();
  const draft = useDraft(`webhook-test:${webhook.id}`, {});
  const post = usePost({
    draft,
    write: (_, options) => tb.webhooks.test(webhook.id, {}, options),
    onDone: () => undefined,
  });
  const send = () => {
    setBefore(tests.map(({ event_id }) => event_id));
    post.send();
  };
  const isSent = before !== undefined && !draft.isSent && post.problem === undefined;
  const answer = tests.find(({ event_id }) => before?.includes(event_id) === false);
  return (
    <Dialog title={words.test} onClose={onClose} size="md">
      <Text>{words.testWords(webhook.url)}</Text>
      <PostState post={post} />
      <div aria-live="polite">
        {isSent && answer === undefined && <Loading />}
        {isSent && answer !== undefined && <Answer attempt={answer} />}
      </div>
      <DialogButtons
        post={{ ...post, send }}
        text={answer === undefined ? words.send : texts.sendAgain}
        isOff={data === undefined || (isSent && answer === undefined)}
        onCancel={onClose}
      />
    </Dialog>
  );
}

function Answer({ attempt: { status, failure, milliseconds } }: { readonly attempt: Attempt }) {
  const isGood = failure === null;
  return (
    <Alert
      color={isGood ? 'teal' : 'red'}
      variant="light"
      title={isGood ? words.testGood : words.testBad}
    >
      {outcomeText(status, failure)} · {words.took(countText(milliseconds))}
    </Alert>
  );
}
