// Lists in and out: products and customers as CSV, counts, and the stock of a location.

import { Tabs } from '@mantine/core';
import { useSearchParams } from 'react-router';
import { Screen } from '../../parts/screen.tsx';
import { texts } from '../../texts.ts';
import { ExportPart } from './export-part.tsx';
import { ImportPart, useImports } from './import-part.tsx';

const words = texts.exchange;

export function ExchangeScreen() {
  const [search, setSearch] = useSearchParams();
  const mayImport = useImports().length > 0;
  const isExport = !mayImport || search.get('tab') === 'export';
  return (
    <Screen title={words.title} hint={words.hint}>
      <Tabs
        value={isExport ? 'export' : 'import'}
        keepMounted
        onChange={(chosen) => setSearch(chosen === 'export' ? { tab: 'export' } : {})}
      >
        <Tabs.List>
          {mayImport && <Tabs.Tab value="import">{words.tabs.import}</Tabs.Tab>}
          <Tabs.Tab value="export">{words.tabs.export}</Tabs.Tab>
        </Tabs.List>
        {mayImport && (
          <Tabs.Panel value="import" pt="md">
            <ImportPart />
          </Tabs.Panel>
        )}
        <Tabs.Panel value="export" pt="md">
          <ExportPart />
        </Tabs.Panel>
      </Tabs>
    </Screen>
  );
}
