// Drives load with wrk, in one thread because the service and the database need the other cores.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runProgram } from '../test/kit/program.ts';
import { requireProgram } from './servers.ts';

/**
 * A request as a text with holes:
 *   {count}     a number that is never used twice in a run, and only grows;
 *   {used}      six digits, one of the keys that were used before the measurements began;
 *   {product}, {movement}   digits that name one of them at random, another in each hole;
 *   {location}, {prefix}    of the merchant that asks, one of several at random.
 */
export interface RequestTemplate {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** JSON in ASCII, for a POST, and its Idempotency-Key. */
  readonly body?: string;
  readonly key?: string;
  /** The compression it asks for. */
  readonly coding?: 'br' | 'gzip';
  /** What a good answer is: a movement recorded, a replay, or anything else. */
  readonly answer: 'movement' | 'replay' | 'other';
}

/** Who asks: each request is one merchant's, with its own token. */
export interface Caller {
  readonly token: string;
  readonly location: string;
  /** What comes before the digits in the ID of a product. */
  readonly productPrefix: string;
}

/** What is asked, of whom, and how often: with weight 2 twice as often as with weight 1. */
export interface LoadPlan {
  readonly requests: readonly { readonly weight: number; readonly template: RequestTemplate }[];
  readonly callers: readonly Caller[];
  /** How many there are of what a request names at random. They are numbered from 1. */
  readonly numbers: {
    readonly products: number;
    readonly movements: number;
    readonly usedKeys: number;
  };
}

/** One measurement, of the service or of the database alone. */
export interface Measured {
  /** Completed within the window. */
  readonly requests: number;
  readonly seconds: number;
  /** Completed at all, outside of the window too: what processor time is divided by. */
  readonly total: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Answers that were not 2xx, replays that were none, broken and silent connections. */
  readonly errors: number;
  readonly firstError: string | undefined;
}

/** Far more than one measurement can send, so that no two share a count. */
const countsPerRun = 10_000_000;
/** Above every quantity that the data begins with, and long enough for a key. */
const firstCount = 1_000_000_000;
const script = fileURLToPath(new URL('./wrk.lua', import.meta.url));

interface WrkResult {
  readonly requests: number;
  readonly microseconds: number;
  readonly p50: number;
  readonly p99: number;
  readonly movements: number;
  /** Answers that should have been replays. */
  readonly unlike: number;
  readonly broken: Readonly<Record<string, number>>;
}

export class Load {
  /** Movements that were recorded so far, as the answers said. */
  movements = 0;
  /** At most so many more were recorded: what is not answered at the end of a run is dropped. */
  dropped = 0;
  #runs = 0;
  readonly #directory: string;

  /** @param directory where wrk finds its plan, which holds tokens. */
  constructor(directory: string) {
    this.#directory = directory;
  }

  async run(origin: string, plan: LoadPlan, connections: number, seconds: number) {
    this.#runs += 1;
    const path = join(this.#directory, `plan-${this.#runs}.txt`);
    await writeFile(path, linesOf(plan), { mode: 0o600 });
    const { products, movements, usedKeys } = plan.numbers;
    const numbers = [firstCount + this.#runs * countsPerRun, products, movements, usedKeys];
    const output = await runProgram(
      requireProgram('wrk'),
      [
        ...['--threads', '1', '--connections', String(connections)],
        ...['--duration', `${seconds}s`, '--timeout', '12s', '--script', script, origin],
        ...['--', path, ...numbers.map(String), watchedOf(plan)],
      ],
      { limitMs: seconds * 1_000 + 20_000 },
    );
    const [, json] = /^RESULT (.*)$/m.exec(output) ?? [];
    if (json === undefined) throw new Error(`wrk printed no result: ${output.slice(0, 500)}`);
    const result = JSON.parse(json) as WrkResult;
    this.movements += isOnly(plan, 'movement') ? good(result) : result.movements;
    this.dropped += connections;
    return measuredBy(result);
  }
}

function linesOf({ requests, callers }: LoadPlan): string {
  const lines = [
    ...callers.map(({ token, location, productPrefix }) => [
      ...['caller', token, location, productPrefix],
    ]),
    ...requests.map(({ weight, template }) => {
      const { method, path, key = '', body = '', coding = '' } = template;
      return ['request', weight, method, path, key, body, coding];
    }),
  ];
  return `${lines.map((fields) => fields.join('\t')).join('\n')}\n`;
}

/** What only the answers say. Where all requests are alike, their number says it. */
function watchedOf(plan: LoadPlan): 'nothing' | 'movements' | 'replays' {
  if (isOnly(plan, 'replay')) return 'replays';
  const records = plan.requests.some(({ template }) => template.answer === 'movement');
  return records && !isOnly(plan, 'movement') ? 'movements' : 'nothing';
}

function isOnly({ requests }: LoadPlan, answer: RequestTemplate['answer']): boolean {
  return requests.every(({ template }) => template.answer === answer);
}

const errorsOf = ({ broken, unlike }: WrkResult) =>
  Object.values(broken).reduce((sum, count) => sum + count, unlike);

const good = (result: WrkResult) => result.requests - (result.broken.status ?? 0);

function measuredBy(result: WrkResult): Measured {
  const errors = errorsOf(result);
  return {
    requests: good(result) - result.unlike,
    seconds: result.microseconds / 1e6,
    total: result.requests,
    p50Ms: result.p50 / 1_000,
    p99Ms: result.p99 / 1_000,
    errors,
    firstError: errors === 0 ? undefined : `wrk counted ${JSON.stringify(result)}`,
  };
}
