// Drives load with wrk: one thread, because the service and the database need the other cores.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Measured } from '../measure.ts';
import { runProgram } from '../setup/program.ts';
import type { LoadPlan } from './template.ts';
import type { LoadJob } from './worker.ts';

const script = fileURLToPath(new URL('./wrk.lua', import.meta.url));

interface WrkResult {
  readonly requests: number;
  readonly microseconds: number;
  readonly p50: number;
  readonly p99: number;
  readonly movements: number;
  /** Answers that should have been replays. */
  readonly unlike: number;
  readonly status: number;
  readonly connect: number;
  readonly read: number;
  readonly write: number;
  readonly timeout: number;
}

/** @param directory where the plan is left for wrk to read: it holds tokens. */
export async function runWrk(wrk: string, directory: string, job: LoadJob): Promise<Measured> {
  const { origin, plan, connections, seconds, firstCount } = job;
  const { products, movements, usedKeys } = plan.numbers;
  const watch = watched(plan);
  const path = join(directory, 'wrk-plan.txt');
  await writeFile(path, lines(plan), { mode: 0o600 });
  const output = await runProgram(
    wrk,
    [
      ...['--threads', '1', '--connections', String(connections)],
      ...['--duration', `${seconds}s`, '--timeout', '12s', '--script', script, origin],
      ...['--', path, ...[firstCount, products, movements, usedKeys].map(String), watch],
    ],
    { limitMs: seconds * 1_000 + 20_000 },
  );
  const [, json] = /^RESULT (.*)$/m.exec(output) ?? [];
  if (json === undefined) throw new Error(`wrk printed no result: ${output.slice(0, 500)}`);
  return measuredByWrk(JSON.parse(json) as WrkResult, plan);
}

function lines({ requests, callers }: LoadPlan): string {
  const all = [
    ...callers.map(({ token, location, productPrefix }) =>
      ['caller', token, location, productPrefix].join('\t'),
    ),
    ...requests.map(({ weight, template: { method, path, key = '', body = '' } }) =>
      ['request', weight, method, path, key, body].join('\t'),
    ),
  ];
  return `${all.join('\n')}\n`;
}

/** What only the answers tell. Where all requests are alike, their number tells it. */
function watched({ requests }: LoadPlan): 'nothing' | 'movements' | 'replays' {
  const answers = new Set(requests.map(({ template }) => template.answer));
  if (answers.size > 1) return 'movements';
  return answers.has('replay') ? 'replays' : 'nothing';
}

function measuredByWrk(result: WrkResult, { requests }: LoadPlan): Measured {
  const { microseconds, p50, p99, status, connect, read, write, timeout, unlike } = result;
  const total = result.requests - status;
  const isAllMovements = requests.every(({ template }) => template.answer === 'movement');
  const errors = status + connect + read + write + timeout + unlike;
  const kinds = JSON.stringify({ status, connect, read, write, timeout, notReplayed: unlike });
  return {
    requests: total,
    seconds: microseconds / 1_000_000,
    total,
    movements: isAllMovements ? total : result.movements,
    p50Ms: p50 / 1_000,
    p99Ms: p99 / 1_000,
    errors,
    firstError: errors === 0 ? undefined : `wrk: ${kinds}; --load autocannon shows the answers`,
  };
}
