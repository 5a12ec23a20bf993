// How a dialog ends: with the write, or without it.

import { Button, Group } from '@mantine/core';
import type { Post } from '../service/post.ts';
import { texts } from '../texts.ts';

interface DialogButtonsProps {
  readonly post: Post;
  /** What the write does. */
  readonly text: string;
  readonly color?: string;
  readonly isOff?: boolean;
  onCancel(): void;
}

export function DialogButtons({ post, text, color, isOff = false, onCancel }: DialogButtonsProps) {
  return (
    <Group justify="flex-end" className="dialog-buttons">
      <Button variant="default" onClick={onCancel}>
        {texts.cancel}
      </Button>
      <Button
        loading={post.isBusy}
        disabled={isOff || post.isUnsettled}
        onClick={post.send}
        {...(color === undefined ? {} : { color })}
      >
        {text}
      </Button>
    </Group>
  );
}
