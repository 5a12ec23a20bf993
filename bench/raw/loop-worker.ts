// The raw figures without pgbench: clients of the `pg` driver, each sending the same prepared
// statement again as soon as it has the answer.

import pg from 'pg';
import { type Measured, measured } from '../measure.ts';
import { serveJobs } from '../worker-process.ts';
import { type RawStatement, type RawWork, renamed, writable } from './statement.ts';

export interface LoopJob {
  readonly url: string;
  readonly work: RawWork;
  readonly clients: number;
  readonly seconds: number;
  readonly rampSeconds: number;
}

serveJobs<LoopJob>(async (job) => {
  const { work, seconds } = job;
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
  const queries = work.flatMap(queriesOf);
  const latencies: number[] = [];
  const counts = {
    seconds,
    total: 0,
    movements: 0,
    errors: 0,
    firstError: undefined as string | undefined,
  };
  try {
    await Promise.all(clients.map((client) => client.connect()));
    const from = performance.now() + job.rampSeconds * 1_000;
    const until = from + seconds * 1_000;
    const loop = async (client: pg.Client) => {
      for (let sentAt = performance.now(); sentAt < until; sentAt = performance.now()) {
        await client.query(oneOf(queries)());
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

type MakeQuery = () => pg.QueryConfig;

/** As often as its weight says. */
function queriesOf({ weight, statement }: RawWork[number], index: number): MakeQuery[] {
  const { text, names } = numbered(statement);
  const make: MakeQuery = () => ({
    name: `raw ${index}`,
    text,
    values: names.map((name) => drawn(statement, name)),
  });
  return Array.from({ length: weight }, () => make);
}

function drawn({ constants, numbers }: RawStatement, name: string): string {
  const most = numbers[name];
  if (most === undefined) return constants[name] ?? '';
  return String(1 + Math.floor(Math.random() * most));
}

/** The statement with `$1`, `$2`… as the driver wants it, and the names that these stand for. */
function numbered({ text }: RawStatement): { text: string; names: readonly string[] } {
  const names: string[] = [];
  const replaced = renamed(text, (name) => {
    if (!names.includes(name)) names.push(name);
    return `$${names.indexOf(name) + 1}`;
  });
  return { text: replaced, names };
}

function oneOf<Item>(items: readonly Item[]): Item {
  const item = items[Math.floor(Math.random() * items.length)];
  if (item === undefined) throw new Error('there is nothing to send');
  return item;
}
