// Drives load with wrk: one thread, because the service and the database need the other cores.

import { fileURLToPath } from 'node:url';
import type { Measured } from '../measure.ts';
import { runProgram } from '../setup/program.ts';
import { idempotencyKey } from './template.ts';
import type { LoadJob } from './worker.ts';

const script = fileURLToPath(new URL('./wrk.lua', import.meta.url));

interface WrkResult {
  readonly requests: number;
  readonly microseconds: number;
  readonly p50: number;
  readonly p99: number;
  readonly status: number;
  readonly connect: number;
  readonly read: number;
  readonly write: number;
  readonly timeout: number;
}

export async function runWrk(wrk: string, job: LoadJob): Promise<Measured> {
  const { target, template, connections, seconds, firstCount } = job;
  const { method, path, body = '' } = template;
  const output = await runProgram(
    wrk,
    [
      ...['--threads', '1', '--connections', String(connections)],
      ...['--duration', `${seconds}s`, '--timeout', '12s', '--script', script],
      `http://${target.host}:${target.port}`,
      ...['--', method, path, body, idempotencyKey],
      ...[String(firstCount), String(target.products), target.token],
    ],
    { limitMs: seconds * 1_000 + 20_000 },
  );
  const [, json] = /^RESULT (.*)$/m.exec(output) ?? [];
  if (json === undefined) throw new Error(`wrk printed no result: ${output.slice(0, 500)}`);
  return measuredByWrk(JSON.parse(json) as WrkResult);
}

function measuredByWrk(result: WrkResult): Measured {
  const { requests, microseconds, p50, p99, status, connect, read, write, timeout } = result;
  const errors = status + connect + read + write + timeout;
  const kinds = JSON.stringify({ status, connect, read, write, timeout });
  return {
    requests: requests - status,
    seconds: microseconds / 1_000_000,
    total: requests - status,
    p50Ms: p50 / 1_000,
    p99Ms: p99 / 1_000,
    errors,
    firstError: errors === 0 ? undefined : `wrk counted ${kinds}; --load node shows the answers`,
  };
}
