// A button that asks first, because what it does cannot be undone.

import { Button, Group } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { texts } from '../texts.ts';
import { Dialog } from './dialog.tsx';

interface ConfirmButtonProps {
  readonly text: string;
  readonly question: string;
  readonly disabled: boolean;
  onConfirm(): void;
}

export function ConfirmButton({ text, question, disabled, onConfirm }: ConfirmButtonProps) {
  const [isOpen, { open, close }] = useDisclosure();
  return (
    <>
      <Button variant="subtle" color="gray" c="dimmed" disabled={disabled} onClick={open}>
        {text}
      </Button>
      {isOpen && (
        <Dialog title={question} size="md" onClose={close}>
          <Group justify="flex-end">
            <Button variant="default" data-autofocus onClick={close}>
              {texts.cancel}
            </Button>
            <Button
              color="red"
              onClick={() => {
                close();
                onConfirm();
              }}
            >
              {text}
            </Button>
          </Group>
        </Dialog>
      )}
    </>
  );
}
