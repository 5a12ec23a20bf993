// Something is on its way.

import { Center, Loader } from '@mantine/core';
import { texts } from '../texts.ts';

export function Loading() {
  return (
    <Center mih={160} role="status" aria-label={texts.loading}>
      <Loader type="dots" />
    </Center>
  );
}
