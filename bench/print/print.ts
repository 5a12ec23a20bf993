// The results of a run as they are read in a terminal.

import type { RunResults } from '../results.ts';
import { costsTable } from './costs.ts';
import { tableOf } from './table.ts';

export function print(results: RunResults): void {
  const { machine, settings, drivers, options, cases, verdict, seconds } = results;
  const { server_version: version = '', ...others } = settings;
  const named = Object.entries(others).map(([name, value]) => `${name} = ${value || 'none'}`);
  const { cores, processor, node, loadBefore } = machine;
  console.log(`${cores} cores of ${processor}, load ${loadBefore.toFixed(1)} before the run`);
  console.log(`Node ${node}, PostgreSQL ${version}: ${named.join(', ')}`);
  console.log(
    `Load by ${drivers.load}, raw figures by ${drivers.raw}, ${options.pace.rounds} rounds of ` +
      `${options.pace.seconds} s each; ${(seconds / 60).toFixed(1)} minutes` +
      `${options.quick ? '; QUICK: a hint, not a result' : ''}\n`,
  );
  if (cases !== undefined) {
    console.log(`${tableOf(cases.comparisons, drivers.raw)}\n`);
    for (const { title, costs } of cases.statements)
      console.log(`${title}\n\n${costsTable(costs)}\n`);
  }
  console.log(verdict.sentence);
  for (const fault of verdict.faults) console.log(`FAULT: ${fault}`);
}
