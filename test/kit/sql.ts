// A connection of its own, for whoever needs one for a moment.

import pg from 'pg';

/** @param place a URL, or what the driver takes. */
export async function withClient<T>(
  place: string | pg.ClientConfig,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client(place);
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

export function sqlAt<Row extends pg.QueryResultRow = Record<string, unknown>>(
  place: string | pg.ClientConfig,
  text: string,
  values: unknown[] = [],
): Promise<Row[]> {
  return withClient(place, async (client) => (await client.query<Row>(text, values)).rows);
}
