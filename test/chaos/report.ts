// A run in words: what was done, what was met, what was found, and how to do it again.

import { livenessMs, type Outcome } from './chaos.ts';
import { type Met, meanings, required } from './check/coverage.ts';
import type { Recovery } from './check/recovery.ts';
import { flagsOf } from './settings.ts';

/** What is hoped for, though other faults go on meanwhile. */
const recoveryMs = 5_000;

/** So many cases of a finding are shown. */
const shownMax = 5;

/** Nothing was found, and everything was met that must be. */
export function isGood(outcome: Outcome): boolean {
  const { findings } = outcome;
  return findings.every(({ faults }) => faults.length === 0) && missed(outcome).length === 0;
}

/** What the run should have met, and has not. */
export function missed(outcome: Outcome): string[] {
  const { met, faults } = outcome;
  const rare = namesOf(met).filter((name) => met[name] < required(name, outcome));
  const idle = [...faults].filter(([, count]) => count === 0);
  return [
    ...rare.map((name) => `${meanings[name]} (${required(name, outcome)} times)`),
    ...idle.map(([name]) => name),
  ];
}

/** What does the same run again. */
export function repetition(
  { seed, seconds, settings }: Pick<Outcome, 'seed' | 'seconds' | 'settings'>,
  commit: string,
) {
  const run = `npm run chaos -- --seconds ${seconds} --seed ${seed}${flagsOf(settings)}`;
  return `SEED=${seed} COMMIT=${commit} ${run}`;
}

export function describe(outcome: Outcome, commit: string): string {
  const { requests, keys, acknowledged, drainedMs, faults, registers } = outcome;
  const { recovery, met } = outcome;
  const kinds = [...faults].sort(([a], [b]) => a.localeCompare(b));
  const struck = kinds.reduce((sum, [, count]) => sum + count, 0);
  return [
    `${requests} requests with ${keys} keys, ${acknowledged} of them acknowledged`,
    `${struck} faults:`,
    ...kinds.map(([name, count]) => `  ${name}: ${count}`),
    'met:',
    ...namesOf(met)
      .filter((name) => required(name, outcome) > 0)
      .map((name) => `  ${meanings[name]}: ${met[name]} (at least ${required(name, outcome)})`),
    recovered(recovery),
    `answered after mending within ${Math.round(drainedMs)} ms (at most ${livenessMs})`,
    `${registers.operations} operations on ${registers.count} levels and records judged`,
    'found:',
    ...outcome.findings.flatMap(({ what, faults: cases }) => [
      `  ${what}: ${cases.length}`,
      ...cases.slice(0, shownMax).map((one) => `    ${one}`),
    ]),
    isGood(outcome) ? 'PASSED' : `FAILED${explained(outcome)}`,
    repetition(outcome, commit),
    '',
  ].join('\n');
}

function recovered({ times, cutShort }: Recovery): string {
  const middle = Math.round(times[Math.floor(times.length / 2)] ?? 0);
  const most = Math.round(times.at(-1) ?? 0);
  const long = times.filter((ms) => ms > recoveryMs).length;
  return (
    `database ready to first write done, ${times.length} times: ${middle} ms in the middle, ` +
    `${most} ms at most, ${long} above ${recoveryMs} ms; down again before: ${cutShort}`
  );
}

function explained(outcome: Outcome): string {
  const names = missed(outcome);
  return names.length === 0 ? '' : `: proves too little, not met: ${names.join('; ')}`;
}

function namesOf(met: Met): (keyof Met)[] {
  return Object.keys(met) as (keyof Met)[];
}
