// The raw figures without pgbench: clients of the `pg` driver, each sending the same prepared
// statement again as soon as it has the answer.

import pg from 'pg';
import { type Measured, measured } from '../measure.ts';
import { serveJobs } from '../worker-process.ts';
import { numbered, type RawStatement, writable } from './statement.ts';

export interface LoopJob {
  readonly url: string;
  readonly statement: RawStatement;
  readonly clients: number;
  readonly seconds: number;
  readonly rampSeconds: number;
}

serveJobs<LoopJob>(async (job) => {
  const { statement, seconds } = job;
  const clients = Array.from(
    { length: job.clients },
    () =>
      new pg.Client({
        connectionString: job.url,
        application_name: 'bench raw',
        options: writable,
      }),
  );
  for (const client of clients) client.on('error', () => undefined);
  const { text, names } = numbered(statement);
  const latencies: number[] = [];
  const counts = { seconds, total: 0, errors: 0, firstError: undefined as string | undefined };
  try {
    await Promise.all(clients.map((client) => client.connect()));
    const from = performance.now() + job.rampSeconds * 1_000;
    const until = from + seconds * 1_000;
    const loop = async (client: pg.Client) => {
      for (let sentAt = performance.now(); sentAt < until; sentAt = performance.now()) {
        await client.query({ name: 'raw', text, values: valuesOf(statement, names) });
        const now = performance.now();
        counts.total += 1;
        if (now >= from && now <= until) latencies.push(now - sentAt);
      }
    };
    const ends = await Promise.allSettled(clients.map(loop));
    const failed = ends.filter((end) => end.status === 'rejected');
    counts.errors = failed.length;
    counts.firstError = failed.length === 0 ? undefined : String(failed[0]?.reason);
  } finally {
    await Promise.allSettled(clients.map((client) => client.end()));
  }
  return measured(Float64Array.from(latencies), counts) satisfies Measured;
});

function valuesOf({ constants, products }: RawStatement, names: readonly string[]): string[] {
  const n = String(1 + Math.floor(Math.random() * products));
  return names.map((name) => (name === 'n' ? n : (constants[name] ?? '')));
}
