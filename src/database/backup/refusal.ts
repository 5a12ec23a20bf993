// What is said when the database refuses a backup: the table and the reason, and that nothing was
// restored. Never a value out of the file, which could be a customer's.

import pg from 'pg';

/** @throws Error instead of the database's own, which says what it refused. */
export async function refusing<Result>(what: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (cause) {
    if (!(cause instanceof pg.DatabaseError)) throw cause;
    throw new Error(`the database refused ${what} (${reasonOf(cause)}). Nothing was restored`, {
      cause,
    });
  }
}

/** The same error that says more, if that is nothing but names and IDs. */
export function explained(error: unknown, more = ''): unknown {
  if (error instanceof pg.DatabaseError && /^[\w ]+$/.test(more)) error.message += `: ${more}`;
  return error;
}

/** Messages about data that makes no sense quote it; those about constraints do not. */
function reasonOf({ code = '', message }: pg.DatabaseError): string {
  return code.startsWith('22') ? `the file is damaged or altered, SQLSTATE ${code}` : message;
}
