// The connection on which a backup is taken or loaded. It may work for hours, whatever time-outs
// its role has. It writes and reads values in the same form on every server. It ends at once when
// the command is interrupted, so that the private server can stop.

import type pg from 'pg';
import { Client } from '../client.ts';
import { patienceOfWork } from '../find.ts';

/** For each transaction, because a pooler may be before the server. */
const settings = `
  set local timezone = 'UTC';
  set local datestyle = 'ISO, YMD';
  set local intervalstyle = 'postgres';
  set local bytea_output = 'hex';
  set local extra_float_digits = 1;
  set local search_path = public, pg_temp;
  set local lock_timeout = '60s'`;

/** Begins a transaction. Its snapshot is not taken yet: no time-out is set by a query. */
export async function beginLong(client: pg.Client, begin: string): Promise<void> {
  const { rows } = await client.query<{ off: string }>(`
    select format('set local %I = 0', name) as off from pg_settings where name in (
      'statement_timeout', 'transaction_timeout', 'idle_in_transaction_session_timeout')`);
  await client.query([begin, settings, ...rows.map(({ off }) => off)].join(';'));
}

/** @throws what `work` throws; what it had not committed by then is undone by the server. */
export async function withSession<Result>(
  url: string,
  signal: AbortSignal | undefined,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  signal?.throwIfAborted();
  const client = new Client({
    connectionString: url,
    application_name: 'tallybook',
    ...patienceOfWork,
  });
  client.on('error', () => undefined);
  const end = () => void client.end().catch(() => undefined);
  signal?.addEventListener('abort', end);
  try {
    await client.connect();
    return await work(client);
  } finally {
    signal?.removeEventListener('abort', end);
    await client.end();
  }
}
