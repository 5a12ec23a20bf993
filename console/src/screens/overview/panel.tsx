// One subject of the overview, calm: a title and what there is to say.

import { Card, Stack, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { Failure } from '../../parts/failure.tsx';
import { Loading } from '../../parts/loading.tsx';

interface PanelProps {
  readonly title: string;
  readonly error: Error | null;
  readonly isPending: boolean;
  onAgain(): void;
  readonly children: ReactNode;
}

export function Panel({ title, error, isPending, onAgain, children }: PanelProps) {
  return (
    <Card withBorder component="section" aria-label={title}>
      <Stack gap="xs">
        <Title order={2}>{title}</Title>
        {error !== null && <Failure error={error} onAgain={onAgain} />}
        {isPending && <Loading />}
        {error === null && !isPending && children}
      </Stack>
    </Card>
  );
}
