// How a location is doing: what happens there, what runs low, what was short, what needs somebody.

import { Anchor, Group, List, SimpleGrid, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { quantityText } from '../../format.ts';
import { Ago } from '../../parts/ago.tsx';
import { LocationSelect } from '../../parts/location-select.tsx';
import { Screen } from '../../parts/screen.tsx';
import { tb } from '../../service/client.ts';
import { usePlace } from '../../service/place.ts';
import { texts } from '../../texts.ts';
import { Days } from './days.tsx';
import { Panel } from './panel.tsx';
import { Short } from './short.tsx';

const words = texts.overview;

/** More of them are in Stock. */
const lowMax = 10;

export function OverviewScreen() {
  const [place, choosePlace] = usePlace();
  return (
    <Screen
      title={words.title}
      hint={words.hint}
      actions={
        <LocationSelect
          value={place ?? null}
          onChange={choosePlace}
          w={{ base: '100%', xs: 210 }}
        />
      }
    >
      {place === null && <Text>{texts.stock.noLocation}</Text>}
      {typeof place === 'string' && (
        <>
          <Days key={place} location={place} />
          <SimpleGrid cols={{ base: 1, md: 3 }} spacing="md">
            <Needs />
            <Low location={place} />
            <Short location={place} />
          </SimpleGrid>
        </>
      )}
    </Screen>
  );
}

function Low({ location }: { readonly location: string }) {
  const { data, error, isPending, refetch } = useQuery({
    queryKey: ['overview', 'low', location],
    queryFn: ({ signal }) =>
      tb.stock
        .list({ location_id: location, low_stock: 'true', limit: lowMax }, { signal })
        .then(({ data: rows, nextCursor }) => ({ rows, isMore: nextCursor !== undefined })),
  });
  const { rows = [], isMore = false } = data ?? {};
  return (
    <Panel title={words.low} {...{ error, isPending }} onAgain={() => void refetch()}>
      {rows.length === 0 && <Text size="sm">{words.nothingLow}</Text>}
      {rows.map(({ product_id, name, available_quantity, low_stock_at, unit }) => (
        <Group key={product_id} justify="space-between" wrap="nowrap" gap="sm">
          <Anchor component={Link} to={`/products/${product_id}`} size="sm">
            {name}
          </Anchor>
          <Text size="sm" className="quantity" style={{ whiteSpace: 'nowrap' }}>
            {words.left(
              quantityText(available_quantity ?? '0'),
              quantityText(low_stock_at ?? '0'),
              unit.code === 'each' ? '' : unit.code,
            )}
          </Text>
        </Group>
      ))}
      {rows.length > 0 && (
        <Anchor component={Link} to={`/?location=${location}&low=true`} size="sm">
          {isMore ? words.allLow : words.openLow}
        </Anchor>
      )}
    </Panel>
  );
}

/** Where somebody can do something about it. */
const places: Readonly<Record<string, string>> = {
  token: '/people',
  person: '/people',
  webhook: '/webhooks',
  location: '/movements',
};

function Needs() {
  const { data, error, isPending, refetch } = useQuery({
    queryKey: ['overview', 'needs'],
    refetchInterval: 60_000,
    queryFn: async ({ signal }) => (await tb.status.get({ signal })).data.needs,
  });
  const needs = data ?? [];
  return (
    <Panel title={words.needs} {...{ error, isPending }} onAgain={() => void refetch()}>
      {needs.length === 0 && <Text size="sm">{words.noNeeds}</Text>}
      <List size="sm" spacing="xs" listStyleType="none">
        {needs.map(({ code, text, about, at }) => {
          const address = places[about.type];
          const name = about.name ?? words.unnamed[about.type];
          return (
            <List.Item key={`${code} ${about.id} ${at}`}>
              <Text size="sm" fw={550}>
                {address === undefined ? (
                  name
                ) : (
                  <Anchor component={Link} to={address} size="sm" fw={550}>
                    {name}
                  </Anchor>
                )}
              </Text>
              <Text size="sm">{words.need[code] ?? text}</Text>
              {at !== null && (
                <Text size="sm" c="dimmed">
                  <Ago time={at} />
                </Text>
              )}
            </List.Item>
          );
        })}
      </List>
    </Panel>
  );
}
