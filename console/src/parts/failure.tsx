// Why something cannot be shown or was not done, in words, with what the service says to the field
// and the request's ID, by which its log names it.

import { Alert, Button, Group, List, Text } from '@mantine/core';
import { TallybookError } from '@tallybook/client';
import { texts } from '../texts.ts';

interface FailureProps {
  readonly error: Error;
  readonly title?: string;
  readonly onAgain?: () => void;
}

export function Failure({ error, title, onAgain }: FailureProps) {
  const { heading, words, requestId } = explained(error);
  return (
    <Alert role="alert" color="red" variant="light" title={title ?? heading} my="sm">
      <Reasons error={error} words={words} />
      {requestId !== undefined && (
        <Text size="sm" mt={4}>
          {texts.failure.request} <span className="code">{requestId}</span>
        </Text>
      )}
      {onAgain !== undefined && (
        <Group mt="sm">
          <Button variant="default" size="xs" onClick={onAgain}>
            {texts.again}
          </Button>
        </Group>
      )}
    </Alert>
  );
}

function Reasons({ error, words }: { readonly error: Error; readonly words: string }) {
  const details = error instanceof TallybookError ? error.details : [];
  if (details.length === 0) return <Text size="sm">{words}</Text>;
  return (
    <List size="sm">
      {details.slice(0, 8).map(({ field, code, message }) => (
        <List.Item key={`${field} ${code} ${message}`}>
          {field !== undefined && <strong>{fieldText(field)} </strong>}
          {message}
        </List.Item>
      ))}
      {details.length > 8 && <List.Item>{texts.failure.more(details.length - 8)}</List.Item>}
    </List>
  );
}

/** "lines.2.quantity" as people count: line 3, quantity. */
export function fieldText(field: string): string {
  return field
    .replaceAll(/(?:^|\.)lines\.(\d+)/g, (_, index) => ` ${texts.failure.line(Number(index) + 1)},`)
    .replaceAll('_', ' ')
    .replaceAll('.', ' ')
    .replace(/,$/, '')
    .trim();
}

/** What the service says of one field. */
export function problemAt(error: Error | undefined, field: string): string | undefined {
  if (!(error instanceof TallybookError)) return undefined;
  return error.details.find((detail) => detail.field === field)?.message;
}

function explained(error: Error) {
  if (!(error instanceof TallybookError)) {
    return { heading: texts.failure.title, words: error.message || texts.failure.noAnswer };
  }
  const { code, requestId, message } = error;
  const isSilent = code === 'connection_lost';
  return {
    heading: isSilent ? texts.failure.noAnswerTitle : texts.failure.title,
    words: isSilent ? texts.failure.noAnswer : message,
    requestId,
  };
}
