// How a form of lines ends: what leaves it, and what records it.

import { Button, Group } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Post } from '../service/post.ts';

interface SubmitRowProps {
  readonly post: Post;
  readonly isOff: boolean;
  readonly text: string;
  /** The way out. */
  readonly children: ReactNode;
}

export function SubmitRow({ post, isOff, text, children }: SubmitRowProps) {
  return (
    <Group justify="space-between">
      {children}
      <Button type="submit" size="md" loading={post.isBusy} disabled={isOff}>
        {text}
      </Button>
    </Group>
  );
}
