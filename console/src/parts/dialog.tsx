// A window over the page, with its name and a way out.

import { Modal, type ModalProps, Stack } from '@mantine/core';
import type { ReactNode } from 'react';
import { texts } from '../texts.ts';

interface DialogProps extends Pick<ModalProps, 'size'> {
  readonly title: string;
  readonly children: ReactNode;
  onClose(): void;
}

export function Dialog({ title, children, onClose, size = 'lg' }: DialogProps) {
  return (
    <Modal
      opened
      onClose={onClose}
      title={title}
      size={size}
      closeButtonProps={{ 'aria-label': texts.close }}
      styles={{ title: { fontWeight: 650, fontSize: '1.15rem' } }}
    >
      <Stack gap="sm">{children}</Stack>
    </Modal>
  );
}
