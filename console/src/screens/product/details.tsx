// The fields of a product: to read, and to change. Somebody else's change in between is shown with
// both values, and never overwritten.

import { Button, Card, Group, Stack, Text, Title } from '@mantine/core';
import { type Product, VersionError } from '@tallybook/client';
import { useQueryClient } from '@tanstack/react-query';
import type { FormEvent } from 'react';
import { PostState } from '../../parts/post-state.tsx';
import { tb } from '../../service/client.ts';
import { useDraft } from '../../service/drafts.ts';
import { useMay } from '../../service/me.tsx';
import { tell } from '../../service/notices.ts';
import { type Post, usePost } from '../../service/post.ts';
import { texts } from '../../texts.ts';
import { BarcodeAsked, useBarcode } from './barcode.tsx';
import { Conflict } from './conflict.tsx';
import { changedFields, changesOf, type Edit, fieldsOf } from './fields.ts';
import { ProductFields } from './product-fields.tsx';

const words = texts.product;

export function Details({ product }: { readonly product: Product }) {
  const mayWrite = useMay('products.write');
  const fields = fieldsOf(product);
  const draft = useDraft<Edit>(`product:${product.id}`, {
    version: product.version,
    base: fields,
    typed: fields,
  });
  const isEdited = draft.isThere && mayWrite;
  return (
    <Card withBorder component="section" aria-labelledby="product-details">
      <Group justify="space-between" mb="sm">
        <Title order={2} id="product-details">
          {words.details}
        </Title>
        {mayWrite && !isEdited && (
          <Button
            variant="default"
            size="xs"
            onClick={() => draft.change({ version: product.version, base: fields, typed: fields })}
          >
            {words.edit}
          </Button>
        )}
      </Group>
      {isEdited ? <EditForm product={product} draft={draft} /> : <Shown product={product} />}
    </Card>
  );
}

function Shown({ product }: { readonly product: Product }) {
  const { name: _, amount, currency, unit, precision, isTracked, ...rest } = fieldsOf(product);
  const price = [amount, currency].filter((part) => part !== '').join(' ');
  const rows: readonly (readonly [string, string])[] = [
    [words.fields.sku, rest.sku],
    [words.fields.barcode, rest.barcode],
    [words.fields.price, price],
    [words.fields.unit, words.unitText(unit, precision)],
    [words.fields.lowStockAt, rest.lowStockAt],
    [words.fields.externalId, rest.externalId],
    [words.fields.isTracked, isTracked ? words.yes : words.no],
    [words.fields.description, rest.description],
  ];
  return (
    <dl className="facts">
      {rows.map(([label, value]) => (
        <div key={label}>
          <Text component="dt" size="sm" c="dimmed">
            {label}
          </Text>
          <Text component="dd" size="sm">
            {value === '' ? '–' : value}
          </Text>
        </div>
      ))}
    </dl>
  );
}

interface EditFormProps {
  readonly product: Product;
  readonly draft: ReturnType<typeof useDraft<Edit>>;
}

function EditForm({ product, draft }: EditFormProps) {
  const queries = useQueryClient();
  const post = usePost({
    draft,
    write: ({ base, typed, version }, options) =>
      tb.products.update(product.id, changesOf(base, typed), { ...options, ifMatch: version }),
    onDone: ({ data }) => {
      queries.setQueryData(['product', product.id], data);
      void queries.invalidateQueries({ queryKey: ['stock'] });
      tell(words.saved);
    },
  });
  const barcode = useBarcode(product.id);
  const { value } = draft;
  const isBlocked = post.isBusy || draft.isSent;
  const isChanged = changedFields(value.base, value.typed).length > 0;
  const isConflict = post.problem instanceof VersionError;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!isChanged) return;
    const typed = value.typed.barcode.trim();
    barcode.check(typed === value.base.barcode ? '' : typed, post.send);
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <ProductFields
          fields={value.typed}
          problem={post.problem}
          disabled={isBlocked}
          onChange={(typed) => {
            barcode.forget();
            draft.change({ ...value, typed });
          }}
        />
        <BarcodeAsked used={barcode} onSave={post.send} />
        {(post.isUnsettled || !isConflict) && <PostState post={post} />}
        <Buttons
          post={post}
          isOff={!isChanged || value.typed.name.trim() === ''}
          isBlocked={isBlocked}
          onCancel={draft.clear}
        />
        {isConflict && !isBlocked && (
          <Conflict
            id={product.id}
            edit={value}
            onTheirs={draft.clear}
            onMine={(edit) => {
              draft.change(edit);
              post.send();
            }}
          />
        )}
      </Stack>
    </form>
  );
}

interface ButtonsProps {
  readonly post: Post;
  readonly isOff: boolean;
  readonly isBlocked: boolean;
  onCancel(): void;
}

function Buttons({ post, isOff, isBlocked, onCancel }: ButtonsProps) {
  return (
    <Group>
      <Button type="submit" loading={post.isBusy} disabled={isOff}>
        {texts.save}
      </Button>
      <Button variant="default" disabled={isBlocked} onClick={onCancel}>
        {texts.cancel}
      </Button>
    </Group>
  );
}
