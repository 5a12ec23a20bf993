// An address that leads nowhere.

import { Anchor, Stack, Text, Title } from '@mantine/core';
import { Link } from 'react-router';
import { texts } from '../texts.ts';

export function NotFound() {
  return (
    <Stack mt="md">
      <Title order={1}>{texts.notFound.title}</Title>
      <Text>{texts.notFound.words}</Text>
      <Anchor component={Link} to="/">
        {texts.notFound.back}
      </Anchor>
    </Stack>
  );
}
