// The text of a token, shown this once.

import { Alert, Button, Text } from '@mantine/core';
import type { Token } from '@tallybook/client';
import { CopyText } from '../../parts/copy-text.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { texts } from '../../texts.ts';

const words = texts.tokens;

interface TokenTextProps {
  readonly token: Token;
  onClose(): void;
}

export function TokenText({ token, onClose }: TokenTextProps) {
  if (token.token === null) {
    return (
      <Dialog title={words.made(token.name)} onClose={onClose}>
        <Alert color="orange" variant="light" role="alert" title={words.lost}>
          {words.lostWords}
        </Alert>
      </Dialog>
    );
  }
  return (
    <Dialog title={words.made(token.name)} onClose={onClose}>
      <Alert color="orange" variant="light" title={words.onceTitle}>
        {words.onceWords}
      </Alert>
      <CopyText label={words.text} text={token.token} />
      <Text size="sm" c="dimmed">
        {words.use} <span className="code">Authorization: Bearer …</span>
      </Text>
      <Button onClick={onClose}>{words.done}</Button>
    </Dialog>
  );
}
