// Drives load with autocannon, in a process of its own. Its own latencies are whole milliseconds;
// those here are taken from its events. What is under way at its end is dropped.

import autocannon from 'autocannon';
import { type Measured, measured } from '../measure.ts';
import { serveJobs } from '../worker-process.ts';
import { filler, type LoadPlan, type RequestTemplate } from './template.ts';

export interface LoadJob {
  readonly origin: string;
  readonly plan: LoadPlan;
  readonly connections: number;
  readonly seconds: number;
  readonly firstCount: number;
}

/** The service answers every request within ten seconds. */
const answerLimitSeconds = 12;
/** The service ends a connection after 10,000 requests; autocannon would miscount at that. */
const requestsPerConnection = 9_000;

serveJobs<LoadJob>(async ({ origin, plan, connections, seconds, firstCount }) => {
  const next = filler(plan, firstCount);
  const tally = new Tally();
  const latencies: number[] = [];
  const options: autocannon.Options = {
    url: origin,
    connections,
    duration: seconds,
    timeout: answerLimitSeconds,
    reconnectRate: requestsPerConnection,
    requests: [
      {
        // The context is the connection's, and lives from a request to its answer.
        setupRequest: (request, context) => {
          const { template, method, path, headers, body } = next();
          Object.assign(context, { template });
          return Object.assign(request, { method, path, headers, body });
        },
        onResponse: (status, body, context, headers) => {
          const { template } = context as { template: RequestTemplate };
          tally.add(template, status, body, Object.keys(headers ?? {}));
        },
      },
    ],
  };
  const { duration, errors, timeouts } = await new Promise<autocannon.Result>((resolve, reject) => {
    const instance = autocannon(options, (error, result) =>
      error === null ? resolve(result) : reject(error),
    );
    instance.on('response', (_client, _status, _bytes, time) => latencies.push(time));
  });
  return tally.result(Float64Array.from(latencies), duration, errors + timeouts);
});

class Tally {
  #good = 0;
  #movements = 0;
  #bad = 0;
  #firstBad: string | undefined;

  add(template: RequestTemplate, status: number, body: string, headers: readonly string[]): void {
    const isReplay = headers.some((name) => name.toLowerCase() === 'idempotent-replayed');
    if (status < 200 || status > 299 || isReplay !== (template.answer === 'replay')) {
      this.#bad += 1;
      this.#firstBad ??= `${status}${isReplay ? ', a replay' : ''}: ${body.slice(0, 1_000)}`;
      return;
    }
    this.#good += 1;
    if (template.answer === 'movement') this.#movements += 1;
  }

  result(latencies: Float64Array, seconds: number, broken: number): Measured {
    const errors = this.#bad + broken;
    return measured(latencies, {
      seconds,
      total: this.#good,
      movements: this.#movements,
      errors,
      firstError: errors === 0 ? undefined : (this.#firstBad ?? 'a connection broke'),
    });
  }
}
