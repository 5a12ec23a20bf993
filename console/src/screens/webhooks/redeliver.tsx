// Sends again what happened after a moment, or behind a place in the journal.

import { Radio, Stack, Text, TextInput } from '@mantine/core';
import { Dialog } from '../../parts/dialog.tsx';
import { DialogButtons } from '../../parts/dialog-buttons.tsx';
import { PostState } from '../../parts/post-state.tsx';
import { tb } from '../../service/client.ts';
import { useDraft } from '../../service/drafts.ts';
import { useLocations } from '../../service/me.tsx';
import { usePost } from '../../service/post.ts';
import { texts } from '../../texts.ts';
import type { WebhookDialogProps } from './webhook-card.tsx';

const words = texts.webhooks;

interface From {
  readonly by: 'moment' | 'position';
  /** As the field of the browser writes it. */
  readonly moment: string;
  readonly position: string;
}

/** The journal is asked which one it is, and where it was then: any location knows it. */
async function placeAt({ by, moment, position }: From, location: string | undefined) {
  const typed = position.trim();
  if (location === undefined) return { from_position: typed };
  const as_of = by === 'moment' ? new Date(moment).toISOString() : 'now';
  const { meta } = await tb.inventory.levels.list({ location_id: location, as_of, limit: 1 });
  const { as_of_position = '', journal = null } = meta;
  return { from_position: by === 'moment' ? as_of_position : typed, journal };
}

export function Redeliver({ webhook, onDone, onClose }: WebhookDialogProps) {
  const locations = useLocations();
  const draft = useDraft<From>(`webhook-again:${webhook.id}`, {
    ...{ by: 'moment', moment: '', position: '' },
  });
  const { value, isSent, change } = draft;
  const post = usePost({
    draft,
    write: async (from, options) =>
      tb.webhooks.redeliver(webhook.id, await placeAt(from, locations?.[0]?.id), options),
    onDone: ({ data }) => onDone(data),
  });
  const isReady =
    value.by === 'moment'
      ? !Number.isNaN(Date.parse(value.moment)) && locations !== undefined
      : /^\d+$/.test(value.position.trim());
  return (
    <Dialog title={words.redeliver} onClose={onClose} size="md">
      <Text>{words.redeliverWords}</Text>
      <Radio.Group
        label={words.from}
        value={value.by}
        onChange={(by) => change({ ...value, by: by as From['by'] })}
      >
        <Stack gap={6} mt={4}>
          <Radio value="moment" label={words.fromMoment} disabled={isSent} />
          <Radio value="position" label={words.fromPosition} disabled={isSent} />
        </Stack>
      </Radio.Group>
      {value.by === 'moment' ? (
        <TextInput
          type="datetime-local"
          label={words.moment}
          value={value.moment}
          disabled={isSent}
          onChange={(event) => change({ ...value, moment: event.currentTarget.value })}
        />
      ) : (
        <TextInput
          label={words.position}
          description={words.positionHint}
          inputMode="numeric"
          value={value.position}
          disabled={isSent}
          onChange={(event) => change({ ...value, position: event.currentTarget.value })}
        />
      )}
      <PostState post={post} />
      <DialogButtons post={post} text={words.redeliver} isOff={!isReady} onCancel={onClose} />
    </Dialog>
  );
}
