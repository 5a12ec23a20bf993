// `npm run bench:docs [FILE]`: writes the figures of one run, the newest unless a file is named,
// into docs/performance.md, between its marks, and draws its plots. The prose is by hand.

import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { plotsOf } from './document/plots.ts';
import { resultsDirectory } from './options.ts';
import { barsTable } from './print/bars.ts';
import { growthTable, pagesTable, sizesTable } from './print/growth.ts';
import { factsOf } from './print/print.ts';
import { tableOf } from './print/table.ts';
import type { RunResults } from './results.ts';

const page = fileURLToPath(new URL('../docs/performance.md', import.meta.url));
const plots = fileURLToPath(new URL('../docs/performance/', import.meta.url));

async function report(file: string): Promise<void> {
  const results = JSON.parse(await readFile(file, 'utf8')) as RunResults;
  const [fault] = results.verdict.faults;
  if (fault !== undefined) throw new Error(`the run is not to be believed: ${fault}`);
  let text = await readFile(page, 'utf8');
  for (const [name, figures] of Object.entries(figuresOf(results))) {
    text = replaced(text, name, figures);
  }
  await writeFile(page, text);
  await mkdir(plots, { recursive: true });
  for (const [name, svg] of Object.entries(plotsOf(results))) {
    await writeFile(join(plots, name), svg);
  }
}

function figuresOf(results: RunResults): Record<string, string> {
  const { cases, growth, bars, drivers, startedAt, verdict } = results;
  const day = String(startedAt).slice(0, 10);
  const facts = [`Measured on ${day}.`, ...factsOf(results), verdict.sentence];
  return {
    machine: facts.map((line) => `- ${line}`).join('\n'),
    ...(bars.length === 0 ? {} : { bars: barsTable(bars) }),
    ...(cases === undefined ? {} : { cases: tableOf(cases.comparisons, drivers.raw) }),
    ...(growth === undefined
      ? {}
      : { sizes: sizesTable(growth), growth: growthTable(growth), pages: pagesTable(growth) }),
  };
}

/** @throws Error when the page has no such marks. */
function replaced(text: string, name: string, figures: string): string {
  const [start, end] = [`<!-- figures: ${name} -->\n`, `\n<!-- end: ${name} -->`];
  const from = text.indexOf(start);
  const to = text.indexOf(end, from);
  if (from < 0 || to < 0) throw new Error(`docs/performance.md has no marks for ${name}`);
  return text.slice(0, from + start.length) + figures + text.slice(to);
}

async function newest(): Promise<string> {
  const names = (await readdir(resultsDirectory)).filter((name) => name.endsWith('.json')).sort();
  const name = names.at(-1);
  if (name === undefined) throw new Error('there are no results yet: npm run bench');
  return join(resultsDirectory, name);
}

await report(process.argv[2] ?? (await newest()));
