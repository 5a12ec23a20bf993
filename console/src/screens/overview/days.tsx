// The movements of the last 30 days at a location: as bars, and as a table for whoever wants the
// figures or does not see the bars.

import { Table, Text } from '@mantine/core';
import type { InventoryDay } from '@tallybook/client';
import { useQuery } from '@tanstack/react-query';
import { countText, dayText } from '../../format.ts';
import { tb } from '../../service/client.ts';
import { useLocations } from '../../service/me.tsx';
import { texts } from '../../texts.ts';
import { DayBars } from './day-bars.tsx';
import { Panel } from './panel.tsx';

const words = texts.overview;

const daysShown = 30;

export function Days({ location }: { readonly location: string }) {
  const zone = useLocations()?.find(({ id }) => id === location)?.timezone;
  const { data, error, isPending, refetch } = useQuery({
    queryKey: ['days', location, zone],
    enabled: zone !== undefined,
    queryFn: ({ signal }) => readDays(location, zone ?? 'UTC', signal),
  });
  const days = data ?? [];
  const sum = days.reduce((before, { movements }) => before + movements, 0);
  return (
    <Panel title={words.days} {...{ error, isPending }} onAgain={() => void refetch()}>
      <Text size="sm" c="dimmed">
        {words.sum(countText(sum), sum === 1)}
      </Text>
      {sum > 0 && <DayBars days={days} />}
      {sum > 0 && <Figures days={days} />}
    </Panel>
  );
}

function Figures({ days }: { readonly days: readonly InventoryDay[] }) {
  const { columns } = words;
  const busy = days.filter(({ movements }) => movements > 0).toReversed();
  return (
    <details>
      <summary className="figures">{words.figures}</summary>
      <Table verticalSpacing={4} aria-label={words.days}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{columns.day}</Table.Th>
            <Table.Th className="quantity">{columns.movements}</Table.Th>
            <Table.Th>{columns.why}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {busy.map(({ date, movements, reasons }) => (
            <Table.Tr key={date}>
              <Table.Th scope="row" style={{ whiteSpace: 'nowrap' }}>
                {dayText(date)}
              </Table.Th>
              <Table.Td className="quantity">{countText(movements)}</Table.Td>
              <Table.Td>{reasonsText(reasons)}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      <Text size="sm" c="dimmed">
        {words.quiet}
      </Text>
    </details>
  );
}

/** The most frequent first. */
const reasonsText = (reasons: InventoryDay['reasons']): string =>
  reasons
    .toSorted((one, other) => other.movements - one.movements)
    .map(({ reason, movements }) => {
      const name = texts.reasons[reason] ?? reason;
      return `${name}: ${countText(movements)}`;
    })
    .join(' · ');

/** Every day has its place, also those on which nothing happened. */
async function readDays(location: string, timeZone: string, signal: AbortSignal) {
  const dates = lastDates(timeZone);
  const [from = '', to = ''] = [dates[0], dates.at(-1)];
  const found = new Map<string, InventoryDay>();
  for await (const day of tb.inventory.daily({ location_id: location, from, to }, { signal }))
    found.set(day.date, day);
  return dates.map((date) => found.get(date) ?? { date, movements: 0, reasons: [] });
}

/** By the clock on the wall of the location. */
function lastDates(timeZone: string): readonly string[] {
  // This locale writes a day as the service does.
  const today = new Intl.DateTimeFormat('en-CA', { timeZone }).format(new Date());
  return Array.from({ length: daysShown }, (_, index) => {
    const day = new Date(`${today}T12:00:00Z`);
    day.setUTCDate(day.getUTCDate() - (daysShown - 1 - index));
    return day.toISOString().slice(0, 10);
  });
}
