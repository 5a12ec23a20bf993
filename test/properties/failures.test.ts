// What becomes of a failure of the database, whatever it says: an answer of 5xx that promises to
// retry, never one about the caller's data, and none of the server's words.

import fc from 'fast-check';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { isRetryable, Problem } from '../../src/core/problem.ts';
import { DatabaseFailure } from '../../src/core/statement.ts';
import { databaseFailure } from '../../src/database/failure.ts';
import { problemBody, problemOf } from '../../src/http/respond.ts';

const secret = 'relation "customers" ada@example.com';

function serverError(code: string, constraint?: string): pg.DatabaseError {
  const error = new pg.DatabaseError(secret, secret.length, 'error');
  error.code = code;
  if (constraint !== undefined) error.constraint = constraint;
  error.detail = secret;
  return error;
}

const sqlstates = fc
  .tuple(
    fc.constantFrom(...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ'),
    fc.stringMatching(/^[0-9A-Z]{4}$/),
  )
  .map(([first, rest]) => first + rest);

/** By hand, from the manual's appendix A: what may be done about each. */
const known: Readonly<Record<string, readonly string[]>> = {
  conflict: ['40001', '40P01', '23505'],
  timeout: ['55P03', '57014'],
  lost: ['25P03', '25P04', '57P01', '57P02', '57P05', '08000', '08003', '08006', '08P01'],
  away: ['57P03', '25006', '53000', '53100', '53200', '53300', '58000', '58030', '58P01', '28P01'],
  damaged: ['XX001', 'XX002'],
  refused: [
    '22003',
    '22P02',
    '23502',
    '23503',
    '23514',
    '23P01',
    '25P02',
    '42501',
    '42P01',
    'XX000',
  ],
};

describe('an SQLSTATE', () => {
  test.each(Object.entries(known))('that is %s is known', (kind, codes) => {
    for (const code of codes)
      expect([code, databaseFailure(serverError(code)).kind]).toEqual([code, kind]);
  });

  test('of a key that another operation has bound is no failure of the data', () => {
    for (const constraint of ['operations_key', 'operations_pkey']) {
      expect(databaseFailure(serverError('23505', constraint)).kind).toBe('taken');
    }
    expect(databaseFailure(serverError('23505', 'products_sku')).kind).toBe('conflict');
  });

  test('of any class is 5xx, says when to retry, and tells nothing', () => {
    fc.assert(
      fc.property(sqlstates, (code) => {
        const failure = databaseFailure(serverError(code));
        expect(failure).toBeInstanceOf(DatabaseFailure);
        expectQuiet(problemOf(failure));
        expect(databaseFailure(failure)).toBe(failure);
      }),
      { numRuns: 5_000 },
    );
  });
});

describe('anything else that is thrown', () => {
  test('is 5xx and tells nothing either', () => {
    const codes = [
      'ECONNREFUSED',
      'ECONNRESET',
      'EPIPE',
      'ENOENT',
      'ETIMEDOUT',
      'EHOSTUNREACH',
      '',
    ];
    const errors = codes.map((code) => Object.assign(new Error(secret), { code }));
    const odd = [secret, undefined, null, 5, {}, { code: '23505' }, { code: 5 }, new Error(secret)];
    for (const thrown of [...errors, ...odd]) {
      const { kind } = databaseFailure(thrown);
      expect(['away', 'lost']).toContain(kind);
      expectQuiet(problemOf(databaseFailure(thrown)));
    }
    fc.assert(
      fc.property(fc.anything(), (thrown) => {
        expectQuiet(problemOf(databaseFailure(thrown)));
      }),
      { numRuns: 500 },
    );
  });
});

function expectQuiet(problem: Problem): void {
  expect(problem).toBeInstanceOf(Problem);
  expect([500, 503, 504]).toContain(problem.status);
  expect(isRetryable(problem.status)).toBe(true);
  const after = problem.headers['Retry-After'];
  if (problem.status === 500) expect(after).toBeUndefined();
  else expect(after).toMatch(/^[1-9][0-9]*$/);
  expect(problemBody(problem, 'req_1')).not.toContain('ada@example.com');
}
