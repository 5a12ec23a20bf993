// How values come out of the database: numerics as exact strings, 64-bit counters as numbers (they
// stay far below 2^53), times as RFC 3339 in UTC with milliseconds. Set once, for every connection.

import pg from 'pg';

const int8 = 20;
const timestamptz = 1184;

export const typeParsers = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    if (oid === int8) return Number;
    if (oid === timestamptz) return rfc3339;
    return pg.types.getTypeParser(oid, format);
  },
};

/** PostgreSQL prints `2026-01-31 12:00:00.5+00` in a UTC session, without trailing zeros. */
function rfc3339(text: string): string {
  if (!text.endsWith('+00')) return new Date(text).toISOString();
  const [seconds = '', fraction = ''] = text.slice(0, -3).split('.');
  return `${seconds.replace(' ', 'T')}.${fraction.padEnd(3, '0').slice(0, 3)}Z`;
}
