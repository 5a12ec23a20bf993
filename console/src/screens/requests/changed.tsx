// What a request changed: its movements, or the record that it wrote.

import { Anchor, Text, Title } from '@mantine/core';
import type { Operation } from '@tallybook/client';
import { Link } from 'react-router';
import { Failure } from '../../parts/failure.tsx';
import { ShowMore } from '../../parts/show-more.tsx';
import { tb } from '../../service/client.ts';
import { useMay } from '../../service/me.tsx';
import { usePages } from '../../service/pages.ts';
import { texts } from '../../texts.ts';
import { Movements } from '../movements/movement-list.tsx';

const words = texts.requests;

/** These move nothing, whatever comes of them. */
const unmoving = ['inventory.reserve', 'inventory.release', 'inventory.expire'];

export function Changed({ operation }: { readonly operation: Operation }) {
  const mayReadStock = useMay('inventory.read');
  const { type, resource } = operation;
  const isMoving = type.startsWith('inventory.') && !unmoving.includes(type);
  if (type === 'batches.submit') return <Text size="sm">{words.batch}</Text>;
  if (isMoving && mayReadStock) return <Moved id={operation.id} />;
  if (resource === null) return null;
  const address = addresses[resource.type]?.(resource.id);
  return (
    <Text size="sm">
      {words.wrote}{' '}
      {address === undefined ? (
        <span className="code">{resource.id}</span>
      ) : (
        <Anchor component={Link} to={address} className="code">
          {resource.id}
        </Anchor>
      )}
    </Text>
  );
}

/** Where a record is shown. */
const addresses: Readonly<Record<string, (id: string) => string>> = {
  product: (id) => `/products/${id}`,
  customer: (id) => `/customers?open=${id}`,
  location: (id) => `/locations?open=${id}`,
};

function Moved({ id }: { readonly id: string }) {
  const pages = usePages(['movements of a request', id], (page, options) =>
    tb.inventory.movements.list({ operation_id: id, ...page }, options),
  );
  if (pages.error !== null) return <Failure error={pages.error} onAgain={pages.again} />;
  if (pages.isPending) return null;
  return (
    <div>
      <Title order={3} size="h4">
        {words.moved}
      </Title>
      {pages.rows.length === 0 ? (
        <Text size="sm">{words.movedNothing}</Text>
      ) : (
        <Movements rows={pages.rows} />
      )}
      <ShowMore pages={pages} />
    </div>
  );
}
