// Who may do what at the merchant: people, and the tokens of programs.

import { Tabs } from '@mantine/core';
import { useSearchParams } from 'react-router';
import { Screen } from '../../parts/screen.tsx';
import { useMay } from '../../service/me.tsx';
import { texts } from '../../texts.ts';
import { PeopleList } from './people-list.tsx';
import { TokenList } from './token-list.tsx';

const words = texts.people;

export function PeopleScreen() {
  const [search, setSearch] = useSearchParams();
  const mayWrite = useMay('access.write');
  const tab = search.get('tab') === 'programs' ? 'programs' : 'people';
  return (
    <Screen title={words.title} hint={mayWrite ? words.hint : words.hintReading}>
      <Tabs
        value={tab}
        keepMounted={false}
        onChange={(chosen) => setSearch(chosen === 'programs' ? { tab: 'programs' } : {})}
      >
        <Tabs.List>
          <Tabs.Tab value="people">{words.tabs.people}</Tabs.Tab>
          <Tabs.Tab value="programs">{words.tabs.programs}</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="people" pt="md">
          <PeopleList />
        </Tabs.Panel>
        <Tabs.Panel value="programs" pt="md">
          <TokenList />
        </Tabs.Panel>
      </Tabs>
    </Screen>
  );
}
