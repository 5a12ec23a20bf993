// Two people changed one number: both are shown, and the second one decides.

import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { Quantity } from '@tallybook/client';
import { quantityText } from '../../format.ts';
import type { Draft } from '../../service/drafts.ts';
import { texts } from '../../texts.ts';
import type { Change } from './use-change.ts';

const words = texts.stock;

interface ConflictProps {
  readonly draft: Draft<Change>;
  /** What is there since the other one's change. */
  readonly now: string;
  /** What this person typed, as a quantity. */
  readonly typed: string;
  onAgain(): void;
}

export function Conflict({ draft, now, typed, onAgain }: ConflictProps) {
  const shown = quantityText(typed);
  const takeMine = () => {
    draft.change({ ...draft.value, expected: now });
    onAgain();
  };
  return (
    <Modal opened onClose={draft.clear} withCloseButton={false} title={words.conflictTitle}>
      <Stack>
        <Text>{words.conflict(quantityText(draft.value.expected), quantityText(now), shown)}</Text>
        <Group>
          <Button data-autofocus variant="default" onClick={draft.clear}>
            {words.keepTheirs(quantityText(now))}
          </Button>
          {Quantity.compare(typed, now) !== 0 && (
            <Button onClick={takeMine}>{words.takeMine(shown)}</Button>
          )}
        </Group>
      </Stack>
    </Modal>
  );
}
