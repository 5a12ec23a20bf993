// The tokens of programs, and what applications were allowed.

import { Badge, Button, Group, Menu, Stack, Switch, Table, Text } from '@mantine/core';
import type { Token } from '@tallybook/client';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { momentText } from '../../format.ts';
import { Ago } from '../../parts/ago.tsx';
import { Failure } from '../../parts/failure.tsx';
import { useGrantText } from '../../parts/granted-locations.tsx';
import { Loading } from '../../parts/loading.tsx';
import { ShowMore } from '../../parts/show-more.tsx';
import { tb } from '../../service/client.ts';
import { useMay } from '../../service/me.tsx';
import { usePages } from '../../service/pages.ts';
import { allScopes } from '../../service/roles.ts';
import { texts } from '../../texts.ts';
import { ChangeToken } from './change-token.tsx';
import { MakeToken, useIsMaking } from './make-token.tsx';
import { AskRevokeToken } from './revoke-token.tsx';
import { AskRotateToken } from './rotate-token.tsx';
import { TokenText } from './token-text.tsx';

const words = texts.tokens;

/** With room for those who left: they are hidden, not missing. */
const pageRows = 100;

type Action = 'change' | 'rotate' | 'revoke';

export function TokenList() {
  const pages = usePages(['tokens'], (page, options) =>
    tb.tokens.list({ ...page, limit: pageRows }, options),
  );
  const mayWrite = useMay('access.write');
  const queries = useQueryClient();
  const wasMaking = useIsMaking();
  const [isOpen, setOpen] = useState(false);
  const [chosen, setChosen] = useState<{ readonly token: Token; readonly action: Action }>();
  const [made, setMade] = useState<Token>();
  const [showsAll, setShowsAll] = useState(false);
  const close = () => {
    setChosen(undefined);
    setOpen(false);
  };
  const onDone = () => {
    close();
    void queries.invalidateQueries({ queryKey: ['tokens'] });
  };
  if (pages.error !== null) return <Failure error={pages.error} onAgain={pages.again} />;
  if (pages.isPending) return <Loading />;
  const shown = pages.rows.filter(({ status }) => showsAll || status === 'active');
  return (
    <Stack gap="md">
      <Group justify="space-between">
        <Switch
          label={words.showEnded}
          checked={showsAll}
          onChange={(event) => setShowsAll(event.currentTarget.checked)}
        />
        {mayWrite && <Button onClick={() => setOpen(true)}>{words.make}</Button>}
      </Group>
      {shown.length === 0 ? (
        <Text>{words.nothing}</Text>
      ) : (
        <TokenTable tokens={shown} onAction={(token, action) => setChosen({ token, action })} />
      )}
      <ShowMore pages={pages} />
      {mayWrite && (isOpen || wasMaking) && (
        <MakeToken
          onClose={close}
          onDone={(token) => {
            setMade(token);
            onDone();
          }}
        />
      )}
      {chosen !== undefined && (
        <Question {...chosen} onMade={setMade} onDone={onDone} onClose={close} />
      )}
      {made !== undefined && <TokenText token={made} onClose={() => setMade(undefined)} />}
    </Stack>
  );
}

interface QuestionProps {
  readonly token: Token;
  readonly action: Action;
  onMade(token: Token): void;
  onDone(): void;
  onClose(): void;
}

function Question({ token, action, onMade, onDone, onClose }: QuestionProps) {
  const asked = { token, onDone, onClose };
  if (action === 'change') return <ChangeToken {...asked} />;
  if (action === 'revoke') return <AskRevokeToken {...asked} />;
  const onRotated = (made: Token) => {
    onMade(made);
    onDone();
  };
  return <AskRotateToken token={token} onDone={onRotated} onClose={onClose} />;
}

interface TokenTableProps {
  readonly tokens: readonly Token[];
  onAction(token: Token, action: Action): void;
}

function TokenTable({ tokens, onAction }: TokenTableProps) {
  const mayWrite = useMay('access.write');
  const { columns } = words;
  return (
    <Table.ScrollContainer minWidth={300} type="native">
      <Table verticalSpacing="xs">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{columns.name}</Table.Th>
            <Table.Th visibleFrom="sm">{columns.scopes}</Table.Th>
            <Table.Th visibleFrom="sm">{columns.locations}</Table.Th>
            <Table.Th visibleFrom="md">{columns.expires}</Table.Th>
            <Table.Th visibleFrom="md">{columns.used}</Table.Th>
            <Table.Th>{columns.status}</Table.Th>
            {mayWrite && <Table.Td />}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {tokens.map((token) => (
            <TokenRow key={token.id} token={token} onAction={onAction} />
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

interface TokenRowProps {
  readonly token: Token;
  onAction(token: Token, action: Action): void;
}

function TokenRow({ token, onAction }: TokenRowProps) {
  const mayWrite = useMay('access.write');
  const grantText = useGrantText();
  const { name, application, last_four, scopes, status, expires_at, last_used_at } = token;
  const colors = { active: 'teal', ended: 'orange', revoked: 'gray' };
  const endText = expires_at === null ? words.noEnd : momentText(expires_at);
  const giver = useGiver(token);
  const under = application === null ? last_four && words.ends(last_four) : giver;
  return (
    <Table.Tr>
      <Table.Th scope="row" fw={550}>
        {name}
        {under && (
          <Text size="xs" c="dimmed" fw={400}>
            {under}
          </Text>
        )}
        <Text size="xs" c="dimmed" fw={400} hiddenFrom="md">
          {words.columns.expires}: {endText}
        </Text>
      </Table.Th>
      <Table.Td maw={280} visibleFrom="sm">
        <Text size="sm">{scopeText(scopes)}</Text>
      </Table.Td>
      <Table.Td visibleFrom="sm">{grantText(token)}</Table.Td>
      <Table.Td visibleFrom="md">
        <Text size="sm">{endText}</Text>
      </Table.Td>
      <Table.Td visibleFrom="md">
        <Ago time={last_used_at} />
      </Table.Td>
      <Table.Td>
        <Badge variant="light" miw="max-content" color={colors[status]} tt="none">
          {words.statuses[status]}
        </Badge>
      </Table.Td>
      {mayWrite && (
        <Table.Td ta="right">
          {status === 'active' && <Actions token={token} onAction={onAction} />}
        </Table.Td>
      )}
    </Table.Tr>
  );
}

/** Whoever lets an application in: the operator, a person, or a program with a token. */
function useGiver({ approval_id, given_by }: Token): string {
  const { data: givers } = useQuery({
    queryKey: ['tokens', 'givers'],
    enabled: given_by !== null,
    queryFn: async ({ signal }) => {
      const names = new Map<string, string>();
      for await (const { id, name } of tb.people.list({ limit: 200 }, { signal })) {
        names.set(id, name);
      }
      for await (const { id, name } of tb.tokens.list({ limit: 200 }, { signal })) {
        names.set(id, name);
      }
      return names;
    },
  });
  if (approval_id === null) return words.approved;
  return words.allowedBy(givers?.get(given_by ?? '') ?? words.somebody);
}

function scopeText(scopes: Token['scopes']): string {
  if (scopes.length === allScopes.length) return words.everything;
  return scopes.map((scope) => texts.scopes[scope]).join(', ');
}

/** What an application is allowed can be withdrawn, and nothing else. */
function Actions({ token, onAction }: TokenRowProps) {
  return (
    <Menu position="bottom-end" width={200}>
      <Menu.Target>
        <Button size="xs" variant="default" aria-label={texts.people.actionsOf(token.name)}>
          {texts.people.actions}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {token.kind === 'personal_access_token' && (
          <>
            <Menu.Item onClick={() => onAction(token, 'change')}>{words.change}</Menu.Item>
            <Menu.Item onClick={() => onAction(token, 'rotate')}>{words.rotate}</Menu.Item>
          </>
        )}
        <Menu.Item color="red" onClick={() => onAction(token, 'revoke')}>
          {words.revoke}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
