// The two kinds of charts: pairs of bars, one pair per row; and small panels of two lines each.

import { Drawing, type Place } from './svg.ts';

export interface BarRow {
  readonly label: string;
  readonly first: number;
  readonly second: number | undefined;
}

export interface BarChart {
  readonly title: string;
  readonly names: readonly [string, string];
  readonly rows: readonly BarRow[];
  show(value: number): string;
}

const width = 760;
const labelWidth = 230;
const valueWidth = 70;
const barHeight = 11;
const rowHeight = 34;
const top = 56;

export function barChart({ title, names, rows, show }: BarChart): string {
  const drawing = new Drawing(width, top + rows.length * rowHeight + 8);
  heading(drawing, title, names);
  const most = Math.max(...rows.flatMap(({ first, second = 0 }) => [first, second]));
  const scale = (width - labelWidth - valueWidth) / (most || 1);
  for (const [index, { label, first, second }] of rows.entries()) {
    const y = top + index * rowHeight;
    drawing.text({ x: labelWidth - 8, y: y + 16 }, label, { anchor: 'end' });
    const bar = (value: number, offset: number, className: string) => {
      drawing.bar({ x: labelWidth, y: y + offset }, value * scale, barHeight, className);
      const beside = { x: labelWidth + value * scale + 5, y: y + offset + barHeight - 1 };
      drawing.text(beside, show(value), { class: 'quiet' });
    };
    bar(first, 1, 'first');
    if (second !== undefined) bar(second, 2 + barHeight, 'second');
  }
  return drawing.toString(title);
}

function heading(drawing: Drawing, title: string, names: readonly string[]): void {
  drawing.text({ x: 8, y: 18 }, title, { class: 'title' });
  for (const [index, name] of names.entries()) {
    const x = 8 + index * 200;
    drawing.bar({ x, y: 30 }, 10, 10, index === 0 ? 'first' : 'second');
    drawing.text({ x: x + 15, y: 39 }, name, { class: 'quiet' });
  }
}

export interface Panel {
  readonly title: string;
  /** One value for each of the chart's steps. */
  readonly first: readonly number[];
  /** A line to compare with, the same at every step. */
  readonly level: number | undefined;
}

export interface PanelChart {
  readonly title: string;
  readonly names: readonly string[];
  readonly steps: readonly string[];
  readonly panels: readonly Panel[];
  /** Whether the level is a goal rather than another figure. */
  readonly isGoal: boolean;
  show(value: number): string;
}

const columns = 4;
const panelWidth = width / columns;
const panelHeight = 128;
const inner = { left: 14, right: 30, top: 26, bottom: 24 };

export function panelChart(chart: PanelChart): string {
  const { title, names, panels } = chart;
  const drawing = new Drawing(width, top + Math.ceil(panels.length / columns) * panelHeight);
  heading(drawing, title, names);
  for (const [index, panel] of panels.entries()) {
    const x = (index % columns) * panelWidth;
    const y = top + Math.floor(index / columns) * panelHeight;
    drawPanel(drawing, { x, y }, panel, chart);
  }
  return drawing.toString(title);
}

function drawPanel(drawing: Drawing, at: Place, panel: Panel, chart: PanelChart): void {
  const { steps, isGoal, show } = chart;
  const { title, first, level } = panel;
  const left = at.x + inner.left;
  const right = at.x + panelWidth - inner.right;
  const bottom = at.y + panelHeight - inner.bottom;
  const most = Math.max(...first, level ?? 0) * 1.1 || 1;
  const height = panelHeight - inner.top - inner.bottom;
  const placeOf = (value: number, step: number): Place => ({
    x: left + ((right - left) * step) / Math.max(1, steps.length - 1),
    y: bottom - (value / most) * height,
  });
  drawing.text({ x: left, y: at.y + 14 }, title, { class: 'quiet' });
  drawing.line([placeOf(0, 0), placeOf(0, steps.length - 1)], 'axis');
  for (const [step, name] of steps.entries()) {
    const { x } = placeOf(0, step);
    drawing.text({ x, y: bottom + 14 }, name, { class: 'quiet', anchor: 'middle' });
  }
  if (level !== undefined) {
    const ends = [placeOf(level, 0), placeOf(level, steps.length - 1)];
    drawing.line(ends, isGoal ? 'guide' : 'line-second');
  }
  const places = first.map(placeOf);
  drawing.line(places, 'line-first');
  for (const place of places) drawing.dot(place, 'first');
  const last = places.at(-1);
  const value = first.at(-1);
  if (last === undefined || value === undefined) return;
  drawing.text({ x: last.x + 4, y: last.y - 5 }, show(value), { class: 'quiet', anchor: 'middle' });
}
