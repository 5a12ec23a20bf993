// What a run of the benchmark may be told on its command line. Everything is bounded, so that no
// run takes a machine for longer than one can wait.

import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { caseNames } from './cases/cases.ts';
import { type GeneratorName, generators } from './load/generator.ts';

/** Where runs leave what they found. */
export const resultsDirectory = fileURLToPath(new URL('./results/', import.meta.url));

/** How much is measured, and how often. */
export interface Pace {
  /** How long each measurement lasts. Whole seconds: pgbench and wrk know no others. */
  readonly seconds: number;
  readonly warmUpSeconds: number;
  /** How often every measurement is repeated, in turn with all others. */
  readonly rounds: number;
  /** The raw figures are measured in this many of the rounds, the first ones. */
  readonly rawRounds: number;
  readonly connections: readonly number[];
  /** Numbers of database clients for the raw figures; the best one counts. Reads take the first. */
  readonly rawClients: readonly number[];
}

export interface Growth {
  readonly pace: Pace;
  /** Names of cases; empty: all. */
  readonly cases: readonly string[];
  /** Numbers of movements, rising. Of everything else there are as many, but no more than this. */
  readonly sizes: readonly number[];
  readonly othersMax: number;
  /** The page that is compared with the first, where a list has as many. */
  readonly page: number;
  /** How often both pages are asked for, in turn. */
  readonly pageRounds: number;
}

export interface Options {
  readonly quick: boolean;
  readonly parts: readonly PartName[];
  readonly pace: Pace;
  readonly growth: Growth;
  /** Names of cases; empty: all. */
  readonly cases: readonly string[];
  /** Of the merchant that most cases are about. */
  readonly products: number;
  /** How many there are in the cases about many. */
  readonly merchants: number;
  readonly load: GeneratorName | undefined;
  readonly raw: 'pgbench' | 'loop' | undefined;
  /** Whether requests are logged, as they are by default in service. */
  readonly isLogged: boolean;
  /** Afterwards, list the statements that took most of the database's time. */
  readonly statements: boolean;
  /** Write a processor profile of the service beside the results. It costs some of the speed. */
  readonly profile: boolean;
}

const partNames = ['cases', 'growth'] as const;
export type PartName = (typeof partNames)[number];

export const usage = `Usage: npm run bench -- [options]

  --quick              few cases and small sizes, in less than three minutes
  --only cases|growth  one part of the run
  --cases A,B          only these cases, such as adjust-spread,get-product
  --seconds N          per measurement, 1 to 60 (default 2; quick 1)
  --rounds N           repetitions, 1 to 20 (default 5, growth 3; quick 2, growth 1)
  --connections A,B    HTTP connections, each 1 to 256 (default 1,16,64,256; quick 1,64)
  --clients A,B        database clients of the raw figures, each 1 to 90
                       (default 16,32,64; quick 32)
  --products N         how many products with a level, 100 to 900000
                       (default 100000; quick 10000)
  --sizes A,B          movements to grow to, each 1000 to 10000000
                       (default 10000,1000000,10000000; quick 10000,80000)
  --load wrk|autocannon  the load generator (default: wrk when installed)
  --raw pgbench|loop   the raw driver (default: pgbench when installed)
  --log info|warn      at info, the default, servers log every request
  --statements         then list the costliest statements of each case
  --profile            write a processor profile of the service beside the results
  --help
`;

const flags = {
  quick: { type: 'boolean', default: false },
  only: { type: 'string' },
  cases: { type: 'string' },
  seconds: { type: 'string' },
  rounds: { type: 'string' },
  connections: { type: 'string' },
  clients: { type: 'string' },
  products: { type: 'string' },
  sizes: { type: 'string' },
  load: { type: 'string' },
  raw: { type: 'string' },
  log: { type: 'string' },
  statements: { type: 'boolean', default: false },
  profile: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const;

/** @throws Error saying what is wrong. Undefined: only help was asked for. */
export function readOptions(argv: readonly string[]): Options | undefined {
  const { values } = parseArgs({ args: [...argv], options: flags });
  if (values.help) return undefined;
  const { quick } = values;
  const rounds = numberOf('--rounds', values.rounds ?? (quick ? '2' : '5'), 1, 20);
  const pace: Pace = {
    seconds: numberOf('--seconds', values.seconds ?? (quick ? '1' : '2'), 1, 60),
    warmUpSeconds: quick ? 1 : 2,
    rounds,
    rawRounds: quick ? 1 : rounds,
    connections: numbersOf('--connections', values.connections ?? (quick ? '1,64' : everyCount), {
      least: 1,
      most: 256,
    }),
    rawClients: numbersOf('--clients', values.clients ?? (quick ? '32' : '16,32,64'), {
      least: 1,
      most: 90,
    }),
  };
  const part = oneOf('--only', values.only, partNames);
  return {
    quick,
    parts: part === undefined ? partNames : [part],
    pace,
    growth: growthOf(quick, pace, values),
    cases: casesOf(values.cases, quick ? quickCases : []),
    products: numberOf('--products', values.products ?? (quick ? '10000' : '100000'), 100, 900_000),
    merchants: quick ? 64 : 1_000,
    load: oneOf('--load', values.load, generators),
    raw: oneOf('--raw', values.raw, ['pgbench', 'loop']),
    isLogged: oneOf('--log', values.log, ['info', 'warn']) !== 'warn',
    statements: values.statements,
    profile: values.profile,
  };
}

const everyCount = '1,16,64,256';
const quickCases = [
  ...['adjust-spread', 'adjust-one', 'create-customer', 'list-products', 'get-product'],
  ...['bare-route', 'adjust-few-merchants'],
];
const quickGrowthCases = ['adjust-spread', 'list-products', 'get-product'];

function growthOf(
  quick: boolean,
  pace: Pace,
  values: {
    readonly cases?: string | undefined;
    readonly rounds?: string | undefined;
    readonly sizes?: string | undefined;
  },
): Growth {
  const fewer = quick ? 1 : 3;
  const rounds = values.rounds === undefined ? fewer : pace.rounds;
  const sizes = values.sizes ?? (quick ? '10000,80000' : '10000,1000000,10000000');
  return {
    pace: { ...pace, rounds, rawRounds: rounds, connections: [64], rawClients: [32] },
    sizes: numbersOf('--sizes', sizes, { least: 1_000, most: 10_000_000 }),
    cases: casesOf(values.cases, quick ? quickGrowthCases : []),
    othersMax: quick ? 40_000 : 1_000_000,
    page: 5_000,
    pageRounds: 100,
  };
}

function casesOf(text: string | undefined, others: readonly string[]): readonly string[] {
  const names = text?.split(',') ?? others;
  const known: readonly string[] = [...caseNames.one, ...caseNames.many];
  const unknown = names.find((name) => !known.includes(name));
  if (unknown === undefined) return names;
  throw new Error(`there is no case "${unknown}"; there are ${known.join(', ')}`);
}

function numbersOf(
  name: string,
  text: string,
  { least, most }: { readonly least: number; readonly most: number },
): number[] {
  const numbers = [...new Set(text.split(',').map((part) => numberOf(name, part, least, most)))];
  if (numbers.length > 8) throw new Error(`${name} takes at most 8 numbers`);
  return numbers.sort((a, b) => a - b);
}

function numberOf(name: string, text: string, least: number, most: number): number {
  const number = /^[0-9]{1,8}$/.test(text) ? Number(text) : -1;
  if (number >= least && number <= most) return number;
  throw new Error(`${name} must be a number from ${least} to ${most}`);
}

function oneOf<Name extends string>(
  option: string,
  text: string | undefined,
  names: readonly Name[],
): Name | undefined {
  const name = names.find((known) => known === text);
  if (name === undefined && text !== undefined) {
    throw new Error(`${option} must be one of ${names.join(', ')}`);
  }
  return name;
}
