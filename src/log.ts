// The log: one JSON line per request, by an allow-list of members. Never tokens, keys, names,
// e-mail addresses, paths with IDs, or bodies.

import { type Logger, pino } from 'pino';
import type { RequestRecord } from './http/server.ts';

/** What waits for a reader that has stopped reading; beyond it lines are dropped, not requests. */
const bufferedBytesMax = 4 * 1024 * 1024;
const lastWritesMax = 10;
/** Lines wait for one another, for so long (ms): written one by one they cost a read a tenth. */
const writeBytes = 8 * 1024;
const writeDelay = 100;

/** Writes to standard error without a request ever waiting for whoever reads it. */
export function createLog(level: string): Logger {
  let lastWrites: number | undefined;
  const destination = pino.destination({
    dest: 2,
    sync: false,
    minLength: writeBytes,
    periodicFlush: writeDelay,
    maxLength: bufferedBytesMax,
    retryEAGAIN: () => {
      if (lastWrites === undefined) return true;
      lastWrites += 1;
      return lastWrites < lastWritesMax;
    },
  });
  process.on('exit', () => {
    lastWrites = 0;
    try {
      destination.flushSync();
    } catch {
      // Nobody reads any more: the last lines have no reader to be kept for.
    }
  });
  const timestamp = pino.stdTimeFunctions.isoTime;
  return pino({ level, base: null, timestamp, serializers: { err: shown } }, destination);
}

export function logRequest(log: Logger, record: RequestRecord): void {
  const { problem } = record;
  const line = {
    requestId: record.requestId,
    method: record.method,
    route: record.route,
    status: record.status,
    merchantId: record.merchantId,
    credentialId: record.credentialId,
    applicationId: record.applicationId,
    milliseconds: Math.round(record.seconds * 10_000) / 10,
    code: problem?.code ?? record.oauthError,
  };
  if (record.status < 500) log.info(line, 'request');
  else log.error({ ...line, cause: causeOf(problem) }, 'request failed');
}

/** What is behind a 5xx. */
function causeOf(problem: RequestRecord['problem']): unknown {
  return problem?.cause instanceof Error ? shown(problem.cause) : undefined;
}

/**
 * An error, by an allow-list of members. Of a database error only its code and the constraint: its
 * message and detail quote values.
 */
function shown(error: unknown): object {
  if (!(error instanceof Error)) return { name: typeof error };
  const root = error.cause instanceof Error ? error.cause : error;
  const isDatabase = 'severity' in root;
  const told = isDatabase && root !== error ? error : root;
  const isHidden = isDatabase && told === root;
  return {
    name: error.name,
    message: isHidden ? undefined : told.message,
    stack: isHidden ? undefined : told.stack,
    code: 'code' in root ? root.code : undefined,
    constraint: 'constraint' in root ? root.constraint : undefined,
    routine: 'routine' in root ? root.routine : undefined,
  };
}
