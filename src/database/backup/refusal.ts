// The error when the database refuses a backup: the table, the reason, and that nothing was
// restored. It never repeats a value of the file, which could be a customer's.

import pg from 'pg';

/** @throws Error instead of the database's own: the table that this names, or else `what`. */
export async function refusing<Result>(what: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (cause) {
    if (!(cause instanceof pg.DatabaseError)) throw cause;
    const named = cause.table === undefined ? what : `its ${cause.table}`;
    const refusal = `the database refused ${named} (${reasonOf(cause)}). Nothing was restored`;
    if (!isUnsound(cause)) throw new Error(refusal, { cause });
    throw new UnsoundBackup(`${refusal}${remedy}`, { cause });
  }
}

/** Rows of a backup contradict each other. */
export class UnsoundBackup extends Error {
  override readonly name = 'UnsoundBackup';
}

const remedy =
  '. To save what can be saved, restore with --accept-unsound: it takes such rows and names them';

/** Class 23: rows that contradict each other, which a database took before it was damaged. */
const isUnsound = ({ code = '' }: pg.DatabaseError): boolean => code.startsWith('23');

/** Messages about invalid data quote it; those about constraints do not. */
function reasonOf({ code = '', message }: pg.DatabaseError): string {
  return code.startsWith('22') ? `the file is damaged or altered, SQLSTATE ${code}` : message;
}
