// Around every screen: menu, bands, who is signed in.

import {
  ActionIcon,
  AppShell,
  Burger,
  Button,
  Group,
  Menu,
  NavLink,
  ScrollArea,
  Text,
  useMantineColorScheme,
} from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { type ReactNode, useEffect, useRef } from 'react';
import { Link, useLocation } from 'react-router';
import { Icon } from '../parts/icons.tsx';
import { allScreens } from '../screens.tsx';
import { useAsOf } from '../service/as-of.ts';
import { queries, sessionKey } from '../service/client.ts';
import { useMe } from '../service/me.tsx';
import { signOut } from '../service/session.ts';
import { texts } from '../texts.ts';
import { AsOfBand, OfflineBand } from './bands.tsx';
import { Help } from './help.tsx';
import { Notices } from './notices.tsx';

export function Shell({ children }: { readonly children: ReactNode }) {
  const [isOpen, { toggle, close }] = useDisclosure();
  const main = useRef<HTMLElement>(null);
  const { pathname } = useLocation();
  const before = useRef(pathname);
  useEffect(() => {
    if (before.current === pathname) return;
    before.current = pathname;
    close();
    // Who uses the keyboard or a screen reader goes on in what was opened.
    main.current?.focus();
    scrollTo(0, 0);
  }, [pathname, close]);
  return (
    <AppShell
      header={{ height: 52 }}
      navbar={{ width: 216, breakpoint: 'sm', collapsed: { mobile: !isOpen } }}
      padding="md"
    >
      <Button component="a" href="#main" className="skip" size="xs">
        {texts.shell.skip}
      </Button>
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap">
            <Burger
              opened={isOpen}
              onClick={toggle}
              hiddenFrom="sm"
              size="sm"
              aria-label={texts.shell.menu}
              aria-expanded={isOpen}
            />
            <Brand />
          </Group>
          <Group gap="xs" wrap="nowrap">
            <Help />
            <Account />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" aria-label={texts.shell.menu}>
        <ScrollArea>
          <Screens />
        </ScrollArea>
      </AppShell.Navbar>
      <AppShell.Main id="main" ref={main} tabIndex={-1}>
        <OfflineBand />
        <AsOfBand />
        {children}
      </AppShell.Main>
      <Notices />
    </AppShell>
  );
}

function Brand() {
  const { merchant } = useMe();
  return (
    <Group gap={8} wrap="nowrap" miw={0}>
      <Text fw={700} visibleFrom="xs" c="var(--mantine-color-anchor)">
        {texts.brand}
      </Text>
      <Text truncate fw={600} maw={{ base: 170, sm: 400 }}>
        {merchant.name}
      </Text>
    </Group>
  );
}

function Screens() {
  const { scopes } = useMe();
  const { pathname } = useLocation();
  const { moment } = useAsOf();
  const shown = allScreens.filter(
    ({ title, scope }) => title !== undefined && (scope === null || scopes.has(scope)),
  );
  return shown.map(({ path, title, icon, hasMoment }) => {
    const isHere = pathname === path || (path !== '/' && pathname.startsWith(`${path}/`));
    // A moment goes along to whatever can show it.
    const search = hasMoment === true && moment !== undefined ? `?as_of=${moment}` : '';
    return (
      <NavLink
        key={path}
        component={Link}
        to={{ pathname: path, search }}
        label={title}
        leftSection={icon === undefined ? undefined : <Icon name={icon} />}
        active={isHere}
        aria-current={isHere ? 'page' : undefined}
        variant="light"
      />
    );
  });
}

function Account() {
  const { person } = useMe();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const leave = async () => {
    await signOut();
    await queries.invalidateQueries({ queryKey: sessionKey });
  };
  return (
    <Menu position="bottom-end" width={230}>
      <Menu.Target>
        <ActionIcon variant="default" size="lg" aria-label={texts.shell.account(person.name)}>
          <Icon name="me" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          {person.name} · {texts.roles[person.role] ?? person.role}
        </Menu.Label>
        <Menu.Item component={Link} to="/me">
          {texts.menu.me}
        </Menu.Item>
        <Menu.Divider />
        {(['auto', 'light', 'dark'] as const).map((scheme) => (
          <Menu.Item
            key={scheme}
            role="menuitemradio"
            aria-checked={colorScheme === scheme}
            onClick={() => setColorScheme(scheme)}
            rightSection={colorScheme === scheme ? '✓' : null}
          >
            {texts.shell.schemes[scheme]}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item onClick={() => void leave()}>{texts.shell.signOut}</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
