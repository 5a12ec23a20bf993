// The rows of movements: what the feed tells appears on top, and each row can be opened.

import { Badge, Text } from '@mantine/core';
import type { InventoryMovement, InventoryMovementsListQuery } from '@tallybook/client';
import { useEffect, useRef } from 'react';
import { Failure } from '../../parts/failure.tsx';
import { ListTable } from '../../parts/list-table.tsx';
import { Loading } from '../../parts/loading.tsx';
import { ShowMore } from '../../parts/show-more.tsx';
import { tb } from '../../service/client.ts';
import { usePages } from '../../service/pages.ts';
import { texts } from '../../texts.ts';
import { MovementRow } from './movement-row.tsx';

const words = texts.movements;

interface MovementListProps {
  readonly query: InventoryMovementsListQuery;
  readonly isLive: boolean;
}

export function MovementList({ query, isLive }: MovementListProps) {
  // Only what begins with this word is read again when the feed tells of something.
  const pages = usePages([isLive ? 'movements' : 'movements of then', query], (page, options) =>
    tb.inventory.movements.list({ ...query, ...page }, options),
  );
  const isFresh = useFresh(pages.rows);
  if (pages.isPending) return <Loading />;
  const fresh = pages.rows.filter(isFresh).length;
  return (
    <>
      {pages.error !== null && <Failure error={pages.error} onAgain={pages.again} />}
      {pages.error === null && pages.rows.length === 0 && <Text>{words.none}</Text>}
      <div role="status" className="quiet">
        {fresh > 0 && <Badge variant="light">{words.fresh(fresh)}</Badge>}
      </div>
      {pages.rows.length > 0 && <Movements rows={pages.rows} isFresh={isFresh} />}
      <ShowMore pages={pages} />
    </>
  );
}

interface MovementsProps {
  readonly rows: readonly InventoryMovement[];
  readonly isFresh?: (movement: InventoryMovement) => boolean;
}

export function Movements({ rows, isFresh = () => false }: MovementsProps) {
  const { columns } = words;
  return (
    <ListTable label={words.title} columns={columns} quantities={['change', 'after']}>
      {rows.map((movement) => (
        <MovementRow key={movement.id} movement={movement} isFresh={isFresh(movement)} />
      ))}
    </ListTable>
  );
}

/** What was recorded after the first look at the list. */
function useFresh(rows: readonly InventoryMovement[]): (movement: InventoryMovement) => boolean {
  const first = useRef<bigint>(undefined);
  const newest = rows[0]?.position;
  useEffect(() => {
    if (newest !== undefined) first.current ??= BigInt(newest);
  }, [newest]);
  return ({ position }) => first.current !== undefined && BigInt(position) > first.current;
}
