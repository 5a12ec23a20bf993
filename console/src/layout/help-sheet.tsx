// The list of shortcuts.

import { Kbd, Modal, Table, Text } from '@mantine/core';
import { texts } from '../texts.ts';

interface HelpSheetProps {
  readonly screens: readonly { readonly digit: string; readonly title: string }[];
  onClose(): void;
}

export function HelpSheet({ screens, onClose }: HelpSheetProps) {
  const closing = { 'aria-label': texts.close };
  return (
    <Modal opened onClose={onClose} title={texts.help.title} closeButtonProps={closing}>
      <Table>
        <Table.Tbody>
          {screens.map(({ digit, title }) => (
            <Row key={digit} keys={['Alt', digit]} words={title} />
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
