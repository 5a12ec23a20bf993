// The log: one JSON line per request, by an allow-list of members. Never tokens, keys, names,
// e-mail addresses, paths with IDs, or bodies.

import { type Logger, pino } from 'pino';
import type { RequestRecord } from './server.ts';

export function createLog(level: string): Logger {
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, pino.destination(2));
}

export function logRequest(log: Logger, record: RequestRecord): void {
  const { problem, seconds, ...members } = record;
  const line = {
    ...members,
    milliseconds: Math.round(seconds * 10_000) / 10,
    ...(problem === undefined ? {} : { code: problem.code }),
  };
  if (record.status < 500) log.info(line, 'request');
  else log.error({ ...line, cause: causeOf(problem) }, 'request failed');
}

/**
 * What is behind a 5xx. Of a database error only its code and the constraint: its message and
 * detail quote values.
 */
function causeOf(problem: RequestRecord['problem']): unknown {
  const cause = problem?.cause;
  if (!(cause instanceof Error)) return undefined;
  const root = cause.cause instanceof Error ? cause.cause : cause;
  const isDatabase = 'severity' in root;
  return {
    name: cause.name,
    message: isDatabase ? undefined : root.message,
    stack: isDatabase ? undefined : root.stack,
    code: 'code' in root ? root.code : undefined,
    constraint: 'constraint' in root ? root.constraint : undefined,
    routine: 'routine' in root ? root.routine : undefined,
  };
}
