// What an invitation leads to: a passkey or a password, and the first session.

import { Button, Divider, PasswordInput, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useEffect, useState } from 'react';
import { useNavigate } from 'react-router';
import { momentText } from '../format.ts';
import { Failure } from '../parts/failure.tsx';
import { Loading } from '../parts/loading.tsx';
import {
  acceptWithPasskey,
  acceptWithPassword,
  canUsePasskeys,
  type Invited,
  lookAtInvitation,
} from '../service/session.ts';
import { texts } from '../texts.ts';
import { Entrance, useAttempt } from './sign-in.tsx';

const words = texts.invitation;

/** It stands behind the #, which no server sees, and is taken out of the address at once. */
let invitation = '';

function takeFromAddress(): string {
  if (location.hash.length > 1) {
    invitation = location.hash.slice(1);
    history.replaceState(history.state, '', location.pathname);
  }
  return invitation;
}

export function InvitationPage() {
  const [asked, setAsked] = useState(takeFromAddress);
  useEffect(() => {
    const look = () => setAsked(takeFromAddress());
    addEventListener('hashchange', look);
    return () => removeEventListener('hashchange', look);
  }, []);
  const { data, error } = useQuery({
    queryKey: ['invitation', asked],
    queryFn: () => lookAtInvitation(asked),
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (error !== null) {
    return (
      <Entrance title={words.title}>
        <Failure error={error} title={words.unusable} />
      </Entrance>
    );
  }
  if (data === undefined) return <Loading />;
  return <Welcome invited={data} invitation={asked} />;
}

function Welcome({
  invited,
  invitation: asked,
}: {
  readonly invited: Invited;
  readonly invitation: string;
}) {
  const { person, merchant, passkey_options: options, expires_at } = invited;
  const [password, setPassword] = useState('');
  const navigate = useNavigate();
  const { error, isBusy, attempt } = useAttempt();
  const enter = () => {
    invitation = '';
    void navigate('/', { replace: true });
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    attempt(() => acceptWithPassword(asked, password), enter);
  };
  const hasPasskey = options !== null && canUsePasskeys();
  return (
    <Entrance title={words.welcome(person.name)}>
      <Text>{words.invited(merchant.name, texts.roles[person.role] ?? person.role)}</Text>
      {error !== undefined && <Failure error={error} title={texts.signIn.failed} />}
      {hasPasskey && (
        <>
          <Button
            loading={isBusy}
            onClick={() => attempt(() => acceptWithPasskey(asked, options), enter)}
          >
            {words.makePasskey}
          </Button>
          <Divider label={texts.signIn.or} />
        </>
      )}
      <form onSubmit={submit}>
        <Stack gap="sm">
          {/* Password managers keep the name with the password. */}
          <input type="text" autoComplete="username" value={person.name} readOnly hidden />
          <PasswordInput
            label={words.password}
            description={words.passwordRule}
            autoComplete="new-password"
            required
            minLength={12}
            value={password}
            visibilityToggleButtonProps={{ 'aria-label': texts.signIn.show }}
            onChange={(event) => setPassword(event.currentTarget.value)}
          />
          <Button type="submit" loading={isBusy} variant={hasPasskey ? 'default' : 'filled'}>
            {words.setPassword}
          </Button>
        </Stack>
      </form>
      <Text size="sm" c="dimmed">
        {words.ends(momentText(expires_at))}
      </Text>
    </Entrance>
  );
}
