// What was done, in the corner of the page.

import { Notification, Stack } from '@mantine/core';
import { lazy, Suspense } from 'react';
import { hold, useNotices, withdraw } from '../service/notices.ts';
import { texts } from '../texts.ts';

const UndoButton = lazy(async () => ({
  default: (await import('../parts/undo-button.tsx')).UndoButton,
}));

export function Notices() {
  const notices = useNotices();
  const closing = { 'aria-label': texts.close };
  return (
    // There before its first text, because screen readers say what changes in it.
    <Stack className="notices" gap="xs" role="status">
      {notices.map(({ id, message, undo }) => (
        <Notification
          key={id}
          withBorder
          onClose={() => withdraw(id)}
          closeButtonProps={closing}
          role="none"
        >
          {message}
          {undo !== undefined && (
            <Suspense fallback={null}>
              <UndoButton undo={undo} onBegin={() => hold(id)} onDone={() => withdraw(id)} />
            </Suspense>
          )}
        </Notification>
      ))}
    </Stack>
  );
}
