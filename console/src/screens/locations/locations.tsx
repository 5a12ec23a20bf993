// Where the merchant keeps products: created, changed, closed.

import { Anchor, Badge, Button, Table, Text } from '@mantine/core';
import type { Location } from '@tallybook/client';
import { useState } from 'react';
import { Ago } from '../../parts/ago.tsx';
import { Failure } from '../../parts/failure.tsx';
import { ListTable } from '../../parts/list-table.tsx';
import { Loading } from '../../parts/loading.tsx';
import { newRecord, RecordDrawer } from '../../parts/record-drawer.tsx';
import { Screen } from '../../parts/screen.tsx';
import { ShowMore } from '../../parts/show-more.tsx';
import { useAddress } from '../../service/address.ts';
import { tb } from '../../service/client.ts';
import { useMay, useMe } from '../../service/me.tsx';
import { usePages } from '../../service/pages.ts';
import { orNull, type RecordKind, type Values } from '../../service/records.ts';
import { texts } from '../../texts.ts';

const words = texts.locations;
const optionsOf = (labels: Readonly<Record<string, string>>) =>
  Object.entries(labels).map(([value, label]) => ({ value, label }));

type Type = 'store' | 'warehouse' | 'other';
const typeOf = (text: string | undefined): Type =>
  text === 'store' || text === 'warehouse' ? text : 'other';

/** That of the reader is most often the one. */
const ownZone = Intl.DateTimeFormat().resolvedOptions().timeZone;

const kindWith = (zones: readonly string[]): RecordKind<Location> => ({
  key: 'locations',
  newTitle: words.create,
  fields: [
    { name: 'name', label: words.fields.name, isRequired: true },
    { name: 'code', label: words.fields.code, description: words.codeHint },
    { name: 'type', label: words.fields.type, options: optionsOf(words.types) },
    {
      name: 'timezone',
      label: words.fields.timezone,
      description: words.timezoneHint,
      options: zones.map((zone) => ({ value: zone, label: zone.replaceAll('_', ' ') })),
    },
    { name: 'external_id', label: words.fields.external_id },
    {
      name: 'status',
      label: words.fields.status,
      options: optionsOf(words.statuses),
      description: words.statusHint,
      isLater: true,
    },
  ],
  empty: { name: '', code: '', type: 'store', timezone: ownZone, external_id: '' },
  valuesOf: ({ name, code, type, timezone, external_id, status }) => ({
    name,
    code: code ?? '',
    type,
    timezone,
    external_id: external_id ?? '',
    status,
  }),
  read: (id) => tb.locations.get(id),
  create: ({ name = '', ...values }, options) =>
    tb.locations.create({ name: name.trim(), ...membersOf(values) }, options),
  update: (id, changes, options) => {
    const { name, status } = changes;
    return tb.locations.update(
      id,
      {
        ...membersOf(changes),
        ...(name === undefined ? {} : { name }),
        ...(status === 'active' || status === 'inactive' ? { status } : {}),
      },
      options,
    );
  },
});

/** Only those that are named. */
function membersOf({ code, type, timezone, external_id }: Values) {
  return {
    ...(code === undefined ? {} : { code: orNull(code) }),
    ...(type === undefined ? {} : { type: typeOf(type) }),
    ...(timezone === undefined ? {} : { timezone }),
    ...(external_id === undefined ? {} : { external_id: orNull(external_id) }),
  };
}

export function LocationsScreen() {
  const address = useAddress();
  const mayWrite = useMay('locations.write');
  const { allLocations } = useMe();
  const pages = usePages(['locations', 'list'], (page, options) =>
    tb.locations.list(page, options),
  );
  const [known] = useState(() => Intl.supportedValuesOf('timeZone'));
  const zones = [...new Set([...known, ...pages.rows.map(({ timezone }) => timezone), ownZone])];
  const create = mayWrite && allLocations && (
    <Button onClick={() => address.set('open', newRecord)}>{words.create}</Button>
  );
  return (
    <Screen title={words.title} hint={words.hint} actions={create}>
      {pages.isPending && <Loading />}
      {pages.error !== null && <Failure error={pages.error} onAgain={pages.again} />}
      {!pages.isPending && pages.error === null && pages.rows.length === 0 && (
        <Text>{words.none}</Text>
      )}
      {pages.rows.length > 0 && <Rows rows={pages.rows} onOpen={(id) => address.set('open', id)} />}
      <ShowMore pages={pages} />
      <RecordDrawer kind={kindWith(zones)} mayWrite={mayWrite} />
    </Screen>
  );
}

interface RowsProps {
  readonly rows: readonly Location[];
  onOpen(id: string): void;
}

function Rows({ rows, onOpen }: RowsProps) {
  const { columns } = words;
  return (
    <ListTable label={words.title} columns={columns}>
      {rows.map((row) => (
        <Table.Tr key={row.id}>
          <Table.Td data-label={columns.name}>
            <Anchor
              component="button"
              type="button"
              size="sm"
              fw={550}
              onClick={() => onOpen(row.id)}
            >
              {row.name}
            </Anchor>
            {row.status === 'inactive' && (
              <Badge ml={8} size="sm" variant="light" color="gray">
                {words.statuses.inactive}
              </Badge>
            )}
          </Table.Td>
          <Table.Td data-label={columns.code}>
            {row.code === null ? null : <span className="code">{row.code}</span>}
          </Table.Td>
          <Table.Td data-label={columns.type}>{words.types[typeOf(row.type)]}</Table.Td>
          <Table.Td data-label={columns.timezone}>{row.timezone.replaceAll('_', ' ')}</Table.Td>
          <Table.Td data-label={columns.changed}>
            <Ago time={row.updated_at} />
          </Table.Td>
        </Table.Tr>
      ))}
    </ListTable>
  );
}
