// The link of an invitation, shown this once: to be sent, or read from the screen by a phone.

import { Alert, Button, Center, Text } from '@mantine/core';
import type { Person } from '@tallybook/client';
import { momentText } from '../../format.ts';
import { CopyText } from '../../parts/copy-text.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { QrCode } from '../../parts/qr-code.tsx';
import { texts } from '../../texts.ts';

const words = texts.people;

interface InvitationLinkProps {
  readonly person: Person;
  onClose(): void;
}

export function InvitationLink({ person, onClose }: InvitationLinkProps) {
  const { name, invitation, invitation_expires_at: ends } = person;
  if (invitation === null) {
    return (
      <Dialog title={words.invited(name)} onClose={onClose}>
        <Alert color="orange" variant="light" role="alert" title={words.linkLost}>
          {words.linkLostWords}
        </Alert>
      </Dialog>
    );
  }
  const link = `${location.origin}/console/invitation#${invitation}`;
  return (
    <Dialog title={words.invited(name)} onClose={onClose}>
      <Text>{words.giveLink(name)}</Text>
      <Center>
        <QrCode text={link} label={words.qr} />
      </Center>
      <CopyText label={words.link} text={link} />
      <Text size="sm" c="dimmed">
        {ends === null ? words.once : words.onceUntil(momentText(ends))}
      </Text>
      <Button onClick={onClose}>{words.linkDone}</Button>
    </Dialog>
  );
}
