// The connection on which a backup is taken or loaded. It may work for hours, whatever time-outs
// its role has. It writes and reads values in the same form on every server. It ends at once when
// the command is interrupted, so that the private server can stop.

import pg from 'pg';
import { patienceOfWork } from '../find.ts';

/** Parameters that only some versions of PostgreSQL have are set where they are. */
const settings = `
  set timezone = 'UTC';
  set datestyle = 'ISO, YMD';
  set intervalstyle = 'postgres';
  set bytea_output = 'hex';
  set extra_float_digits = 1;
  set search_path = public;
  set default_transaction_read_only = off;
  set lock_timeout = '60s';
  select set_config(name, '0', false) from pg_settings where name in ('statement_timeout',
    'transaction_timeout', 'idle_in_transaction_session_timeout', 'idle_session_timeout')`;

/** @throws what `work` throws; what it had not committed by then is undone by the server. */
export async function withSession<Result>(
  url: string,
  signal: AbortSignal | undefined,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  signal?.throwIfAborted();
  const client = new pg.Client({
    connectionString: url,
    application_name: 'tallybook',
    ...patienceOfWork,
  });
  client.on('error', () => undefined);
  const end = () => void client.end().catch(() => undefined);
  signal?.addEventListener('abort', end);
  try {
    await client.connect();
    await client.query(settings);
    return await work(client);
  } finally {
    signal?.removeEventListener('abort', end);
    await client.end();
  }
}
