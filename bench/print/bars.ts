// Bars with their verdicts, as a table.

import type { Judgement } from '../judge/bars.ts';
import { decimals, markdown } from './markdown.ts';

export function barsTable(judgements: readonly Judgement[]): string {
  const head = ['Bar', 'Of', 'Measured', 'Bar', 'Stretch', 'Verdict'];
  return markdown([head, ...judgements.map(rowOf)], 2);
}

function rowOf(judgement: Judgement): string[] {
  const { title, of, is, unit, value, bar, stretch, verdict, missedBy } = judgement;
  const places = unit === 'MB' ? 0 : 2;
  const sign = is === 'at least' ? '≥' : '≤';
  const by = verdict === 'missed' ? ` by ${Math.ceil(missedBy * 100)} %` : '';
  return [
    title,
    of,
    `${decimals(value, places)} ${unit}`,
    `${sign} ${bar}`,
    `${sign} ${stretch}`,
    verdict + by,
  ];
}
