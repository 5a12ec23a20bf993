// A quantity that can be changed where it stands. What is typed becomes one adjustment, which says
// what the number was when the person began: a change by somebody else is shown, never overwritten.

import { Button, Group, Select, Text, TextInput } from '@mantine/core';
import { Quantity, type StockItem, type TallybookError } from '@tallybook/client';
import { type KeyboardEvent, lazy, Suspense } from 'react';
import { quantityOf, quantityText } from '../../format.ts';
import { PostState } from '../../parts/post-state.tsx';
import { quantityFault } from '../../parts/quantity-fault.ts';
import { QuantityInput } from '../../parts/quantity-input.tsx';
import type { Draft } from '../../service/drafts.ts';
import type { Post } from '../../service/post.ts';
import { texts } from '../../texts.ts';
import { Unit } from './unit.tsx';
import { type Change, type Reason, useChange } from './use-change.ts';

const words = texts.stock;

const Conflict = lazy(async () => ({ default: (await import('./conflict.tsx')).Conflict }));

const reasons = Object.entries(words.reasons).map(([value, label]) => ({ value, label }));

/** The code of a refusal because somebody else was first; `meta` says what is there now. */
const changedMeanwhile = 'inventory_quantity_mismatch';

export function EditableLevel({ row }: { readonly row: StockItem }) {
  const { quantity, name } = row;
  const { draft, post } = useChange(row);
  const begun = draft.isThere ? draft.value : undefined;
  const fault = begun && quantityFault(begun.typed, row.unit);
  const isChange = begun && fault === undefined && !isSame(begun.typed, begun.expected);
  const now = conflictIn(post.problem);
  const type = (typed: string) =>
    draft.change({ ...(begun ?? { expected: quantity, reason: 'correction', note: '' }), typed });
  const onKeyDown = ({ key }: KeyboardEvent) => {
    if (key === 'Enter' && isChange) post.send();
    if (key === 'Escape' && !draft.isSent) draft.clear();
  };
  return (
    <>
      <div role="cell" className="quantity level-input">
        <QuantityInput
          aria-label={words.quantityOf(name)}
          value={begun?.typed ?? quantityText(quantity)}
          onChange={type}
          onKeyDown={onKeyDown}
          onBlur={() => begun && isSame(begun.typed, begun.expected) && draft.clear()}
          // Not disabled while it is sent: the keyboard would lose its place.
          readOnly={draft.isSent}
          disabled={row.status === 'archived'}
          error={fault}
          rightSection={<Unit row={row} />}
        />
      </div>
      {isChange && <ChangeBar draft={draft} post={post} onKeyDown={onKeyDown} />}
      {begun !== undefined && now !== undefined && (
        <Suspense fallback={null}>
          <Conflict
            draft={draft}
            now={now}
            typed={quantityOf(begun.typed) ?? ''}
            onAgain={post.send}
          />
        </Suspense>
      )}
    </>
  );
}

interface ChangeBarProps {
  readonly draft: Draft<Change>;
  readonly post: Post;
  onKeyDown(event: KeyboardEvent): void;
}

function ChangeBar({ draft, post, onKeyDown }: ChangeBarProps) {
  const { value } = draft;
  const isRefused = post.problem !== undefined && conflictIn(post.problem) === undefined;
  return (
    <div role="cell" className="level-change">
      <Group gap="xs" align="flex-end">
        <Text size="sm" fw={600} className="quantity" pb={6}>
          {words.change(quantityText(value.expected), quantityText(quantityOf(value.typed) ?? ''))}
        </Text>
        <Select
          size="xs"
          label={words.reason}
          data={reasons}
          value={value.reason}
          allowDeselect={false}
          disabled={draft.isSent}
          onChange={(reason) => draft.change({ ...value, reason: reason as Reason })}
        />
        <TextInput
          size="xs"
          label={words.note}
          value={value.note}
          maxLength={500}
          disabled={draft.isSent}
          onChange={(event) => draft.change({ ...value, note: event.currentTarget.value })}
          onKeyDown={onKeyDown}
        />
        <Button size="xs" loading={post.isBusy} onClick={post.send}>
          {texts.save}
        </Button>
        <Button size="xs" variant="default" disabled={draft.isSent} onClick={draft.clear}>
          {texts.cancel}
        </Button>
      </Group>
      {(post.isUnsettled || isRefused) && <PostState post={post} />}
    </div>
  );
}

/** What is there now, when somebody else was first. */
function conflictIn(problem: TallybookError | undefined): string | undefined {
  const detail = problem?.details.find(({ code }) => code === changedMeanwhile);
  return typeof detail?.current_quantity === 'string' ? detail.current_quantity : undefined;
}

function isSame(typed: string, quantity: string): boolean {
  const value = quantityOf(typed);
  return value !== undefined && Quantity.compare(value, quantity) === 0;
}
