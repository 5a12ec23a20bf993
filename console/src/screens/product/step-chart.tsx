// A level over time. It stands still between two movements, so it is drawn in steps. Whoever does
// not see it reads the table of the same movements.

import { useComputedColorScheme } from '@mantine/core';
import { useElementSize } from '@mantine/hooks';
import type { InventoryMovement } from '@tallybook/client';
import { useEffect, useMemo, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { exactMomentText, quantityText, tickText } from '../../format.ts';
import { texts } from '../../texts.ts';

const words = texts.product;

interface StepChartProps {
  /** Newest first. */
  readonly movements: readonly InventoryMovement[];
  /** The end of what is looked at; undefined: now. */
  readonly until: string | undefined;
  readonly unit: string;
}

const colours = {
  light: { text: '#4d555d', grid: '#e3e6e9', line: '#0b7285', fill: 'rgb(11 114 133 / 10%)' },
  dark: { text: '#b4b9be', grid: '#3b3f44', line: '#4ea6b8', fill: 'rgb(78 166 184 / 14%)' },
} as const;

const height = 220;

interface Points {
  readonly times: number[];
  readonly heights: number[];
  /** The exact quantity of each point. */
  readonly quantities: readonly string[];
}

export function StepChart({ movements, until, unit }: StepChartProps) {
  const scheme = useComputedColorScheme('light');
  const { ref: box, width } = useElementSize<HTMLDivElement>();
  const place = useRef<HTMLDivElement>(null);
  const points = useMemo(() => pointsOf(movements, until), [movements, until]);
  useEffect(() => {
    if (place.current === null || width === 0) return;
    const { times, heights } = points;
    const options = optionsOf(points, width, scheme);
    const chart = new uPlot(options, [times, heights], place.current);
    return () => chart.destroy();
  }, [points, width, scheme]);
  const [newest, oldest] = [movements[0], movements.at(-1)];
  if (newest === undefined || oldest === undefined) return null;
  return (
    <div ref={box} className="chart">
      <div
        ref={place}
        role="img"
        aria-label={words.chart(
          exactMomentText(oldest.recorded_at),
          quantityText(newest.quantity_after),
          unit,
        )}
      />
    </div>
  );
}

/** A chart needs numbers; they place points, and are never shown. */
const pixels = (quantity: string): number => Number.parseFloat(quantity);

const seconds = (time: string): number => Date.parse(time) / 1_000;

function pointsOf(movements: readonly InventoryMovement[], until: string | undefined): Points {
  const inOrder = movements.toReversed();
  const [oldest, newest] = [inOrder[0], inOrder.at(-1)];
  if (oldest === undefined || newest === undefined)
    return { times: [], heights: [], quantities: [] };
  const end = Math.max(
    until === undefined ? Date.now() / 1_000 : seconds(until),
    seconds(newest.recorded_at) + 1,
  );
  const quantities = [
    oldest.quantity_before,
    ...inOrder.map(({ quantity_after }) => quantity_after),
    newest.quantity_after,
  ];
  const begin = seconds(oldest.recorded_at);
  const times = [
    begin - Math.max(1, (end - begin) / 50),
    ...inOrder.map(({ recorded_at }) => seconds(recorded_at)),
    end,
  ];
  return { times, heights: quantities.map(pixels), quantities };
}

function optionsOf(
  { quantities }: Points,
  width: number,
  scheme: keyof typeof colours,
): uPlot.Options {
  const { text, grid, line, fill } = colours[scheme];
  const axis = { stroke: text, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid } };
  const stepped = uPlot.paths.stepped?.({ align: 1 });
  return {
    width,
    height,
    legend: { show: true },
    cursor: { y: false, drag: { x: false, y: false } },
    scales: { y: { range: (_, low, high) => [Math.min(0, low), high <= 0 ? 1 : high * 1.08] } },
    axes: [
      {
        ...axis,
        space: 90,
        values: (_, ticks, __, ___, apart) => ticks.map((tick) => tickText(tick, apart)),
      },
      {
        ...axis,
        size: 64,
        values: (_, ticks) => ticks.map((tick) => quantityText(String(tick))),
      },
    ],
    series: [
      {
        label: words.columns.when,
        value: (_, time) =>
          time === null ? '–' : exactMomentText(new Date(time * 1_000).toISOString()),
      },
      {
        label: texts.stock.columns.onHand,
        stroke: line,
        fill,
        width: 2,
        points: { show: quantities.length < 60, size: 5, fill: line },
        ...(stepped === undefined ? {} : { paths: stepped }),
        value: (_, __, ___, index) =>
          index === null ? '–' : quantityText(quantities[index] ?? '0'),
      },
    ],
  };
}
