// One record beside its list. Its ID stands in the address, so that others can lead there.

import { Drawer } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { exactMomentText } from '../format.ts';
import { useAddress } from '../service/address.ts';
import type { RecordKind, Versioned } from '../service/records.ts';
import { texts } from '../texts.ts';
import { Failure } from './failure.tsx';
import { Loading } from './loading.tsx';
import { RecordForm } from './record-form.tsx';

interface RecordDrawerProps<Row extends Versioned> {
  readonly kind: RecordKind<Row>;
  readonly mayWrite: boolean;
}

/** In the place of an ID. */
export const newRecord = 'new';

export function RecordDrawer<Row extends Versioned>({ kind, mayWrite }: RecordDrawerProps<Row>) {
  const address = useAddress();
  const open = address.get('open') ?? undefined;
  const isNew = open === newRecord;
  const id = isNew ? undefined : open;
  const {
    data: row,
    error,
    refetch,
  } = useQuery({
    queryKey: [kind.key, 'one', id],
    enabled: id !== undefined,
    queryFn: async () => (await kind.read(id ?? '')).data,
  });
  const close = () => address.set('open', null);
  return (
    <Drawer
      opened={open !== undefined}
      onClose={close}
      position="right"
      title={<strong>{isNew ? kind.newTitle : row?.name}</strong>}
      closeButtonProps={{ 'aria-label': texts.close }}
    >
      {error !== null && <Failure error={error} onAgain={() => void refetch()} />}
      {id !== undefined && row === undefined && error === null && <Loading />}
      {isNew && mayWrite && (
        <RecordForm key={newRecord} kind={kind} row={undefined} mayWrite onClose={close} />
      )}
      {row !== undefined && id !== undefined && (
        <>
          <RecordForm key={row.id} kind={kind} row={row} mayWrite={mayWrite} onClose={close} />
          <Facts row={row} />
        </>
      )}
    </Drawer>
  );
}

function Facts({ row }: { readonly row: Versioned }) {
  const words = texts.records;
  return (
    <dl className="pairs record-pairs">
      <dt>{words.id}</dt>
      <dd className="code">{row.id}</dd>
      <dt>{words.changed}</dt>
      <dd>{exactMomentText(row.updated_at)}</dd>
      <dt>{words.version}</dt>
      <dd>{row.version}</dd>
      {Object.entries(row.metadata).map(([name, value]) => (
        <FactOfMetadata key={name} name={name} value={value} />
      ))}
    </dl>
  );
}

function FactOfMetadata({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </>
  );
}
