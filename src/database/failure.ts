// Sorts what the driver throws by what may be done about it. No database error becomes an answer
// about the caller's data: the rules refuse bad data before the constraints do.

import pg from 'pg';
import { DatabaseFailure, type FailureKind } from '../core/statement.ts';
import { NotPrimary } from './primary.ts';

const uniqueViolation = '23505';

/** SQLSTATEs, PostgreSQL manual appendix A. Anything not named here is `refused`. */
const kinds: Readonly<Record<string, FailureKind>> = {
  '40001': 'conflict', // serialization_failure
  '40P01': 'conflict', // deadlock_detected
  '42P05': 'conflict', // a pooler mixed up the names of statements: from now on they have none
  '26000': 'conflict', // the same
  [uniqueViolation]: 'conflict', // what `load` read was stale
  '55P03': 'timeout', // lock_not_available
  '57014': 'timeout', // query_canceled by statement_timeout
  '25P03': 'lost', // idle_in_transaction_session_timeout ended the connection
  '25P04': 'lost', // transaction_timeout
  '57P01': 'lost', // admin_shutdown: also one terminated backend, so it is worth one more try
  '57P02': 'lost', // crash_shutdown of a sibling
  '57P03': 'away', // cannot_connect_now
  '57P05': 'lost', // idle_session_timeout
  XX001: 'damaged', // data_corrupted: also a page whose checksum is wrong
  XX002: 'damaged', // index_corrupted
  '25006': 'away', // read_only_sql_transaction: we reached a standby
};

const classes: Readonly<Record<string, FailureKind>> = {
  '08': 'lost', // connection exceptions
  '53': 'away', // out of connections, memory or disk
  '58': 'away', // input or output error of the server's system
  '28': 'away', // authentication: the server is not ours to use at the moment
};

/** Network errors that say the server was never reached. */
const unreachable = new Set(['ECONNREFUSED', 'ENOENT', 'ENOTFOUND', 'EHOSTUNREACH', 'ETIMEDOUT']);

/**
 * A unique violation of one of these means that an operation with this key, or ID, has committed. A
 * distributed engine puts the number of a shard behind the name.
 */
const keyConstraint = /^operations_(?:key|pkey)(?:_[0-9]+)?$/;

/** A server that passes on what another one said leaves out the fields, but not the message. */
const constraintIn = /constraint "([^"]+)"/;

const internalError = 'XX000';

/**
 * What a server of a cluster says when it lost another one, in words of libpq's or its own, without
 * a code of its own.
 */
const lostBehind =
  /\bconnection\b|\bSSL (?:SYSCALL )?error\b|could not (?:receive data from|send data to) server/i;

/** No answer came in the time that the statement was given: `query_timeout`. */
export function isSilence(error: unknown): boolean {
  return error instanceof Error && error.message === 'Query read timeout';
}

export function databaseFailure(error: unknown): DatabaseFailure {
  if (error instanceof DatabaseFailure) return error;
  const code = errorCode(error);
  // Not by the look of the code: EPIPE has five capital letters too.
  if (error instanceof pg.DatabaseError && code !== undefined) {
    const constraint = error.constraint ?? constraintIn.exec(error.message)?.[1] ?? '';
    const isTaken = code === uniqueViolation && keyConstraint.test(constraint);
    const isRemote = code === internalError && lostBehind.test(error.message);
    const known = isRemote ? 'lost' : (kinds[code] ?? classes[code.slice(0, 2)]);
    const kind = isTaken ? 'taken' : (known ?? 'refused');
    return new DatabaseFailure(kind, code, error);
  }
  const isAway = error instanceof NotPrimary || (code !== undefined && unreachable.has(code));
  return new DatabaseFailure(isAway ? 'away' : 'lost', undefined, error);
}

/** Overload: nobody gave a connection back in time, or too many wait already. */
export function tooMany(): DatabaseFailure {
  return new DatabaseFailure('away', undefined, new Error('too many wait for a connection'));
}

function errorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
