// Chooses the moment that stock is shown of.

import { Button, Group, Popover, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useAsOf } from '../service/as-of.ts';
import { texts } from '../texts.ts';

export function AsOfPicker() {
  const { moment, show } = useAsOf();
  const [isOpen, setOpen] = useState(false);
  const [typed, setTyped] = useState('');
  const pick = () => {
    const chosen = new Date(typed);
    if (Number.isNaN(chosen.getTime())) return;
    show(chosen.toISOString());
    setOpen(false);
  };
  return (
    <Popover opened={isOpen} onChange={setOpen} trapFocus withArrow position="bottom-end">
      <Popover.Target>
        <Button
          variant={moment === undefined ? 'default' : 'light'}
          onClick={() => setOpen((before) => !before)}
        >
          {texts.asOf.open}
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
        <Group align="flex-end">
          <TextInput
            type="datetime-local"
            label={texts.asOf.label}
            value={typed}
            max={localNow()}
            onChange={(event) => setTyped(event.currentTarget.value)}
            onKeyDown={(event) => event.key === 'Enter' && pick()}
          />
          <Button onClick={pick}>{texts.asOf.show}</Button>
        </Group>
      </Popover.Dropdown>
    </Popover>
  );
}

/** As such a field writes it: by the clock on the wall, without a zone. */
function localNow(): string {
  const now = new Date();
  return new Date(now.getTime() - now.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
