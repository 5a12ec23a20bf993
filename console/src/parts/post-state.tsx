// What became of a write: refused, or not answered yet.

import { Alert, Button } from '@mantine/core';
import type { Post } from '../service/post.ts';
import { texts } from '../texts.ts';
import { Failure } from './failure.tsx';

export function PostState({ post }: { readonly post: Post }) {
  if (post.isUnsettled) {
    return (
      <Alert role="alert" color="orange" variant="light" title={texts.unsettled.title}>
        {texts.unsettled.words}
        <Button mt="xs" size="xs" variant="default" onClick={post.send}>
          {texts.sendAgain}
        </Button>
      </Alert>
    );
  }
  return post.problem === undefined || post.isBusy ? null : <Failure error={post.problem} />;
}
