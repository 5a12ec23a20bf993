// What the service counts, for Prometheus: requests by route and status, latencies, batches, the
// queue, connections and database failures. Routes are templates, so the labels stay few.

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { RequestRecord } from './server.ts';

const latencyBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** What is read at the moment somebody asks. */
export interface Readings {
  queued(): number;
  connections(): { readonly total: number; readonly idle: number; readonly waiting: number };
  linesLost(): number;
}

export class Metrics {
  readonly registry = new Registry();
  readonly #requests: Counter;
  readonly #latency: Histogram;
  readonly #batchCommands: Histogram;
  readonly #batchSeconds: Histogram;
  readonly #databaseFailures: Counter;

  constructor() {
    const registers = [this.registry];
    collectDefaultMetrics({ register: this.registry });
    this.#requests = new Counter({
      name: 'tallybook_requests_total',
      help: 'Requests answered.',
      labelNames: ['method', 'route', 'status'],
      registers,
    });
    this.#latency = new Histogram({
      name: 'tallybook_request_seconds',
      help: 'Time from the first byte of a request to the end of its answer.',
      labelNames: ['method', 'route'],
      buckets: latencyBuckets,
      registers,
    });
    this.#batchCommands = new Histogram({
      name: 'tallybook_batch_commands',
      help: 'Writes per transaction.',
      labelNames: ['type'],
      buckets: [1, 2, 4, 8, 16, 32, 64, 128],
      registers,
    });
    this.#batchSeconds = new Histogram({
      name: 'tallybook_batch_seconds',
      help: 'Time of one batch of writes, repeats included.',
      labelNames: ['type'],
      buckets: latencyBuckets,
      registers,
    });
    this.#databaseFailures = new Counter({
      name: 'tallybook_database_failures_total',
      help: 'Failures reported by the database or the connection to it.',
      labelNames: ['kind'],
      registers,
    });
  }

  observeRequest(record: RequestRecord): void {
    const { method, route } = record;
    this.#requests.inc({ method, route, status: String(record.status) });
    this.#latency.observe({ method, route }, record.seconds);
  }

  observeBatch(type: string, commands: number, seconds: number): void {
    this.#batchCommands.observe({ type }, commands);
    this.#batchSeconds.observe({ type }, seconds);
  }

  countDatabaseFailure(kind: string): void {
    this.#databaseFailures.inc({ kind });
  }

  /** Adds a number that a part of the service has only when it is set up, such as a certificate. */
  expose(name: string, help: string, read: () => number): void {
    new Gauge({
      name,
      help,
      registers: [this.registry],
      collect() {
        this.set(read());
      },
    });
  }

  /** Adds what is kept elsewhere, once there is something to read. */
  read(readings: Readings): void {
    const registers = [this.registry];
    new Gauge({
      name: 'tallybook_writes_queued',
      help: 'Writes that wait for their batch.',
      registers,
      collect() {
        this.set(readings.queued());
      },
    });
    new Gauge({
      name: 'tallybook_database_connections',
      help: 'Database connections by state; waiting counts requests without one.',
      labelNames: ['state'],
      registers,
      collect() {
        for (const [state, count] of Object.entries(readings.connections())) {
          this.set({ state }, count);
        }
      },
    });
    new Counter({
      name: 'tallybook_log_lines_lost_total',
      help: 'Lines of the log that nobody took in time: a full disk, or a reader that stopped.',
      registers,
      collect() {
        this.reset();
        this.inc(readings.linesLost());
      },
    });
  }
}
