// The people of the merchant, and what can be done with each.

import { Badge, Button, Group, Menu, Stack, Switch, Table, Text } from '@mantine/core';
import type { Person } from '@tallybook/client';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Ago } from '../../parts/ago.tsx';
import { Failure } from '../../parts/failure.tsx';
import { useGrantText } from '../../parts/granted-locations.tsx';
import { Loading } from '../../parts/loading.tsx';
import { ShowMore } from '../../parts/show-more.tsx';
import { tb } from '../../service/client.ts';
import { useMay, useMe } from '../../service/me.tsx';
import { usePages } from '../../service/pages.ts';
import { texts } from '../../texts.ts';
import { ChangePerson } from './change-person.tsx';
import { InvitationLink } from './invitation-link.tsx';
import { InvitePerson, useIsInviting } from './invite-person.tsx';
import { AskAgain, AskRevoke } from './person-questions.tsx';

const words = texts.people;

/** With room for those who left: they are hidden, not missing. */
const pageRows = 100;

type Action = 'change' | 'again' | 'revoke';

export function PeopleList() {
  const pages = usePages(['people'], (page, options) =>
    tb.people.list({ ...page, limit: pageRows }, options),
  );
  const mayWrite = useMay('access.write');
  const queries = useQueryClient();
  const wasInviting = useIsInviting();
  const [isOpen, setOpen] = useState(false);
  const [chosen, setChosen] = useState<{ readonly person: Person; readonly action: Action }>();
  const [invited, setInvited] = useState<Person>();
  const [showsAll, setShowsAll] = useState(false);
  const close = () => {
    setChosen(undefined);
    setOpen(false);
  };
  const onDone = (person: Person, hasLink: boolean) => {
    close();
    if (hasLink) setInvited(person);
    void queries.invalidateQueries({ queryKey: ['people'] });
  };
  if (pages.error !== null) return <Failure error={pages.error} onAgain={pages.again} />;
  if (pages.isPending) return <Loading />;
  const shown = pages.rows.filter(({ status }) => showsAll || status !== 'revoked');
  return (
    <Stack gap="md">
      <Group justify="space-between">
        <Switch
          label={words.showRevoked}
          checked={showsAll}
          onChange={(event) => setShowsAll(event.currentTarget.checked)}
        />
        {mayWrite && <Button onClick={() => setOpen(true)}>{words.invite}</Button>}
      </Group>
      <PeopleTable people={shown} onAction={(person, action) => setChosen({ person, action })} />
      <ShowMore pages={pages} />
      {mayWrite && (isOpen || wasInviting) && (
        <InvitePerson onDone={(person) => onDone(person, true)} onClose={close} />
      )}
      {chosen !== undefined && <ActionDialog {...chosen} onDone={onDone} onClose={close} />}
      {invited !== undefined && (
        <InvitationLink person={invited} onClose={() => setInvited(undefined)} />
      )}
    </Stack>
  );
}

interface ActionDialogProps {
  readonly person: Person;
  readonly action: Action;
  onDone(person: Person, hasLink: boolean): void;
  onClose(): void;
}

function ActionDialog({ person, action, onDone, onClose }: ActionDialogProps) {
  const parts = { change: ChangePerson, again: AskAgain, revoke: AskRevoke };
  const Part = parts[action];
  return (
    <Part person={person} onDone={(done) => onDone(done, action === 'again')} onClose={onClose} />
  );
}

interface PeopleTableProps {
  readonly people: readonly Person[];
  onAction(person: Person, action: Action): void;
}

function PeopleTable({ people, onAction }: PeopleTableProps) {
  const mayWrite = useMay('access.write');
  const { columns } = words;
  return (
    <Table.ScrollContainer minWidth={300} type="native">
      <Table verticalSpacing="xs">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{columns.name}</Table.Th>
            <Table.Th visibleFrom="sm">{columns.role}</Table.Th>
            <Table.Th visibleFrom="sm">{columns.locations}</Table.Th>
            <Table.Th>{columns.status}</Table.Th>
            <Table.Th visibleFrom="sm">{columns.used}</Table.Th>
            {mayWrite && <Table.Td />}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {people.map((person) => (
            <PersonRow key={person.id} person={person} onAction={onAction} />
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

interface PersonRowProps {
  readonly person: Person;
  onAction(person: Person, action: Action): void;
}

function PersonRow({ person, onAction }: PersonRowProps) {
  const me = useMe();
  const mayWrite = useMay('access.write');
  const grantText = useGrantText();
  const { id, name, role, status, last_used_at } = person;
  return (
    <Table.Tr>
      <Table.Th scope="row" fw={550}>
        {name}{' '}
        {id === me.person.id && (
          <Text span size="sm" c="dimmed" fw={400}>
            {words.you}
          </Text>
        )}
        <Text size="xs" c="dimmed" fw={400} hiddenFrom="sm">
          {texts.roles[role] ?? role} · {grantText(person)}
        </Text>
      </Table.Th>
      <Table.Td visibleFrom="sm">{texts.roles[role] ?? role}</Table.Td>
      <Table.Td visibleFrom="sm">{grantText(person)}</Table.Td>
      <Table.Td>
        <StatusBadge person={person} status={status} />
      </Table.Td>
      <Table.Td visibleFrom="sm">
        <Ago time={last_used_at} />
      </Table.Td>
      {mayWrite && (
        <Table.Td ta="right">
          <Actions person={person} onAction={onAction} />
        </Table.Td>
      )}
    </Table.Tr>
  );
}

function StatusBadge({ person, status }: Pick<PersonRowProps, 'person'> & Pick<Person, 'status'>) {
  const ends = person.invitation_expires_at;
  const isOver = status === 'invited' && ends !== null && Date.parse(ends) < Date.now();
  const colors = { invited: 'orange', active: 'teal', revoked: 'gray' };
  return (
    <Badge variant="light" miw="max-content" color={isOver ? 'red' : colors[status]} tt="none">
      {isOver ? words.invitationOver : words.statuses[status]}
    </Badge>
  );
}

function Actions({ person, onAction }: PersonRowProps) {
  const isRevoked = person.status === 'revoked';
  return (
    <Menu position="bottom-end" width={220}>
      <Menu.Target>
        <Button size="xs" variant="default" aria-label={words.actionsOf(person.name)}>
          {words.actions}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {!isRevoked && (
          <Menu.Item onClick={() => onAction(person, 'change')}>{words.change}</Menu.Item>
        )}
        <Menu.Item onClick={() => onAction(person, 'again')}>{words.inviteAgain}</Menu.Item>
        {!isRevoked && (
          <Menu.Item color="red" onClick={() => onAction(person, 'revoke')}>
            {words.revoke}
          </Menu.Item>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}
