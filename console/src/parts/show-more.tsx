// The end of a list: what follows, if anything does.

import { Button, Center } from '@mantine/core';
import type { PagesRead } from '../service/pages.ts';
import { texts } from '../texts.ts';

export function ShowMore({ pages }: { readonly pages: Pick<PagesRead<never>, 'more' | 'isMore'> }) {
  if (pages.more === undefined) return null;
  return (
    <Center>
      <Button variant="default" loading={pages.isMore} onClick={pages.more}>
        {texts.more}
      </Button>
    </Center>
  );
}
