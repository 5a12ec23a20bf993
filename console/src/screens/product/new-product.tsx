// Makes a product, and goes to its page.

import { Button, Group, Modal, Stack } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import type { FormEvent } from 'react';
import { useNavigate } from 'react-router';
import { PostState } from '../../parts/post-state.tsx';
import { tb } from '../../service/client.ts';
import { useDraft } from '../../service/drafts.ts';
import { usePost } from '../../service/post.ts';
import { texts } from '../../texts.ts';
import { BarcodeAsked, useBarcode } from './barcode.tsx';
import { bodyOf, emptyFields } from './fields.ts';
import { ProductFields } from './product-fields.tsx';

const words = texts.product;

/** A dialog that is open until it is closed. */
export function NewProduct({ onClose }: { onClose(): void }) {
  const closing = { 'aria-label': texts.close };
  return (
    <Modal opened onClose={onClose} title={words.create} size="lg" closeButtonProps={closing}>
      <NewProductForm onClose={onClose} />
    </Modal>
  );
}

function NewProductForm({ onClose }: { onClose(): void }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const draft = useDraft('product:new', emptyFields);
  const post = usePost({
    draft,
    write: (typed, options) => tb.products.create(bodyOf(typed), options),
    onDone: ({ data }) => {
      onClose();
      void queries.invalidateQueries({ queryKey: ['stock'] });
      void navigate(`/products/${data.id}`);
    },
  });
  const barcode = useBarcode();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    barcode.check(draft.value.barcode.trim(), post.send);
  };
  const isBlocked = post.isBusy || draft.isSent;
  return (
    <form onSubmit={submit}>
      <Stack>
        <ProductFields
          fields={draft.value}
          problem={post.problem}
          disabled={isBlocked}
          onChange={(typed) => {
            barcode.forget();
            draft.change(typed);
          }}
        />
        <BarcodeAsked used={barcode} onSave={post.send} />
        <PostState post={post} />
        <Group justify="flex-end">
          {draft.isThere && (
            <Button variant="subtle" disabled={isBlocked} onClick={draft.clear}>
              {words.startAgain}
            </Button>
          )}
          <Button type="submit" loading={post.isBusy} disabled={draft.value.name.trim() === ''}>
            {words.createIt}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
