// Chooses the moment that stock is shown of.

import { Button, Group, Popover, Stack, TextInput } from '@mantine/core';
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
        <Stack gap={6} mb="sm">
          {shortcuts().map(([text, end]) => (
            <Button
              key={text}
              size="xs"
              variant="default"
              onClick={() => {
                show(end.toISOString());
                setOpen(false);
              }}
            >
              {text}
            </Button>
          ))}
        </Stack>
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

/** The last moment of a day, by the clock of the reader. */
function shortcuts(): readonly (readonly [text: string, end: Date])[] {
  const now = new Date();
  const [year, month, day] = [now.getFullYear(), now.getMonth(), now.getDate()];
  const before = (...next: readonly [number, number, number]) =>
    new Date(new Date(...next).getTime() - 1);
  return [
    [texts.asOf.yesterday, before(year, month, day)],
    [texts.asOf.lastMonth, before(year, month, 1)],
    [texts.asOf.lastYear, before(year, 0, 1)],
  ];
}

/** As such a field writes it: by the clock on the wall, without a zone. */
function localNow(): string {
  const now = new Date();
  return new Date(now.getTime() - now.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
