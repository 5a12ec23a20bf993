// Who am I, and what may I?

import { Alert, Button, Paper, Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useState } from 'react';
import { countText, momentText } from '../../format.ts';
import { Failure } from '../../parts/failure.tsx';
import { Loading } from '../../parts/loading.tsx';
import { Rights } from '../../parts/rights.tsx';
import { Screen } from '../../parts/screen.tsx';
import { queries, sessionKey, tb } from '../../service/client.ts';
import { useLocations, useMe } from '../../service/me.tsx';
import { signOut } from '../../service/session.ts';
import { texts } from '../../texts.ts';

const words = texts.me;

export function MeScreen() {
  return (
    <Screen title={words.title} hint={words.hint} actions={<SignOut />}>
      <Facts />
      <Alert color="gray" variant="light" title={words.missingTitle}>
        <Text size="sm">{words.missing}</Text>
      </Alert>
    </Screen>
  );
}

function Facts() {
  const { person, merchant } = useMe();
  const {
    data: credential,
    error,
    refetch,
  } = useQuery({
    queryKey: ['credential'],
    queryFn: async ({ signal }) => (await tb.credential.get({ signal })).data,
  });
  const locations = useLocations();
  if (error !== null) return <Failure error={error} onAgain={() => void refetch()} />;
  if (credential === undefined) return <Loading />;
  const { role, scopes, rate_limit: limit, expires_at } = credential;
  const names = locations?.map(({ name }) => name).join(', ') ?? '';
  return (
    <Paper withBorder p={{ base: 'xs', sm: 'md' }}>
      <Table variant="vertical" layout="fixed" withRowBorders={false}>
        <Table.Tbody>
          <Fact name={words.person}>{person.name}</Fact>
          <Fact name={words.role}>{role !== null && texts.roles[role]}</Fact>
          <Fact name={words.merchant}>{merchant.name}</Fact>
          <Fact name={words.locations}>
            {credential.locations === 'all' ? words.allLocations : names || words.noLocation}
          </Fact>
          <Fact name={words.rights}>
            <Rights scopes={scopes} />
          </Fact>
          <Fact name={words.limit}>
            {limit === null
              ? words.noLimit
              : words.limitText(countText(limit.requests_per_minute), countText(limit.burst))}
          </Fact>
          <Fact name={words.ends}>
            {expires_at === null ? words.idle : words.later(momentText(expires_at))}
          </Fact>
          <Fact name={words.id}>
            <span className="code">{person.id}</span>
          </Fact>
        </Table.Tbody>
      </Table>
    </Paper>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <Table.Tr>
      <Table.Th w={{ base: 112, sm: 200 }} scope="row" style={{ verticalAlign: 'top' }}>
        {name}
      </Table.Th>
      <Table.Td>{children}</Table.Td>
    </Table.Tr>
  );
}

function SignOut() {
  const [problem, setProblem] = useState<Error>();
  const leave = async () => {
    try {
      await signOut();
      await queries.invalidateQueries({ queryKey: sessionKey });
    } catch (error) {
      setProblem(error as Error);
    }
  };
  return (
    <>
      <Button variant="default" onClick={() => void leave()}>
        {texts.shell.signOut}
      </Button>
      {problem !== undefined && <Failure error={problem} />}
    </>
  );
}
