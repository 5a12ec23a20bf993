// What the service counts, for Prometheus: requests by route and status, latencies, batches, the
// queue, connections and database failures. Routes are templates, and only the first merchants that
// meet their limit are named, so the labels stay few.

import {
  type Aggregator,
  Counter,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  Registry,
} from 'prom-client';
import type { RequestRecord } from './server.ts';

const latencyBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Merchants that are named with the 429s they got; those of the others are counted together. */
const namedMerchantsMax = 100;

/** What became of webhooks, at all merchants and on all nodes. */
export interface WebhookReadings {
  readonly paused: Readonly<Record<string, number>>;
  readonly retries: number;
  readonly lag: number;
}

/** What is read at the moment somebody asks. */
export interface Readings {
  queued(): number;
  connections(): { readonly total: number; readonly idle: number; readonly waiting: number };
  connectionsMax(): number;
  isReady(): Promise<boolean>;
  linesLost(): number;
}

export class Metrics {
  readonly registry = new Registry();
  readonly #requests: Counter;
  readonly #latency: Histogram;
  readonly #replays: Counter;
  readonly #keyConflicts: Counter;
  readonly #rateLimited: Counter;
  readonly #namedMerchants = new Set<string>();
  readonly #batchCommands: Histogram;
  readonly #batchSeconds: Histogram;
  readonly #databaseFailures: Counter;
  readonly #deliveries = new Counter({
    name: 'tallybook_webhook_deliveries_total',
    help: 'Calls of receivers of webhooks, by what became of them.',
    labelNames: ['outcome'],
    registers: [this.registry],
  });

  constructor(version: string) {
    const registers = [this.registry];
    const counter = (name: string, help: string, labelNames: string[]) =>
      new Counter({ name, help, labelNames, registers });
    collectDefaultMetrics({ register: this.registry });
    new Gauge({
      name: 'tallybook_build_info',
      help: 'Always 1: its labels say which program runs.',
      labelNames: ['version', 'node'],
      aggregator: 'first',
      registers,
    }).set({ version, node: process.version }, 1);
    this.#requests = counter('tallybook_requests_total', 'Requests answered.', [
      'method',
      'route',
      'status',
    ]);
    this.#latency = new Histogram({
      name: 'tallybook_request_seconds',
      help: 'Time from the first byte of a request to the end of its answer.',
      labelNames: ['method', 'route'],
      buckets: latencyBuckets,
      registers,
    });
    this.#replays = counter(
      'tallybook_replays_total',
      'Writes that were sent again with their key, and answered as the first time.',
      ['method', 'route'],
    );
    this.#keyConflicts = counter(
      'tallybook_idempotency_conflicts_total',
      'Writes refused with 409 idempotency_key_reused: their key belongs to another request.',
      ['method', 'route'],
    );
    this.#rateLimited = counter(
      'tallybook_rate_limited_total',
      'Requests refused with 429. merchant is "none" before authentication, and "other" ' +
        'for those beyond the first hundred.',
      ['merchant'],
    );
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
    this.#databaseFailures = counter(
      'tallybook_database_failures_total',
      'Failures reported by the database or the connection to it.',
      ['kind'],
    );
  }

  observeRequest(record: RequestRecord): void {
    const { method, route } = record;
    this.#requests.inc({ method, route, status: String(record.status) });
    this.#latency.observe({ method, route }, record.seconds);
    if (record.replayed) this.#replays.inc({ method, route });
    if (record.problem?.code === 'idempotency_key_reused')
      this.#keyConflicts.inc({ method, route });
    if (record.status === 429) this.#rateLimited.inc({ merchant: this.#nameOf(record.merchantId) });
  }

  #nameOf(merchant: string | undefined): string {
    if (merchant === undefined) return 'none';
    if (this.#namedMerchants.size < namedMerchantsMax) this.#namedMerchants.add(merchant);
    return this.#namedMerchants.has(merchant) ? merchant : 'other';
  }

  observeBatch(type: string, commands: number, seconds: number): void {
    this.#batchCommands.observe({ type }, commands);
    this.#batchSeconds.observe({ type }, seconds);
  }

  countDatabaseFailure(kind: string): void {
    this.#databaseFailures.inc({ kind });
  }

  countDelivery(outcome: string): void {
    this.#deliveries.inc({ outcome });
  }

  /** Adds what all nodes say alike, because they read it from the database. */
  readDeliveries(read: () => Promise<WebhookReadings>): void {
    let reading: Promise<WebhookReadings | undefined> | undefined;
    // Those who ask at the same moment share one answer.
    const now = () => {
      reading ??= read()
        .catch(() => undefined)
        .finally(() => {
          reading = undefined;
        });
      return reading;
    };
    const retries = 'Events that wait for another attempt, of all active webhooks.';
    this.expose('tallybook_webhook_retries_waiting', retries, async () => {
      return (await now())?.retries ?? Number.NaN;
    });
    const lag = 'How far the active webhook that is furthest behind is behind its journal.';
    this.expose('tallybook_webhook_lag_positions', lag, async () => {
      return (await now())?.lag ?? Number.NaN;
    });
    new Gauge({
      name: 'tallybook_webhooks_paused',
      help: 'Webhooks that are not called, by why.',
      labelNames: ['reason'],
      registers: [this.registry],
      async collect() {
        const { paused = {} } = (await now()) ?? {};
        this.reset();
        for (const [reason, count] of Object.entries(paused)) this.set({ reason }, count);
      },
    });
  }

  /**
   * Adds a number that a part of the service has only when it is set up, such as a certificate.
   * @param aggregator what the numbers of several workers make
   */
  expose(
    name: string,
    help: string,
    read: () => number | Promise<number>,
    aggregator: Aggregator = 'sum',
  ): void {
    new Gauge({
      name,
      help,
      aggregator,
      registers: [this.registry],
      async collect() {
        this.set(await read());
      },
    });
  }

  readLinesLost(read: () => number): void {
    const help =
      'Lines of the log that nobody took in time: a full disk, or a reader that stopped.';
    this.exposeCounter('tallybook_log_lines_lost_total', help, read);
  }

  /** As `expose`, for what only grows. */
  exposeCounter(name: string, help: string, read: () => number): void {
    new Counter({
      name,
      help,
      registers: [this.registry],
      collect() {
        this.reset();
        this.inc(read());
      },
    });
  }

  /** Adds what is kept elsewhere, once there is something to read. */
  read(readings: Readings): void {
    const registers = [this.registry];
    const most = 'How many database connections this node may open to serve.';
    this.expose('tallybook_database_connections_max', most, () => readings.connectionsMax());
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
    this.readLinesLost(readings.linesLost);
    // Last, because it uses a connection: the numbers above are read before it asks for one.
    const ready = 'Whether the service is ready, as /readyz says: 0 or 1.';
    const isReady = async () => ((await readings.isReady().catch(() => false)) ? 1 : 0);
    this.expose('tallybook_ready', ready, isReady, 'min');
  }
}
