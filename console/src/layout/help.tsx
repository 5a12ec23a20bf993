// Shortcuts, and the sheet that lists them. Each has a modifier, because letters alone would get in
// the way of screen readers and scanners (WCAG 2.1.4).

import { ActionIcon, Kbd, Modal, Table, Text } from '@mantine/core';
import { useDisclosure, useHotkeys } from '@mantine/hooks';
import { useNavigate } from 'react-router';
import { allScreens } from '../screens.tsx';
import { useMe } from '../service/me.tsx';
import { texts } from '../texts.ts';

export function Help() {
  const [isOpen, { open, close }] = useDisclosure();
  const navigate = useNavigate();
  const { scopes } = useMe();
  const shown = allScreens.filter(
    ({ title, scope }) => title !== undefined && (scope === null || scopes.has(scope)),
  );
  const numbered = shown.slice(0, 9).map((screen, index) => ({ ...screen, digit: index + 1 }));
  useHotkeys(
    [
      ['mod+/', open],
      ...numbered.map(({ digit, path }) => [`alt+${digit}`, () => void navigate(path)] as const),
    ].map(([keys, act]) => [keys, act] as [string, () => void]),
    [],
  );
  return (
    <>
      <ActionIcon variant="default" size="lg" onClick={open} aria-label={texts.help.title}>
        ?
      </ActionIcon>
      <Modal
        opened={isOpen}
        onClose={close}
        title={texts.help.title}
        closeButtonProps={{ 'aria-label': texts.close }}
      >
        <Table>
          <Table.Tbody>
            {numbered.map(({ digit, title }) => (
              <Row key={digit} keys={['Alt', String(digit)]} words={title ?? ''} />
            ))}
            <Row keys={['Ctrl', '/']} words={texts.help.title} />
            <Row keys={['Enter']} words={texts.help.enter} />
            <Row keys={['Esc']} words={texts.help.escape} />
          </Table.Tbody>
        </Table>
        <Text size="sm" c="dimmed" mt="sm">
          {texts.help.scanner}
        </Text>
      </Modal>
    </>
  );
}

function Row({ keys, words }: { readonly keys: readonly string[]; readonly words: string }) {
  return (
    <Table.Tr>
      <Table.Td>
        {keys.map((key, index) => (
          <span key={key}>
            {index > 0 && ' + '}
            <Kbd>{key}</Kbd>
          </span>
        ))}
      </Table.Td>
      <Table.Td>{words}</Table.Td>
    </Table.Tr>
  );
}
