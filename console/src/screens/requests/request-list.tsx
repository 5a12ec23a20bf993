// The requests that changed something or were refused, the newest first.

import { Anchor, Group, Select, Table, Text, Title } from '@mantine/core';
import type { Operation, OperationsListQuery } from '@tallybook/client';
import { Link } from 'react-router';
import { Ago } from '../../parts/ago.tsx';
import { Failure } from '../../parts/failure.tsx';
import { ListTable } from '../../parts/list-table.tsx';
import { Loading } from '../../parts/loading.tsx';
import { ShowMore } from '../../parts/show-more.tsx';
import type { Address } from '../../service/address.ts';
import { tb } from '../../service/client.ts';
import { useLocationName } from '../../service/names.ts';
import { usePages } from '../../service/pages.ts';
import { texts } from '../../texts.ts';
import { types } from './find.ts';
import { RefusedProduct, refusalText, StatusBadge, typeText } from './found.tsx';

const words = texts.requests;

const statuses = Object.entries(words.statuses).map(([value, label]) => ({ value, label }));

export function RequestList({ address }: { readonly address: Address }) {
  const query = queryOf(address);
  const pages = usePages(['operations', query], (page, options) =>
    tb.operations.list({ ...query, ...page }, options),
  );
  return (
    <>
      <Group justify="space-between" align="flex-end" gap="sm" mt="md">
        <Title order={2}>{words.list}</Title>
        <Group gap="sm">
          <Select
            aria-label={words.type}
            placeholder={words.anyType}
            data={types.map((type) => ({ value: type, label: typeText(type) }))}
            value={query.type ?? null}
            clearable
            searchable
            clearButtonProps={{ 'aria-label': texts.clear }}
            onChange={(type) => address.set('type', type)}
          />
          <Select
            aria-label={words.status}
            placeholder={words.anyStatus}
            data={statuses}
            value={query.status ?? null}
            clearable
            clearButtonProps={{ 'aria-label': texts.clear }}
            onChange={(status) => address.set('status', status)}
          />
        </Group>
      </Group>
      {pages.isPending && <Loading />}
      {pages.error !== null && <Failure error={pages.error} onAgain={pages.again} />}
      {!pages.isPending && pages.rows.length === 0 && <Text>{words.none}</Text>}
      {pages.rows.length > 0 && <Rows rows={pages.rows} />}
      <ShowMore pages={pages} />
    </>
  );
}

function Rows({ rows }: { readonly rows: readonly Operation[] }) {
  return (
    <ListTable label={words.list} columns={words.columns}>
      {rows.map((operation) => (
        <Row key={operation.id} operation={operation} />
      ))}
    </ListTable>
  );
}

function Row({ operation }: { readonly operation: Operation }) {
  const nameOf = useLocationName();
  const { columns } = words;
  return (
    <Table.Tr>
      <Table.Td data-label={columns.when}>
        <Ago time={operation.created_at} />
      </Table.Td>
      <Table.Td data-label={columns.what}>
        <Anchor component={Link} to={`/requests?q=${operation.id}`} size="sm">
          {typeText(operation.type)}
        </Anchor>
      </Table.Td>
      <Table.Td data-label={columns.became}>
        <StatusBadge operation={operation} />
      </Table.Td>
      <Table.Td data-label={columns.why}>
        {operation.error !== null && (
          <div>
            {refusalText(operation.error.code)}{' '}
            <RefusedProduct detail={operation.error.details[0]} />
          </div>
        )}
      </Table.Td>
      <Table.Td data-label={columns.where}>
        {operation.location_id === null ? null : nameOf(operation.location_id)}
      </Table.Td>
      <Table.Td data-label={columns.who}>{operation.actor.name}</Table.Td>
    </Table.Tr>
  );
}

function queryOf(address: Address): Pick<OperationsListQuery, 'type' | 'status'> {
  const type = types.find((one) => one === address.get('type'));
  const status = address.get('status');
  return {
    ...(type === undefined ? {} : { type }),
    ...(status === 'succeeded' || status === 'rejected' ? { status } : {}),
  };
}
