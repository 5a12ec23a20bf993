// The way in: a passkey, or name and password.

import {
  Anchor,
  Button,
  Card,
  Center,
  Divider,
  PasswordInput,
  Stack,
  Text,
  TextInput,
  Title,
} from '@mantine/core';
import { type FormEvent, type ReactNode, useEffect, useState } from 'react';
import { Failure } from '../parts/failure.tsx';
import { queries, sessionKey } from '../service/client.ts';
import { canUsePasskeys, type Session, signIn, signInWithPasskey } from '../service/session.ts';
import { texts } from '../texts.ts';

const words = texts.signIn;

/** Of the merchant that somebody signed in at here, when there are several. */
const merchantPlace = 'tallybook:merchant';

export function SignInPage({ wasSignedIn }: { readonly wasSignedIn: boolean }) {
  const { error, isBusy, attempt } = useAttempt();
  return (
    <Entrance title={words.title}>
      {wasSignedIn && (
        <Text role="status" size="sm">
          {words.ended}
        </Text>
      )}
      {error !== undefined && <Failure error={error} title={words.failed} />}
      {canUsePasskeys() && (
        <>
          <Button loading={isBusy} onClick={() => attempt(signInWithPasskey)}>
            {words.passkey}
          </Button>
          <Divider label={words.or} />
        </>
      )}
      <PasswordForm isBusy={isBusy} attempt={attempt} />
      <Text size="sm" c="dimmed">
        {words.lost}
      </Text>
    </Entrance>
  );
}

type PasswordFormProps = Pick<ReturnType<typeof useAttempt>, 'isBusy' | 'attempt'>;

function PasswordForm({ isBusy, attempt }: PasswordFormProps) {
  const [name, setName] = useState('');
  const [password, setPassword] = useState('');
  const [merchant, setMerchant] = useState(localStorage.getItem(merchantPlace) ?? '');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    attempt(async () => {
      const merchant_id = merchant.trim() === '' ? null : merchant.trim();
      const session = await signIn({ merchant_id, name: name.trim(), password });
      if (merchant_id !== null) localStorage.setItem(merchantPlace, merchant_id);
      return session;
    });
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <TextInput
          label={words.name}
          autoComplete="username"
          required
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <PasswordInput
          label={words.password}
          autoComplete="current-password"
          required
          value={password}
          visibilityToggleButtonProps={{ 'aria-label': words.show }}
          onChange={(event) => setPassword(event.currentTarget.value)}
        />
        <MerchantField value={merchant} onChange={setMerchant} />
        <Button type="submit" loading={isBusy} variant={canUsePasskeys() ? 'default' : 'filled'}>
          {words.enter}
        </Button>
      </Stack>
    </form>
  );
}

interface MerchantFieldProps {
  readonly value: string;
  onChange(value: string): void;
}

/** Most services keep one merchant: nobody has to know its ID. */
function MerchantField({ value, onChange }: MerchantFieldProps) {
  const [isAsked, setAsked] = useState(value !== '');
  return isAsked ? (
    <TextInput
      label={words.merchant}
      placeholder="mer_…"
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  ) : (
    <Anchor component="button" type="button" size="sm" ta="left" onClick={() => setAsked(true)}>
      {words.several}
    </Anchor>
  );
}

interface EntranceProps {
  readonly title: string;
  readonly children: ReactNode;
}

export function Entrance({ title, children }: EntranceProps) {
  useEffect(() => {
    document.title = `${title} · ${texts.brand}`;
  }, [title]);
  return (
    <Center component="main" mih="100vh" p="md">
      <Card withBorder w="100%" maw={400} p="xl" radius="lg">
        <Stack gap="md">
          <div>
            <Text fw={700} c="var(--mantine-color-anchor)">
              {texts.brand}
            </Text>
            <Title order={1}>{title}</Title>
          </div>
          {children}
        </Stack>
      </Card>
    </Center>
  );
}

/** One attempt to get in at a time; what comes of it is read again from the service. */
export function useAttempt() {
  const [error, setError] = useState<Error>();
  const [isBusy, setBusy] = useState(false);
  const attempt = (enter: () => Promise<Session>, onDone: () => void = () => undefined) => {
    setBusy(true);
    setError(undefined);
    enter()
      .then(async () => {
        onDone();
        await queries.invalidateQueries({ queryKey: sessionKey });
      })
      .catch((reason: unknown) => {
        const isRefusedByPerson = reason instanceof DOMException;
        setError(isRefusedByPerson ? new Error(words.noPasskey) : (reason as Error));
      })
      .finally(() => setBusy(false));
  };
  return { error, isBusy, attempt };
}
