// Who the merchant sells to: found, created, changed, archived.

import { Anchor, Badge, Button, Group, Select, Table, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import type { Customer, CustomersListQuery } from '@tallybook/client';
import { useEffect, useState } from 'react';
import { Ago } from '../../parts/ago.tsx';
import { Failure } from '../../parts/failure.tsx';
import { ListTable } from '../../parts/list-table.tsx';
import { Loading } from '../../parts/loading.tsx';
import { newRecord, RecordDrawer } from '../../parts/record-drawer.tsx';
import { Screen } from '../../parts/screen.tsx';
import { ShowMore } from '../../parts/show-more.tsx';
import { type Address, useAddress } from '../../service/address.ts';
import { tb } from '../../service/client.ts';
import { useMay } from '../../service/me.tsx';
import { usePages } from '../../service/pages.ts';
import { orNull, type RecordKind } from '../../service/records.ts';
import { texts } from '../../texts.ts';

const words = texts.customers;
const statuses = Object.entries(words.statuses).map(([value, label]) => ({ value, label }));

const customers: RecordKind<Customer> = {
  key: 'customers',
  newTitle: words.create,
  fields: [
    { name: 'name', label: words.fields.name, isRequired: true },
    { name: 'email', label: words.fields.email, isRequired: true, kind: 'email' },
    { name: 'phone', label: words.fields.phone, kind: 'tel', description: words.phoneHint },
    { name: 'note', label: words.fields.note, kind: 'note', description: words.noteHint },
    { name: 'external_id', label: words.fields.external_id },
    {
      name: 'status',
      label: words.fields.status,
      options: statuses,
      description: words.statusHint,
      isLater: true,
    },
  ],
  empty: { name: '', email: '', phone: '', note: '', external_id: '' },
  valuesOf: ({ name, email, phone, note, external_id, status }) => ({
    name,
    email,
    phone: phone ?? '',
    note: note ?? '',
    external_id: external_id ?? '',
    status,
  }),
  read: (id) => tb.customers.get(id),
  create: ({ name = '', email = '', phone, note, external_id }, options) =>
    tb.customers.create(
      {
        name: name.trim(),
        email: email.trim(),
        phone: phoneOf(phone),
        note: orNull(note),
        external_id: orNull(external_id),
      },
      options,
    ),
  update: (id, { name, email, phone, note, external_id, status }, options) =>
    tb.customers.update(
      id,
      {
        ...(name === undefined ? {} : { name }),
        ...(email === undefined ? {} : { email }),
        ...(phone === undefined ? {} : { phone: phoneOf(phone) }),
        ...(note === undefined ? {} : { note: orNull(note) }),
        ...(external_id === undefined ? {} : { external_id: orNull(external_id) }),
        ...(status === 'active' || status === 'archived' ? { status } : {}),
      },
      options,
    ),
};

/** As people write it, with blanks and the like. */
const phoneOf = (typed: string | undefined) => orNull(typed?.replaceAll(/[\s()./-]/g, ''));

export function CustomersScreen() {
  const address = useAddress();
  const mayWrite = useMay('customers.write');
  const create = mayWrite && (
    <Button onClick={() => address.set('open', newRecord)}>{words.create}</Button>
  );
  return (
    <Screen title={words.title} hint={words.hint} actions={create}>
      <Filters address={address} />
      <CustomerList address={address} />
      <RecordDrawer kind={customers} mayWrite={mayWrite} />
    </Screen>
  );
}

function Filters({ address }: { readonly address: Address }) {
  const [typed, setTyped] = useState(address.get('q') ?? '');
  const [settled] = useDebouncedValue(typed.trim(), 200);
  const { set } = address;
  const q = address.get('q') ?? '';
  // biome-ignore lint/correctness/useExhaustiveDependencies: only what is typed goes there.
  useEffect(() => {
    if (settled !== q) set('q', settled || null);
  }, [settled]);
  return (
    <Group align="flex-end" gap="sm">
      <TextInput
        type="search"
        label={words.search}
        value={typed}
        onChange={(event) => setTyped(event.currentTarget.value)}
        flex="1 1 220px"
      />
      <Select
        label={words.fields.status}
        data={[...statuses, { value: 'all', label: words.all }]}
        value={address.get('status') ?? 'active'}
        allowDeselect={false}
        onChange={(status) => set('status', status === 'active' ? null : status)}
        w={150}
      />
    </Group>
  );
}

function CustomerList({ address }: { readonly address: Address }) {
  const q = address.get('q') ?? undefined;
  const status = address.get('status') ?? 'active';
  const query: Pick<CustomersListQuery, 'q' | 'status'> = {
    ...(q === undefined ? {} : { q }),
    ...(status === 'active' || status === 'archived' ? { status } : {}),
  };
  const pages = usePages(['customers', query], (page, options) =>
    tb.customers.list({ ...query, ...page }, options),
  );
  const { columns } = words;
  if (pages.isPending) return <Loading />;
  return (
    <>
      {pages.error !== null && <Failure error={pages.error} onAgain={pages.again} />}
      {pages.error === null && pages.rows.length === 0 && <Text>{words.none}</Text>}
      {pages.rows.length > 0 && (
        <ListTable label={words.title} columns={columns}>
          {pages.rows.map((row) => (
            <Row key={row.id} row={row} onOpen={() => address.set('open', row.id)} />
          ))}
        </ListTable>
      )}
      <ShowMore pages={pages} />
    </>
  );
}

function Row({ row, onOpen }: { readonly row: Customer; onOpen(): void }) {
  const { columns } = words;
  return (
    <Table.Tr>
      <Table.Td data-label={columns.name}>
        <Anchor component="button" type="button" size="sm" fw={550} onClick={onOpen}>
          {row.name}
        </Anchor>
        {row.status === 'archived' && (
          <Badge ml={8} size="sm" variant="light" color="gray">
            {words.statuses.archived}
          </Badge>
        )}
      </Table.Td>
      <Table.Td data-label={columns.email}>{row.email}</Table.Td>
      <Table.Td data-label={columns.phone}>{row.phone}</Table.Td>
      <Table.Td data-label={columns.external}>
        {row.external_id === null ? null : <span className="code">{row.external_id}</span>}
      </Table.Td>
      <Table.Td data-label={columns.changed}>
        <Ago time={row.updated_at} />
      </Table.Td>
    </Table.Tr>
  );
}
