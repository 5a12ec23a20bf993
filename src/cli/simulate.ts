// `tallybook simulate`: what a deployment would carry, asked before it is built. It needs no
// database. What is simulated, and with which costs, is in src/simulation/.

import { readFile } from 'node:fs/promises';
import { InvalidArgumentError } from 'commander';
import { UsageError } from '../config.ts';
import { systemReason } from '../core/system-failure.ts';
import type { Capacity } from '../simulation/capacity.ts';
import type { Costs } from '../simulation/costs.ts';
import type { Deployment } from '../simulation/deployment.ts';
import { group } from './command.ts';
import type { DocumentedCommand } from './help.ts';
import { show } from './output.ts';
import { reportText, type SimulationReport } from './simulate-text.ts';

interface SimulateFlags
  extends Omit<
    Deployment,
    'busiest' | 'reads' | 'cells' | 'movements' | 'oneMachine' | 'byMerchant' | 'costs'
  > {
  readonly busiest?: number;
  readonly reads?: number;
  readonly cells?: number;
  readonly movements?: number;
  readonly oneMachine?: boolean;
  readonly byMerchant?: boolean;
  readonly costs?: string;
  readonly json?: boolean;
}

/** One number of these, with where it ends. */
function numberFrom(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    const isGood = /^[0-9]+(\.[0-9]+)?$/.test(text) && value >= least && value <= most;
    if (isGood) return value;
    const range = `${least.toLocaleString('en')} to ${most.toLocaleString('en')}`;
    throw new InvalidArgumentError(`It must be a number from ${range}.`);
  };
}

function countTo(most: number): (text: string) => number {
  const check = numberFrom(1, most);
  return (text) => {
    if (/^[0-9]+$/.test(text)) return check(text);
    throw new InvalidArgumentError('It must be a whole number, 1 or more.');
  };
}

export function defineSimulate(program: DocumentedCommand): void {
  const rate = numberFrom(0, 10_000_000);
  group(program, {
    name: 'simulate',
    description:
      'Say what a deployment would carry: what is busy first and at how much more load, times of ' +
      'answers, connections, gigabytes, and the next step. It simulates with measured costs, ' +
      'and needs no database.',
    example: 'tallybook simulate --merchants 500 --writes 400 --workers 4 --cores 4',
  })
    .option('--merchants <number>', 'how many merchants', countTo(1_000_000), 100)
    .option('--writes <rate>', 'writes a second at the busiest time', rate, 100)
    .option('--reads <rate>', 'reads a second then (default: four times the writes)', rate)
    .option('--lists <share>', 'of reads, those of 50 rows', numberFrom(0, 1), 0.25)
    .option('--deliveries <rate>', 'calls of webhooks a second then', rate, 0)
    .option(
      '--busiest <share>',
      'of all requests, those of the busiest merchant (default: 0.01, or an equal share)',
      numberFrom(0.000001, 1),
    )
    .option('--nodes <number>', 'how many nodes', countTo(10_000), 1)
    .option('--workers <number>', 'processes of each node', countTo(256), 1)
    .option('--cores <number>', 'processors of each node', countTo(1_024), 4)
    .option('--servers <number>', 'PostgreSQL servers', countTo(1_000), 1)
    .option('--database-cores <number>', 'processors of each', countTo(1_024), 4)
    .option('--cells <number>', 'cells on all servers (default: one on each)', countTo(10_000))
    .option('--latency <ms>', 'a round trip from node to server', numberFrom(0, 1_000), 0.2)
    .option(
      '--standby <ms>',
      'a round trip from server to standby, if there is one',
      numberFrom(0, 1_000),
    )
    .option('--connections-max <number>', 'of each server', countTo(100_000), 100)
    .option('--one-machine', 'the server is on the one node, and shares its processors')
    .option('--by-merchant', 'a proxy sends all requests of a merchant to the same node')
    .option('--connections <number>', 'clients without pauses, instead of rates', countTo(100_000))
    .option(
      '--movements <number>',
      'movements a day, for gigabytes (default: as if the busiest second had ten times the mean)',
      numberFrom(0, 1e12),
    )
    .option('--seconds <seconds>', 'how long to simulate', numberFrom(0.1, 3_600), 10)
    .option('--seed <number>', 'equal seeds have equal results', countTo(4_294_967_295), 1)
    .option('--costs <file>', 'a JSON file of what you measured, such as {"flush": 1.2}')
    .option('--json', 'print one JSON value and nothing else')
    .action(simulateDeployment);
}

async function simulateDeployment(flags: SimulateFlags): Promise<void> {
  const deployment = deploymentOf(flags, await costsOf(flags.costs));
  const { connectionsOf, readConnectionsWith } = await import('../database/server-connections.ts');
  const { roomFor } = await import('../database/room.ts');
  const { findCapacity } = await import('../simulation/capacity.ts');
  const { sumsOf } = await import('../simulation/arithmetic.ts');
  const { nextSteps } = await import('../simulation/advice.ts');
  const room = roomFor(
    deployment.workers,
    Number.POSITIVE_INFINITY,
    readConnectionsWith(deployment.cores),
  );
  const own = { reads: room.reads, each: connectionsOf(room.reads).each };
  const capacity = findCapacity(deployment, own);
  const sums = sumsOf(deployment, capacity, room.needed);
  const steps = nextSteps(deployment, capacity, sums);
  await show(flags, reportOf(deployment, capacity, sums, steps), reportText);
}

function reportOf(
  deployment: Deployment,
  { run, factor, first, slice }: Capacity,
  sums: SimulationReport['sums'],
  next_steps: readonly string[],
): SimulationReport {
  const isClosed = deployment.connections !== undefined;
  return { deployment, slice, run, carries: isClosed ? null : factor, first, sums, next_steps };
}

function deploymentOf(flags: SimulateFlags, costs: Costs): Deployment {
  const { merchants, writes, servers, nodes } = flags;
  const { reads = 4 * writes, cells = servers } = flags;
  const { oneMachine = false, byMerchant = false } = flags;
  const { busiest = Math.max(0.01, 1 / merchants), movements = writes * 8_640 } = flags;
  if (busiest < (1 - 1e-9) / merchants) {
    throw new UsageError(`--busiest must be at least 1 ÷ --merchants: ${1 / merchants}`);
  }
  if (merchants === 1 && busiest < 1) throw new UsageError('--busiest of one merchant must be 1');
  if (cells < servers) {
    throw new UsageError('--cells must be as many as --servers: each server has one at least');
  }
  if (oneMachine && (servers > 1 || nodes > 1)) {
    throw new UsageError('--one-machine goes with one of --nodes and one of --servers');
  }
  if (flags.connectionsMax < 10) throw new UsageError('--connections-max must be 10 or more');
  if (writes + reads === 0) throw new UsageError('--writes or --reads must be more than 0');
  const { standby, connections } = flags;
  const given = { ...flags, standby, connections };
  return { ...given, reads, cells, oneMachine, byMerchant, busiest, movements, costs };
}

async function costsOf(file: string | undefined): Promise<Costs> {
  const { costsFrom } = await import('../simulation/costs.ts');
  if (file === undefined) return costsFrom('{}');
  try {
    return costsFrom(await readFile(file, 'utf8'));
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? systemReason(error) : String(error);
    throw new UsageError(`--costs ${file}: ${reason.replace(/^\w*Error: /, '')}`);
  }
}
