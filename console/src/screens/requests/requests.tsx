// What became of a request: found by whatever somebody has of it, and the list of the last ones.

import { Button, Group, Select, Stack, TextInput } from '@mantine/core';
import { type FormEvent, useEffect, useState } from 'react';
import { Screen } from '../../parts/screen.tsx';
import { type Address, useAddress } from '../../service/address.ts';
import { texts } from '../../texts.ts';
import { useCallers } from './find.ts';
import { Found } from './found.tsx';
import { RequestList } from './request-list.tsx';

const words = texts.requests;

export function RequestsScreen() {
  const address = useAddress();
  const q = address.get('q') ?? undefined;
  useEffect(() => {
    if (q !== undefined) scrollTo(0, 0);
  }, [q]);
  return (
    <Screen title={words.title} hint={words.hint}>
      <Question key={q ?? ''} address={address} />
      {q !== undefined && <Found q={q} by={address.get('by') ?? undefined} />}
      <RequestList address={address} />
    </Screen>
  );
}

function Question({ address }: { readonly address: Address }) {
  const [typed, setTyped] = useState(address.get('q') ?? '');
  const ask = (event: FormEvent) => {
    event.preventDefault();
    address.set('q', typed.trim() || null);
  };
  return (
    <form onSubmit={ask}>
      <Stack gap="xs">
        <Group align="flex-end" gap="sm">
          <TextInput
            label={words.question}
            description={words.questionHint}
            autoComplete="off"
            spellCheck={false}
            value={typed}
            onChange={(event) => setTyped(event.currentTarget.value)}
            flex="1 1 320px"
          />
          <Caller address={address} />
          <Button type="submit">{words.ask}</Button>
        </Group>
      </Stack>
    </form>
  );
}

/** A key is one of whoever sent it: two may use the same. */
function Caller({ address }: { readonly address: Address }) {
  const { callers } = useCallers();
  return (
    <Select
      label={words.by}
      placeholder={words.anybody}
      data={callers.map(({ id, name }) => ({ value: id, label: name }))}
      value={address.get('by')}
      clearable
      searchable={callers.length > 8}
      clearButtonProps={{ 'aria-label': texts.clear }}
      onChange={(by) => address.set('by', by)}
      w={{ base: '100%', xs: 200 }}
    />
  );
}
