// The frame of a screen: its title, what can be done there, and what it shows.

import { Group, Stack, Text, Title } from '@mantine/core';
import { type ReactNode, useEffect } from 'react';
import { texts } from '../texts.ts';

interface ScreenProps {
  readonly title: string;
  /** One sentence: what is this for? */
  readonly hint?: string;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

export function Screen({ title, hint, actions, children }: ScreenProps) {
  useEffect(() => {
    document.title = `${title} · ${texts.brand}`;
  }, [title]);
  return (
    <Stack gap="md">
      <Group justify="space-between" align="flex-start" gap="sm">
        <Stack gap={2} flex="1 1 260px">
          <Title order={1}>{title}</Title>
          {hint !== undefined && (
            <Text c="dimmed" size="sm">
              {hint}
            </Text>
          )}
        </Stack>
        {actions !== undefined && <Group gap="xs">{actions}</Group>}
      </Group>
      {children}
    </Stack>
  );
}
