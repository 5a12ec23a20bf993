// Clients that keep to an even pace whatever the answers take, as a shop's tills do. What a request
// took is counted from when it was due, so that a service that stands still is not flattered.

import { Agent, request } from 'node:http';
import { type FilledRequest, filler, type LoadPlan } from '../load/template.ts';
import { median } from '../measure.ts';

export interface Observed {
  /** Answered with 2xx. */
  readonly accepted: number;
  /** Answered with 429 or 503, which say when to come back. */
  readonly refused: number;
  /** Anything else, and why. */
  readonly broken: readonly string[];
  readonly p50Ms: number;
  /** The median of the p99 of each second: one slow second of a machine is not the service. */
  readonly p99Ms: number;
}

const agent = new Agent({ keepAlive: true, maxSockets: 128 });
let firstCount = 2_000_000_000;

export async function steady(
  origin: string,
  plan: LoadPlan,
  perSecond: number,
  seconds: number,
): Promise<Observed> {
  firstCount += 1_000_000;
  const next = filler(plan, firstCount);
  const counts = { accepted: 0, refused: 0 };
  const broken: string[] = [];
  const latencies: number[][] = Array.from({ length: seconds }, () => []);
  const begin = performance.now();
  const asked = Array.from({ length: perSecond * seconds }, async (_, index) => {
    const due = begin + (index * 1_000) / perSecond;
    await new Promise((resolve) => setTimeout(resolve, due - performance.now()));
    const found = await ask(origin, next()).catch((error: Error) => error.message);
    if (typeof found === 'string') {
      broken.push(found);
    } else if (found.status >= 200 && found.status < 300) {
      counts.accepted += 1;
      latencies[Math.floor(index / perSecond)]?.push(performance.now() - due);
    } else if (found.status === 429 || found.status === 503) {
      counts.refused += 1;
    } else {
      broken.push(`it answered ${found.status}`);
    }
  });
  await Promise.all(asked);
  const all = latencies.flat();
  return {
    ...counts,
    broken,
    p50Ms: quantile(all, 0.5),
    p99Ms: median(latencies.map((second) => quantile(second, 0.99))),
  };
}

interface Heard {
  readonly status: number;
  /** The seconds of Retry-After, 0 when nothing is said. */
  readonly retryAfter: number;
}

export function ask(origin: string, filled: FilledRequest): Promise<Heard> {
  const { method, path, headers, body } = filled;
  return new Promise((resolve, reject) => {
    const length = { 'Content-Length': Buffer.byteLength(body ?? '') };
    const all = body === undefined ? headers : { ...headers, ...length };
    const sent = request(`${origin}${path}`, { agent, method, headers: all }, (response) => {
      const { statusCode: status = 0 } = response;
      const retryAfter = Number(response.headers['retry-after'] ?? 0);
      response.resume();
      response.once('end', () => resolve({ status, retryAfter }));
      response.once('error', reject);
    });
    sent.once('error', reject);
    sent.end(body);
  });
}

function quantile(numbers: readonly number[], share: number): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.POSITIVE_INFINITY;
}
