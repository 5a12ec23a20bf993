// The results of a run as they are read in a terminal.

import type { RunResults } from '../results.ts';
import { barsTable } from './bars.ts';
import { costsTable } from './costs.ts';
import { growthTable, pagesTable, sizesTable } from './growth.ts';
import { tableOf } from './table.ts';

export function print(results: RunResults): void {
  const { drivers, cases, growth, bars, verdict } = results;
  for (const line of factsOf(results)) console.log(line);
  if (cases !== undefined) {
    console.log(`\n${tableOf(cases.comparisons, drivers.raw)}`);
    for (const { title, costs } of cases.statements)
      console.log(`\n${title}\n\n${costsTable(costs)}`);
  }
  if (growth !== undefined) {
    console.log(`\n${sizesTable(growth)}\n\n${growthTable(growth)}`);
    if (growth.sizes.some(({ pages }) => pages.length > 0)) console.log(`\n${pagesTable(growth)}`);
  }
  if (bars.length > 0) console.log(`\n${barsTable(bars)}`);
  console.log(`\n${verdict.sentence}`);
  for (const fault of verdict.faults) console.log(`FAULT: ${fault}`);
}

/** The machine, the server and the run, a line each. */
export function factsOf({ machine, settings, drivers, options, seconds }: RunResults): string[] {
  const { server_version: version = '', ...others } = settings;
  const named = Object.entries(others).map(([name, value]) => `${name} = ${value || 'none'}`);
  const { cores, processor, memoryBytes, node, platform, loadBefore } = machine;
  const { pace } = options;
  return [
    `${cores} cores of ${processor}, ${Math.round(memoryBytes / 1_024 ** 3)} GB, ${platform}; ` +
      `load ${loadBefore.toFixed(1)} before the run.`,
    `Node ${node}, PostgreSQL ${version}: ${named.join(', ')}.`,
    `Load by ${drivers.load}, raw figures by ${drivers.raw}, ${pace.rounds} rounds of ` +
      `${pace.seconds} s each, requests ${options.isLogged ? '' : 'not '}logged; ` +
      `${(seconds / 60).toFixed(1)} minutes.`,
    ...(options.quick ? ['QUICK: a hint, not a result.'] : []),
  ];
}
