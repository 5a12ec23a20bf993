// What was done, in the corner of the page.

import { Notification, Stack } from '@mantine/core';
import { useNotices, withdraw } from '../service/notices.ts';
import { texts } from '../texts.ts';

export function Notices() {
  const notices = useNotices();
  const closing = { 'aria-label': texts.close };
  return (
    // There before its first text, because screen readers say what changes in it.
    <Stack className="notices" gap="xs" role="status">
      {notices.map(({ id, message }) => (
        <Notification
          key={id}
          withBorder
          onClose={() => withdraw(id)}
          closeButtonProps={closing}
          role="none"
        >
          {message}
        </Notification>
      ))}
    </Stack>
  );
}
