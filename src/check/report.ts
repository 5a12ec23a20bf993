// What came of a run, for people line by line, and for build servers in the form of JUnit.

import type { Group, Outcome } from './run.ts';

const width = 44;

/** A subject in one line, and what did not pass below it. */
export function groupText({ title, outcomes, seconds }: Group): string {
  const counts = (['passed', 'failed', 'not tried', 'left out'] as const)
    .map((result) => [result, outcomes.filter((one) => one.result === result).length] as const)
    .filter(([, count]) => count > 0)
    .map(([result, count]) => `${count} ${result}`);
  const line = `${title.padEnd(width)} ${counts.join(', ')}, ${seconds.toFixed(1)} s`;
  const others = outcomes.filter(({ result }) => result !== 'passed');
  return [line, ...others.map(faultText)].join('\n');
}

function faultText({ result, name, said, why }: Outcome): string {
  const lines = [`  ${result.toUpperCase()}: ${name}`, `      ${said}`];
  if (result === 'failed') lines.push(`      Why it matters: ${why}`);
  return lines.join('\n');
}

export function junitOf(groups: readonly Group[]): string {
  const suites = groups.map(({ title, outcomes, seconds }) => {
    const counts =
      `tests="${outcomes.length}" failures="${countOf(outcomes, 'failed')}" ` +
      `errors="${countOf(outcomes, 'not tried')}" skipped="${countOf(outcomes, 'left out')}"`;
    const cases = outcomes.map((one) => caseOf(title, one)).join('\n');
    const head = `  <testsuite name="${escaped(title)}" ${counts} time="${seconds}">`;
    return `${head}\n${cases}\n  </testsuite>`;
  });
  const head = '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="tallybook check">';
  return `${head}\n${suites.join('\n')}\n</testsuites>\n`;
}

const countOf = (outcomes: readonly Outcome[], result: Outcome['result']) =>
  outcomes.filter((one) => one.result === result).length;

function caseOf(title: string, { name, seconds, result, said, why }: Outcome): string {
  const head =
    `    <testcase classname="${escaped(title)}" name="${escaped(name)}" ` + `time="${seconds}"`;
  if (result === 'passed') return `${head}/>`;
  const element = { failed: 'failure', 'not tried': 'error', 'left out': 'skipped' }[result];
  const text = `<${element} message="${escaped(said ?? '')}"`;
  const body = result === 'failed' ? `>${escaped(why)}</${element}>` : '/>';
  return `${head}>${text}${body}</testcase>`;
}

/** What XML cannot hold becomes a question mark. */
function escaped(text: string): string {
  return text
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd]/g, '?')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
