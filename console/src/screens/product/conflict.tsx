// Somebody else changed the product first: what it is now, and what was typed, side by side.

import { Button, Group, Modal, Stack, Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Failure } from '../../parts/failure.tsx';
import { Loading } from '../../parts/loading.tsx';
import { tb } from '../../service/client.ts';
import { texts } from '../../texts.ts';
import { changedFields, type Edit, type FieldName, fieldsOf, fieldText } from './fields.ts';

const words = texts.product.conflict;

interface ConflictProps {
  readonly id: string;
  readonly edit: Edit;
  onTheirs(): void;
  /** The same changes, on what stands there now. */
  onMine(edit: Edit): void;
}

export function Conflict({ id, edit, onTheirs, onMine }: ConflictProps) {
  const {
    data: now,
    error,
    refetch,
  } = useQuery({
    queryKey: ['product', id, 'conflict', edit.version],
    staleTime: 0,
    queryFn: async ({ signal }) => (await tb.products.get(id, { signal })).data,
  });
  const title = words.title;
  if (now === undefined) {
    return (
      <Modal opened onClose={onTheirs} title={title} withCloseButton={false}>
        {error === null ? <Loading /> : <Failure error={error} onAgain={() => void refetch()} />}
      </Modal>
    );
  }
  const fields = fieldsOf(now);
  const mine = changedFields(edit.base, edit.typed);
  const theirs = changedFields(edit.base, fields);
  const both = mine.filter((name) => theirs.includes(name) && edit.typed[name] !== fields[name]);
  const takeMine = () => {
    const typed = Object.fromEntries(mine.map((name) => [name, edit.typed[name]]));
    onMine({ version: now.version, base: fields, typed: { ...fields, ...typed } });
  };
  const shown = [...new Set([...theirs, ...mine])];
  return (
    <Modal opened onClose={onTheirs} title={title} size="lg" withCloseButton={false}>
      <Stack>
        <Text size="sm">{both.length > 0 ? words.both : words.apart}</Text>
        {now.status === 'archived' && <Text size="sm">{words.archived}</Text>}
        <Changes names={shown} edit={edit} now={fields} />
        <Group>
          <Button data-autofocus variant="default" onClick={onTheirs}>
            {words.theirs}
          </Button>
          <Button onClick={takeMine}>{both.length > 0 ? words.mine : words.add}</Button>
        </Group>
      </Stack>
    </Modal>
  );
}

interface ChangesProps {
  readonly names: readonly FieldName[];
  readonly edit: Edit;
  readonly now: Edit['base'];
}

function Changes({ names, edit, now }: ChangesProps) {
  const { columns } = words;
  return (
    <Table.ScrollContainer minWidth={420}>
      <Table>
        <Table.Thead>
          <Table.Tr>
            {[columns.field, columns.before, columns.now, columns.mine].map((name) => (
              <Table.Th key={name}>{name}</Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {names.map((name) => (
            <Table.Tr key={name}>
              <Table.Th scope="row">{texts.product.fields[name]}</Table.Th>
              <Table.Td>{fieldText(edit.base, name)}</Table.Td>
              <Table.Td fw={edit.base[name] === now[name] ? undefined : 650}>
                {fieldText(now, name)}
              </Table.Td>
              <Table.Td fw={edit.base[name] === edit.typed[name] ? undefined : 650}>
                {edit.base[name] === edit.typed[name] ? '–' : fieldText(edit.typed, name)}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}
