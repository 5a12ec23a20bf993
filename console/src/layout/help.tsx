// Shortcuts, and the sheet that lists them. Each has a modifier, because letters alone would get in
// the way of screen readers and scanners (WCAG 2.1.4).

import { ActionIcon } from '@mantine/core';
import { type HotkeyItemOptions, useDisclosure, useHotkeys } from '@mantine/hooks';
import { lazy, Suspense } from 'react';
import { useNavigate } from 'react-router';
import { allScreens } from '../screens.tsx';
import { useMe } from '../service/me.tsx';
import { texts } from '../texts.ts';

const Sheet = lazy(async () => ({ default: (await import('./help-sheet.tsx')).HelpSheet }));

export function Help() {
  const [isOpen, { open, close }] = useDisclosure();
  const navigate = useNavigate();
  const { scopes } = useMe();
  const shown = allScreens.filter(
    ({ title, scope }) => title !== undefined && (scope === null || scopes.has(scope)),
  );
  const numbered = shown
    .slice(0, 9)
    .map(({ path, title = '' }, index) => ({ path, title, digit: String(index + 1) }));
  const moves = scopes.has('inventory.write')
    ? texts.help.moves.map(([digit, kind]) => ({ digit, kind, title: texts.help.move[kind] }))
    : [];
  useHotkeys(
    [
      ['mod+/', open],
      ...moves.map(({ digit, kind }): [string, () => void, HotkeyItemOptions] => [
        `alt+${digit}`,
        () => void navigate('/move', { state: { kind } }),
        // On a Mac, Alt and a letter is another letter.
        { usePhysicalKeys: true },
      ]),
      ...numbered.map(({ digit, path }): [string, () => void] => [
        `alt+${digit}`,
        () => void navigate(path),
      ]),
    ],
    [],
  );
  return (
    <>
      <ActionIcon variant="default" size="lg" onClick={open} aria-label={texts.help.title}>
        ?
      </ActionIcon>
      {isOpen && (
        <Suspense fallback={null}>
          <Sheet screens={[...numbered, ...moves]} onClose={close} />
        </Suspense>
      )}
    </>
  );
}
