// Bars for days. They are a picture of the table beside them.

import { useComputedColorScheme } from '@mantine/core';
import { useElementSize } from '@mantine/hooks';
import type { InventoryDay } from '@tallybook/client';
import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { countText, dayText } from '../../format.ts';
import { texts } from '../../texts.ts';

const words = texts.overview;

const colours = {
  light: { text: '#4d555d', grid: '#e3e6e9', bar: '#0b7285' },
  dark: { text: '#b4b9be', grid: '#3b3f44', bar: '#4ea6b8' },
} as const;

const height = 200;

export function DayBars({ days }: { readonly days: readonly InventoryDay[] }) {
  const scheme = useComputedColorScheme('light');
  const { ref: box, width } = useElementSize<HTMLDivElement>();
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (place.current === null || width === 0) return;
    const places = days.map((_, index) => index);
    const heights = days.map(({ movements }) => movements);
    const chart = new uPlot(optionsOf(days, width, scheme), [places, heights], place.current);
    return () => chart.destroy();
  }, [days, width, scheme]);
  const busiest = days.reduce((one, other) => (other.movements > one.movements ? other : one));
  return (
    <div ref={box} className="chart">
      <div
        ref={place}
        role="img"
        aria-label={words.chart(dayText(busiest.date), countText(busiest.movements))}
      />
    </div>
  );
}

function optionsOf(
  days: readonly InventoryDay[],
  width: number,
  scheme: keyof typeof colours,
): uPlot.Options {
  const { text, grid, bar } = colours[scheme];
  const axis = { stroke: text, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid } };
  const bars = uPlot.paths.bars?.({ size: [0.7, 28], radius: 0.15 });
  const dayAt = (index: number) => {
    const date = days[index]?.date;
    return date === undefined ? '' : dayText(date);
  };
  return {
    width,
    height,
    legend: { show: true },
    cursor: { y: false, drag: { x: false, y: false } },
    scales: {
      x: { time: false, range: [-0.6, days.length - 0.4] },
      y: { range: (_, __, high) => [0, Math.max(4, high * 1.08)] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        space: 64,
        incrs: [1, 2, 5, 7, 10, 14],
        values: (_, ticks) => ticks.map(dayAt),
      },
      { ...axis, size: 48, incrs: wholes, values: (_, ticks) => ticks.map(countText) },
    ],
    series: [
      { label: words.columns.day, value: (_, index) => (index === null ? '–' : dayAt(index)) },
      {
        label: words.columns.movements,
        fill: bar,
        stroke: bar,
        points: { show: false },
        ...(bars === undefined ? {} : { paths: bars }),
        value: (_, count) => (count === null ? '–' : countText(count)),
      },
    ],
  };
}

/** Nothing happens half a time. */
const wholes = Array.from({ length: 8 }, (_, power) =>
  [1, 2, 5].map((one) => one * 10 ** power),
).flat();
