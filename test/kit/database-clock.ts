// The clock of the database, which says what has expired.

import type { TestDatabase } from './database.ts';

/** So many milliseconds from now. */
export async function later(db: TestDatabase, milliseconds: number): Promise<string> {
  const [row] = await db.sql<{ time: Date }>(
    "select clock_timestamp() + $1 * interval '1 millisecond' as time",
    [milliseconds],
  );
  return row?.time.toISOString() ?? '';
}

/** Until it has passed a time. */
export async function passed(db: TestDatabase, time: string): Promise<void> {
  await db.sql(
    'select pg_sleep(greatest(0, extract(epoch from $1::timestamptz - clock_timestamp())))',
    [time],
  );
}
