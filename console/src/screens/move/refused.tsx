// Why nothing was moved, and what can be done: take what is there, or record what has happened.

import { Alert, Button, Group, List } from '@mantine/core';
import { Quantity, RefusedError, type TallybookError } from '@tallybook/client';
import { quantityText } from '../../format.ts';
import { PostState } from '../../parts/post-state.tsx';
import { texts } from '../../texts.ts';
import type { Used } from './use-move.ts';

const words = texts.move;

export function Refused({ move, post, change, isBlocked }: Used) {
  const missing = missingIn(post.problem);
  if (missing === undefined || post.isUnsettled) return <PostState post={post} />;
  const short = move.lines.filter(({ product }) => missing.has(product.product_id));
  if (isBlocked || short.length === 0) return null;
  const takeThere = () =>
    change({
      lines: move.lines.flatMap((line) => {
        const there = missing.get(line.product.product_id);
        if (there === undefined) return [line];
        return Quantity.compare(there, '0') > 0 ? [{ ...line, typed: quantityText(there) }] : [];
      }),
    });
  const record = () => {
    change({ isDone: true });
    post.send();
  };
  const leaves = move.kind === 'sale' || move.kind === 'gone';
  return (
    <Alert role="alert" color="orange" variant="light" title={words.shortTitle}>
      <List size="sm">
        {short.map(({ product, typed }) => (
          <List.Item key={product.product_id}>
            {words.short(product.name, typed, quantityText(missing.get(product.product_id) ?? '0'))}
          </List.Item>
        ))}
      </List>
      <Group mt="sm" gap="xs">
        <Button size="xs" onClick={takeThere}>
          {words.takeThere}
        </Button>
        {leaves && (
          <Button size="xs" variant="default" onClick={record}>
            {words.record}
          </Button>
        )}
      </Group>
    </Alert>
  );
}

/** What is available of each product that lacks something, when that is all that is wrong. */
function missingIn(problem: TallybookError | undefined): ReadonlyMap<string, string> | undefined {
  if (!(problem instanceof RefusedError) || problem.details.length === 0) return undefined;
  const found = new Map<string, string>();
  for (const { code, product_id: id, available_quantity: there } of problem.details) {
    if (code !== 'insufficient_quantity' || typeof id !== 'string' || typeof there !== 'string')
      return undefined;
    found.set(id, there);
  }
  return found;
}
