// A run in words: what was done, what was met, what was found, and how to do it again.

import { livenessMs, type Outcome } from './chaos.ts';
import { type Met, meanings } from './check/sometimes.ts';

/** So many cases of a finding are shown. */
const shownMax = 5;

/** Nothing was found, and everything was met that must be. */
export function isGood({ findings, met }: Outcome): boolean {
  return findings.every(({ faults }) => faults.length === 0) && missed(met).length === 0;
}

/** What the run should have met, and has not. */
export function missed(met: Met): string[] {
  return namesOf(met).flatMap((name) => (met[name] === 0 ? [meanings[name]] : []));
}

export function describe(outcome: Outcome, commit: string): string {
  const { seed, seconds, requests, keys, acknowledged, drainedMs, faults, registers } = outcome;
  const again = `npm run chaos -- --seconds ${seconds} --seed ${seed}`;
  const kinds = [...faults].sort(([a], [b]) => a.localeCompare(b));
  const struck = kinds.reduce((sum, [, count]) => sum + count, 0);
  return [
    `${requests} requests with ${keys} keys, ${acknowledged} of them acknowledged`,
    `${struck} faults:`,
    ...kinds.map(([name, count]) => `  ${name}: ${count}`),
    'met:',
    ...namesOf(outcome.met).map((name) => `  ${meanings[name]}: ${outcome.met[name]}`),
    `answered after mending within ${Math.round(drainedMs)} ms (at most ${livenessMs})`,
    `${registers.operations} operations on ${registers.count} levels judged`,
    'found:',
    ...outcome.findings.flatMap(({ what, faults: cases }) => [
      `  ${what}: ${cases.length}`,
      ...cases.slice(0, shownMax).map((one) => `    ${one}`),
    ]),
    isGood(outcome) ? 'PASSED' : `FAILED${explained(outcome)}`,
    `SEED=${seed} COMMIT=${commit} ${again}`,
    '',
  ].join('\n');
}

function explained({ met }: Outcome): string {
  const names = missed(met);
  return names.length === 0 ? '' : `: proves too little, never met: ${names.join('; ')}`;
}

function namesOf(met: Met): (keyof Met)[] {
  return Object.keys(met) as (keyof Met)[];
}
