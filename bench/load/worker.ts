// The load generator's own process: a closed loop, each connection sending its next request as soon
// as it has the answer. What is under way at the end is waited for, so every write is known.

import { setTimeout as sleep } from 'node:timers/promises';
import { type Measured, measured } from '../measure.ts';
import { serveJobs } from '../worker-process.ts';
import { Connection } from './connection.ts';
import { messages, type RequestTemplate, type Target } from './template.ts';

export interface LoadJob {
  readonly target: Target;
  readonly template: RequestTemplate;
  readonly connections: number;
  readonly seconds: number;
  readonly firstCount: number;
}

/** The service answers every request within ten seconds. */
const answerLimitMs = 12_000;
const errorsMax = 1_000;

serveJobs<LoadJob>(async ({ target, template, connections, seconds, firstCount }) => {
  const run = new Run(messages(template, target, firstCount), seconds * 1_000);
  const all = Array.from({ length: connections }, () => run.connection(target));
  await Promise.all(all.map((connection) => connection.open()));
  run.start();
  for (const connection of all) connection.send();
  await sleep(seconds * 1_000);
  const giveUp = performance.now() + answerLimitMs;
  while (all.some((connection) => connection.isBusy) && performance.now() < giveUp) await sleep(5);
  for (const connection of all) {
    if (connection.isBusy) run.fail('no answer');
    connection.close();
  }
  return run.result(seconds);
});

class Run {
  readonly #make: () => string;
  readonly #windowMs: number;
  readonly #latencies: number[] = [];
  #end = 0;
  #total = 0;
  #errors = 0;
  #firstError: string | undefined;

  constructor(make: () => string, windowMs: number) {
    this.#make = make;
    this.#windowMs = windowMs;
  }

  start(): void {
    this.#end = performance.now() + this.#windowMs;
  }

  connection(target: Target): Connection {
    let sentAt = 0;
    return new Connection(target, {
      next: () => {
        sentAt = performance.now();
        return sentAt < this.#end && this.#errors < errorsMax ? this.#make() : undefined;
      },
      answered: (status, text) => {
        const now = performance.now();
        if (text !== undefined) this.fail(`${status}: ${text}`);
        else this.#count(now - sentAt, now);
      },
      broke: (reason) => this.fail(reason),
    });
  }

  #count(latency: number, now: number): void {
    this.#total += 1;
    if (now <= this.#end) this.#latencies.push(latency);
  }

  fail(reason: string): void {
    this.#errors += 1;
    this.#firstError ??= reason;
  }

  result(seconds: number): Measured {
    return measured(Float64Array.from(this.#latencies), {
      seconds,
      total: this.#total,
      errors: this.#errors,
      firstError: this.#firstError,
    });
  }
}
