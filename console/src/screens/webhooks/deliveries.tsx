// The last calls of a webhook, and what waits for another attempt.

import { Table, Text, Title } from '@mantine/core';
import { agoText, countText, exactMomentText, momentText } from '../../format.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { Failure } from '../../parts/failure.tsx';
import { Loading } from '../../parts/loading.tsx';
import { texts } from '../../texts.ts';
import { outcomeText, useDeliveries, type WebhookDialogProps } from './webhook-card.tsx';

const words = texts.webhooks;

export function Deliveries({ webhook, onClose }: WebhookDialogProps) {
  const { data, error, refetch } = useDeliveries(webhook.id, 3_000);
  return (
    <Dialog title={words.deliveries} onClose={onClose}>
      {error !== null && <Failure error={error} onAgain={() => void refetch()} />}
      {data === undefined && error === null && <Loading />}
      {data !== undefined && data.failures.length > 0 && (
        <>
          <Title order={3} size="h5">
            {words.waits}
          </Title>
          {data.failures.map(({ event_id, tries, next_at, status, failure }) => (
            <Text size="sm" key={event_id}>
              <span className="code">{event_id}</span> · {words.tries(countText(tries))} ·{' '}
              {outcomeText(status, failure)} ·{' '}
              {next_at === null ? words.soon : words.next(momentText(next_at))}
            </Text>
          ))}
        </>
      )}
      {data?.attempts.length === 0 && <Text>{words.noCall}</Text>}
      {data !== undefined && data.attempts.length > 0 && (
        <Table verticalSpacing={4}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{words.when}</Table.Th>
              <Table.Th>{words.event}</Table.Th>
              <Table.Th>{words.answer}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {data.attempts.map(({ event_id, at, status, failure, position, milliseconds }) => (
              <Table.Tr key={`${event_id} ${at}`}>
                <Table.Td title={exactMomentText(at)}>{agoText(at)}</Table.Td>
                <Table.Td className="code">{position ?? words.aTest}</Table.Td>
                <Table.Td>
                  {outcomeText(status, failure)} · {words.took(countText(milliseconds))}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
    </Dialog>
  );
}
