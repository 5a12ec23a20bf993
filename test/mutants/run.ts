// `npm run mutants`: breaks the product in one way after the other, and fails unless the tests
// notice each time. With --predicates the mutants are those of every condition on the merchant.
// A mutant is killed by a test that fails, on a file of tests that passes without the mutant.
// --tenth tries another tenth each day; --minutes begins with others each day, and then no more.
// --together tries all at once, and halves where a test fails: which the wall of cells replaces.

import { parseArgs } from 'node:util';
import { harmless } from './harmless.ts';
import { type Mutant, mutated } from './mutant.ts';
import { namedMutants } from './named.ts';
import { predicateMutants } from './predicates.ts';
import { type Result, Results } from './results.ts';
import { asOne, groupsOf } from './together.ts';
import { type Run, Workspace } from './workspace.ts';

const { values: flags } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: [] },
    predicates: { type: 'boolean', default: false },
    tenth: { type: 'boolean', default: false },
    minutes: { type: 'string' },
    together: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    fresh: { type: 'boolean', default: false },
  },
});

function chosen(): readonly Mutant[] {
  const all = flags.predicates
    ? predicateMutants().filter(({ name }) => harmless[name] === undefined)
    : namedMutants;
  if (flags.tenth) return tenthOf(all);
  if (flags.only.length === 0) return flags.minutes === undefined ? all : fromToday(all);
  const some = all.filter(({ name }) => flags.only.some((text) => name.includes(text)));
  if (some.length === 0) throw new Error(`no mutant is called like ${flags.only.join(' or ')}`);
  return some;
}

const today = Math.floor(Date.now() / 86_400_000);

/** Another one each day. */
function tenthOf(all: readonly Mutant[]): Mutant[] {
  return all.filter((_, index) => index % 10 === today % 10);
}

/** All, from a third further on each day: when there is no time for all, the rest has its turn. */
function fromToday(all: readonly Mutant[]): Mutant[] {
  const first = Math.floor((all.length * (today % 3)) / 3);
  return [...all.slice(first), ...all.slice(0, first)];
}

const triesMax = 3;

/** Files of tests that have passed without a mutant, with what they passed by. */
const green = new Map<string, Run>();

async function requireGreen(workspace: Workspace, suite: string): Promise<Run> {
  const known = green.get(suite);
  if (known !== undefined) return known;
  const faults: string[] = [];
  // Some tests bound how long a thing may take, and a busy machine may take longer once.
  while (faults.length < triesMax) {
    const run = await workspace.run(suite);
    const fault = run.failed ?? run.broken;
    const said = fault ?? `${run.tests} tests, ${run.seconds.toFixed(1)} s`;
    process.stderr.write(`${suite} without a mutant: ${said}\n`);
    if (fault === undefined) {
      green.set(suite, run);
      return run;
    }
    faults.push(fault);
  }
  throw new Error(`${suite} fails without a mutant: ${faults.join(', ')}`);
}

const busy = /\b503\b|service_unavailable|timed out|time-?out|database failure: (away|lost)/;

/** A busy machine may answer 503: that counts only when it is so each time. */
async function surely(workspace: Workspace, suite: string): Promise<Run> {
  for (let tries = 1; ; tries += 1) {
    const run = await workspace.run(suite);
    const isBusy = busy.test(`${run.said} ${run.broken ?? ''}`);
    if (!isBusy || tries === triesMax) return run;
  }
}

async function judge(workspace: Workspace, mutant: Mutant): Promise<Result> {
  const started = performance.now();
  const result = (verdict: Result['verdict'], by: string): Result => {
    return { verdict, by, seconds: Math.round((performance.now() - started) / 100) / 10 };
  };
  const broken: string[] = [];
  for (const suite of mutant.suites) {
    const whole = await requireGreen(workspace, suite);
    const run = await workspace.with(mutant, () => surely(workspace, suite));
    const codes = run.invalid.filter((code) => !whole.invalid.includes(code));
    if (codes.length > 0) return result('invalid', `${suite}: SQLSTATE ${codes.join(', ')}`);
    if (run.failed !== undefined) {
      return { ...result('killed', `${suite}: ${run.failed}`), said: run.said };
    }
    if (run.broken !== undefined) broken.push(`${suite}: ${run.broken.slice(0, 500)}`);
  }
  return result('survived', broken.join('; '));
}

function row(mutant: Mutant, { verdict, by, seconds }: Result): string {
  const killer = verdict === 'killed' ? by : `**${verdict}** ${by}`;
  const cells = [`\`${mutant.name}\``, mutant.breaks, killer, seconds.toFixed(1)];
  const clean = cells.map((cell) => cell.replaceAll(/\s+/g, ' ').replaceAll('|', '\\|'));
  return `| ${clean.join(' | ')} |`;
}

/** How many may be applied at once, and no test notices. Shows the others. */
async function unnoticed(workspace: Workspace, mutants: readonly Mutant[]): Promise<number> {
  const [mutant] = mutants;
  if (mutant === undefined) return 0;
  const result = await judge(workspace, asOne(mutants));
  process.stderr.write(`${mutants.length} at once: ${result.verdict} ${result.by}\n`);
  if (result.verdict === 'survived' && result.by === '') return mutants.length;
  if (mutants.length === 1) {
    console.log(row(mutant, result));
    return 0;
  }
  const half = Math.ceil(mutants.length / 2);
  const first = await unnoticed(workspace, mutants.slice(0, half));
  return first + (await unnoticed(workspace, mutants.slice(half)));
}

async function tryEach(workspace: Workspace): Promise<void> {
  const results = new Results(mutants, flags.fresh);
  const limit = performance.now() + 60_000 * Number(flags.minutes ?? 'Infinity');
  let killed = 0;
  let tried = 0;
  console.log('| Mutant | What it breaks | Killed by | s |\n|---|---|---|---|');
  for (const mutant of mutants) {
    if (performance.now() > limit) break;
    tried += 1;
    const known = results.of(mutant);
    const result = known ?? (await judge(workspace, mutant));
    if (known === undefined) results.keep(mutant, result);
    if (result.verdict === 'killed') killed += 1;
    console.log(row(mutant, result));
  }
  const left = mutants.length - tried;
  console.log(
    `\n${killed} of ${tried} killed${left === 0 ? '' : `, ${left} left for lack of time`}`,
  );
  if (killed < tried) process.exitCode = 1;
}

async function tryTogether(workspace: Workspace): Promise<void> {
  let count = 0;
  for (const group of groupsOf(mutants)) count += await unnoticed(workspace, group);
  console.log(`\n${count} of ${mutants.length} change nothing, all of a group at once`);
}

const mutants = chosen();
for (const mutant of mutants) mutated(mutant);
if (flags.list) {
  for (const { name, breaks } of mutants) console.log(`${name}\n    ${breaks}`);
} else {
  const workspace = await Workspace.open();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void workspace.close().finally(() => process.exit(130)));
  }
  try {
    await (flags.together ? tryTogether(workspace) : tryEach(workspace));
  } finally {
    await workspace.close();
  }
}
