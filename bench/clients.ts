// Clients that `npm run floods` sends besides the load driver: some at an even pace, some idle,
// some slow in every way there is, and all of them at once after a crash.

import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import type pg from 'pg';
import { productDigits } from '../test/kit/many-rows.ts';
import type { LoadPlan } from './load.ts';
import { median } from './measure.ts';
import type { HttpProcess } from './servers.ts';

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

function ask(origin: string, filled: FilledRequest): Promise<Heard> {
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

export interface Clients {
  /** Connections that the service has closed so far. */
  readonly cutOff: number;
  /** Those that could not be made. */
  readonly failed: number;
  leave(): void;
}

/** What a client says first, and then every half second. */
interface Manner {
  readonly first: string;
  readonly later: string;
}

const head = 'POST /api/v1/inventory/adjustments HTTP/1.1\r\nHost: x\r\n';

const slowManners: readonly Manner[] = [
  { first: '', later: '' },
  { first: 'GET /api', later: '' },
  { first: `${head}X-Slow: `, later: 'a' },
  { first: `${head}Content-Length: 60000\r\n\r\n`, later: ' ' },
];

const idleManner: Manner = { first: 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n', later: '' };

export const slowClients = (origin: string, count: number) => gather(origin, count, slowManners);
export const idleClients = (origin: string, count: number) => gather(origin, count, [idleManner]);

async function gather(origin: string, count: number, manners: readonly Manner[]): Promise<Clients> {
  const { hostname, port } = new URL(origin);
  const open = new Set<Socket>();
  const counts = { cutOff: 0, failed: 0 };
  let stays = true;
  const join = (manner: Manner, joined: () => void) => {
    const socket = connect(Number(port), hostname, () => {
      open.add(socket);
      socket.write(manner.first);
      joined();
    });
    const dripping = setInterval(() => manner.later !== '' && socket.write(manner.later), 500);
    socket.resume();
    socket.on('error', () => undefined);
    socket.once('close', () => {
      clearInterval(dripping);
      if (open.delete(socket)) counts.cutOff += stays ? 1 : 0;
      else counts.failed += 1;
      joined();
      if (stays) setTimeout(() => stays && join(manner, () => undefined), 100);
    });
  };
  for (let left = count; left > 0; left -= 200) {
    const some = Array.from({ length: Math.min(left, 200) }, (_, index) => {
      const manner = manners[index % manners.length] ?? idleManner;
      return new Promise<void>((resolve) => join(manner, resolve));
    });
    await Promise.all(some);
  }
  return Object.assign(counts, {
    leave: () => {
      stays = false;
      for (const socket of open) socket.destroy();
    },
  });
}

export interface Storm {
  readonly clients: number;
  /** From the moment that the service listens again until the last client has its answer. */
  readonly milliseconds: number;
  /** How often anybody had to try again after that moment. */
  readonly retries: number;
  /** Writes without exactly one movement. */
  readonly wrong: number;
}

const firstTarget = 3_000_000_000;
/** Whoever finds nobody is told nothing, and tries again soon. */
const nobody = { status: 0, retryAfter: 0.2 };

/** @param plan of adjustments: each request has a key and a target of its own. */
export async function storm(
  owner: pg.Client,
  plan: LoadPlan,
  clients: number,
  service: HttpProcess,
  restart: () => Promise<HttpProcess>,
): Promise<Storm> {
  const next = filler(plan, firstTarget);
  const { origin } = service;
  let returned = Number.POSITIVE_INFINITY;
  let retries = 0;
  const insist = async (): Promise<void> => {
    const filled = next();
    for (;;) {
      const { status, retryAfter } = await ask(origin, filled).catch(() => nobody);
      if (status === 201) return;
      if (performance.now() > returned) retries += 1;
      await new Promise((resolve) => setTimeout(resolve, retryAfter * 1_000));
    }
  };
  // Two rounds: the second is under way, or about to begin, when it happens.
  const all = Array.from({ length: clients }, () => insist().then(insist));
  await Promise.race(all.slice(0, 20));
  process.kill(service.pid, 'SIGKILL');
  await restart();
  returned = performance.now();
  await Promise.all(all);
  const milliseconds = performance.now() - returned;
  const { rows } = await owner.query<{ wrong: number }>(
    `select count(*)::int as wrong from generate_series($1::bigint, $2::bigint) target
     where (select count(*) from inventory_movements where quantity_after = target) <> 1`,
    [firstTarget + 1, firstTarget + 2 * clients],
  );
  return { clients, milliseconds, retries, wrong: rows[0]?.wrong ?? -1 };
}

interface FilledRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/** @returns what makes the next request of a plan, with the next count, as `wrk.lua` does. */
function filler({ callers, requests, numbers }: LoadPlan, firstCount: number) {
  let count = firstCount;
  return (): FilledRequest => {
    count += 1;
    const { token, location, productPrefix: prefix } = oneOf(callers);
    const { method, path, body, key } = oneOf(requests).template;
    const product = 1 + Math.floor(Math.random() * numbers.products);
    const digits = String(product).padStart(productDigits, '0');
    const holes: Record<string, string> = { location, prefix, product: digits, count: `${count}` };
    const fill = (text: string) => text.replace(/\{([a-z]+)\}/g, (_, hole) => holes[hole] ?? '');
    const headers: Record<string, string> = { Authorization: `Bearer ${token}` };
    if (key !== undefined) headers['Idempotency-Key'] = fill(key);
    if (body !== undefined) headers['Content-Type'] = 'application/json';
    return { method, path: fill(path), headers, body: body === undefined ? body : fill(body) };
  };
}

function oneOf<Item>(items: readonly Item[]): Item {
  const item = items[Math.floor(Math.random() * items.length)];
  if (item === undefined) throw new Error('there is nothing to choose from');
  return item;
}
