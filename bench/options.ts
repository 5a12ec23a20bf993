// What a run of the benchmark may be told on its command line. Everything is bounded, so that no
// run takes a machine for longer than one can wait.

import { parseArgs } from 'node:util';

export interface Options {
  readonly quick: boolean;
  /** How long each measurement lasts. Whole seconds: pgbench and wrk know no others. */
  readonly seconds: number;
  readonly warmUpSeconds: number;
  /** How often every measurement of the service is repeated, in turn with all others. */
  readonly rounds: number;
  /** The raw figures are measured in this many of the rounds, the first ones. */
  readonly rawRounds: number;
  readonly connections: readonly number[];
  /** Numbers of database clients for the raw figures; the best one counts. */
  readonly rawClients: readonly number[];
  /** Names of cases; empty: all. */
  readonly cases: readonly string[];
  readonly products: number;
  readonly load: 'wrk' | 'node' | undefined;
  readonly raw: 'pgbench' | 'loop' | undefined;
  /** Afterwards, list the statements that took most of the database's time. */
  readonly statements: boolean;
  /** Write a processor profile of the service beside the results. It costs some of the speed. */
  readonly profile: boolean;
}

export const usage = `Usage: npm run bench -- [options]

  --quick              a run of less than a minute
  --seconds N          per measurement, 1 to 60 (default 3; quick 1)
  --rounds N           repetitions, 1 to 20 (default 3; quick 2)
  --connections A,B    HTTP connections, each 1 to 256 (default 1,64)
  --clients A,B        database clients of the raw figures, each 1 to 90
                       (default 16,32,64; quick 32)
  --cases A,B          only these, such as adjust-spread,get-product
  --products N         how many products with a level, 100 to 900000 (default 10000)
  --load wrk|node      the load generator (default: wrk when installed)
  --raw pgbench|loop   the raw driver (default: pgbench when installed)
  --statements         then list the costliest statements of each case
  --profile            write a processor profile of the service beside the results
  --help
`;

/** @throws Error saying what is wrong. Undefined: only help was asked for. */
export function readOptions(argv: readonly string[]): Options | undefined {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      quick: { type: 'boolean', default: false },
      seconds: { type: 'string' },
      rounds: { type: 'string' },
      connections: { type: 'string' },
      clients: { type: 'string' },
      cases: { type: 'string' },
      products: { type: 'string' },
      load: { type: 'string' },
      raw: { type: 'string' },
      statements: { type: 'boolean', default: false },
      profile: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return undefined;
  const { quick } = values;
  const rounds = numberOf('--rounds', values.rounds ?? (quick ? '2' : '3'), 1, 20);
  return {
    quick,
    seconds: numberOf('--seconds', values.seconds ?? (quick ? '1' : '3'), 1, 60),
    warmUpSeconds: quick ? 1 : 2,
    rounds,
    rawRounds: quick ? 1 : rounds,
    connections: numbersOf('--connections', values.connections ?? '1,64', 256),
    rawClients: numbersOf('--clients', values.clients ?? (quick ? '32' : '16,32,64'), 90),
    cases: values.cases?.split(',') ?? [],
    products: numberOf('--products', values.products ?? '10000', 100, 900_000),
    load: oneOf('--load', values.load, ['wrk', 'node']),
    raw: oneOf('--raw', values.raw, ['pgbench', 'loop']),
    statements: values.statements,
    profile: values.profile,
  };
}

function numbersOf(name: string, text: string, most: number): number[] {
  const numbers = [...new Set(text.split(',').map((part) => numberOf(name, part, 1, most)))];
  if (numbers.length > 8) throw new Error(`${name} takes at most 8 numbers`);
  return numbers.sort((a, b) => a - b);
}

function numberOf(name: string, text: string, least: number, most: number): number {
  const number = /^[0-9]{1,6}$/.test(text) ? Number(text) : -1;
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
