// A product: its fields, where it is, and how it came to that.

import { Badge, Button, Group, Stack } from '@mantine/core';
import { NotFoundError, type Product } from '@tallybook/client';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useParams } from 'react-router';
import { AsOfPicker } from '../../parts/as-of-picker.tsx';
import { Failure } from '../../parts/failure.tsx';
import { Loading } from '../../parts/loading.tsx';
import { NotFound } from '../../parts/not-found.tsx';
import { PostState } from '../../parts/post-state.tsx';
import { Screen } from '../../parts/screen.tsx';
import { tb } from '../../service/client.ts';
import { useDraft } from '../../service/drafts.ts';
import { useMay } from '../../service/me.tsx';
import { tell } from '../../service/notices.ts';
import { usePost } from '../../service/post.ts';
import { texts } from '../../texts.ts';
import { Details } from './details.tsx';
import { History } from './history.tsx';
import { Levels } from './levels.tsx';

const words = texts.product;

export function ProductScreen() {
  const { id = '' } = useParams();
  const { data, error, refetch } = useQuery({
    queryKey: ['product', id],
    queryFn: async ({ signal }) => (await tb.products.get(id, { signal })).data,
  });
  if (error instanceof NotFoundError) return <NotFound />;
  if (data === undefined) {
    return error === null ? <Loading /> : <Failure error={error} onAgain={() => void refetch()} />;
  }
  return <Known key={id} product={data} />;
}

function Known({ product }: { readonly product: Product }) {
  const mayWrite = useMay('products.write');
  const maySeeStock = useMay('inventory.read');
  const codes = [product.sku, product.barcode].filter((code) => code !== null).join(' · ');
  return (
    <Screen
      title={product.name}
      {...(codes === '' ? {} : { hint: codes })}
      actions={
        <>
          {maySeeStock && <AsOfPicker />}
          {mayWrite && <ArchiveButton product={product} />}
        </>
      }
    >
      {product.status === 'archived' && (
        <Group>
          <Badge color="gray" variant="light" size="lg">
            {words.archived}
          </Badge>
          {words.archivedHint}
        </Group>
      )}
      <Stack gap="lg">
        <Details product={product} />
        {maySeeStock && <Levels product={product} />}
        {maySeeStock && <History product={product} />}
      </Stack>
    </Screen>
  );
}

function ArchiveButton({ product: { id, status, version } }: { readonly product: Product }) {
  const queries = useQueryClient();
  const next = status === 'active' ? ('archived' as const) : ('active' as const);
  const draft = useDraft(`product-status:${id}`, { status: next, version });
  const post = usePost({
    draft,
    write: (value, options) =>
      tb.products.update(id, { status: value.status }, { ...options, ifMatch: value.version }),
    onDone: ({ data }) => {
      queries.setQueryData(['product', id], data);
      void queries.invalidateQueries({ queryKey: ['stock'] });
      tell(data.status === 'active' ? words.restored : words.wasArchived);
    },
  });
  const change = () => {
    draft.change({ status: next, version });
    post.send();
  };
  return (
    <Stack gap={4} align="flex-end">
      <Button variant="default" loading={post.isBusy} onClick={change}>
        {status === 'active' ? words.archive : words.restore}
      </Button>
      <PostState post={post} />
    </Stack>
  );
}
