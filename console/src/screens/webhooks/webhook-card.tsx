// One webhook: what it is sent, how calls go, and what can be done with it.

import { Badge, Button, Group, Menu, Paper, Stack, Text } from '@mantine/core';
import type { Webhook } from '@tallybook/client';
import { useQuery } from '@tanstack/react-query';
import { agoText, countText } from '../../format.ts';
import { useGrantText } from '../../parts/granted-locations.tsx';
import { tb } from '../../service/client.ts';
import { useMay, useMe } from '../../service/me.tsx';
import { texts } from '../../texts.ts';

const words = texts.webhooks;

export type Action = 'change' | 'switch' | 'test' | 'redeliver' | 'secret' | 'deliveries';

/** What each dialog is given. */
export interface WebhookDialogProps {
  readonly webhook: Webhook;
  onDone(webhook: Webhook): void;
  onClose(): void;
}

export function useDeliveries(id: string, refetchInterval: number | false = 10_000) {
  return useQuery({
    queryKey: ['webhooks', id, 'deliveries'],
    refetchInterval,
    queryFn: async ({ signal }) => (await tb.webhooks.deliveries.get(id, { signal })).data,
  });
}

interface WebhookCardProps {
  readonly webhook: Webhook;
  onAction(action: Action): void;
}

export function WebhookCard({ webhook, onAction }: WebhookCardProps) {
  const { person } = useMe();
  const isMine = webhook.credential_id === person.id;
  const mayWrite = useMay('webhooks.write') && isMine;
  const { url, description, status, pause_reason } = webhook;
  return (
    <Paper component="li" withBorder p="md">
      <Group justify="space-between" align="flex-start" gap="sm">
        <Stack gap={4} flex="1 1 300px" miw={0}>
          <Group gap="xs">
            <Text fw={600} style={{ overflowWrap: 'anywhere' }}>
              {url}
            </Text>
            <StatusBadge webhook={webhook} />
          </Group>
          {description !== null && <Text size="sm">{description}</Text>}
          {status === 'paused' && (
            <Text size="sm" c="dimmed">
              {words.reasons[pause_reason ?? 'requested']}
            </Text>
          )}
          <Sent webhook={webhook} />
          <Calls webhook={webhook} />
          {!isMine && (
            <Text size="sm" c="dimmed">
              {words.ofAnother}
            </Text>
          )}
        </Stack>
        <Group gap="xs">
          <Button size="xs" variant="default" onClick={() => onAction('deliveries')}>
            {words.deliveries}
          </Button>
          {mayWrite && <Actions webhook={webhook} onAction={onAction} />}
        </Group>
      </Group>
    </Paper>
  );
}

function StatusBadge({ webhook: { status, failing_since } }: { readonly webhook: Webhook }) {
  const isFailing = status === 'active' && failing_since !== null;
  const color = status === 'paused' ? 'gray' : 'teal';
  return (
    <Badge variant="light" color={isFailing ? 'red' : color} tt="none" miw="max-content">
      {isFailing ? words.failing : words.statuses[status]}
    </Badge>
  );
}

function Sent({ webhook }: { readonly webhook: Webhook }) {
  const grantText = useGrantText();
  const { types, location_ids, low_stock } = webhook;
  const what = types === null ? words.allTypes : types.map((type) => words.types[type]).join(', ');
  const where = grantText({
    all_locations: location_ids === null,
    location_ids: location_ids ?? [],
  });
  return (
    <Text size="sm">
      {what} · {where}
      {low_stock && ` · ${words.lowOnly}`}
    </Text>
  );
}

function Calls({ webhook: { id, failing_since, last_status } }: { readonly webhook: Webhook }) {
  const { data } = useDeliveries(id);
  const last = data?.attempts[0];
  const waiting = data?.failures.length ?? 0;
  return (
    <Text size="sm" c="dimmed">
      {last === undefined
        ? words.noCall
        : words.lastCall(agoText(last.at), outcomeText(last.status, last.failure))}
      {last === undefined && last_status !== null && ` (${last_status})`}
      {failing_since !== null && ` · ${words.failingSince(agoText(failing_since))}`}
      {waiting > 0 && ` · ${words.waiting(countText(waiting))}`}
    </Text>
  );
}

/** How a call went. */
export function outcomeText(
  status: number | null,
  failure: keyof typeof words.failures | null,
): string {
  if (failure === null || failure === 'status') return words.answered(String(status ?? ''));
  return words.failures[failure];
}

function Actions({ webhook, onAction }: WebhookCardProps) {
  const items = [
    ['test', words.test],
    ['change', words.change],
    ['switch', webhook.status === 'active' ? words.pause : words.resume],
    ['redeliver', words.redeliver],
    ['secret', words.secret],
  ] as const;
  return (
    <Menu position="bottom-end" width={220}>
      <Menu.Target>
        <Button size="xs" variant="default" aria-label={words.actionsOf(webhook.url)}>
          {words.actions}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {items.map(([action, text]) => (
          <Menu.Item key={action} onClick={() => onAction(action)}>
            {text}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
