// When something was, for people; to the second for who points at it.

import { Text } from '@mantine/core';
import { agoText, exactMomentText } from '../format.ts';
import { texts } from '../texts.ts';

export function Ago({ time }: { readonly time: string | null }) {
  return (
    <Text
      span
      size="sm"
      {...(time === null ? { c: 'dimmed' } : { title: exactMomentText(time) })}
      style={{ whiteSpace: 'nowrap' }}
    >
      {time === null ? texts.never : agoText(time)}
    </Text>
  );
}
