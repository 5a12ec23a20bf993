import pg from 'pg';
import { expect, test } from 'vitest';
import { urlAt } from './citus.ts';
import { databaseFailure } from './failure.ts';

test.each([
  [
    'postgres://till:secret@db:5432/shop?sslmode=require',
    'postgres://till:secret@w2:6000/shop?sslmode=require',
  ],
  ['postgres://till@localhost/shop?host=%2Frun%2Fpg&port=7', 'postgres://till@w2:6000/shop'],
])('leads from %s to another server with the same role and database', (url, expected) => {
  expect(urlAt(url, { host: 'w2', port: 6000 })).toBe(expected);
});

test('leads to a server that is named by an IPv6 address', () => {
  expect(urlAt('postgres://till@db/shop', { host: 'fd00::1', port: 5432 })).toBe(
    'postgres://till@[fd00::1]:5432/shop',
  );
});

test.each([
  ['server closed the connection unexpectedly', 'lost'],
  ['SSL SYSCALL error: EOF detected', 'lost'],
  ['SSL SYSCALL error: Connection reset by peer', 'lost'],
  ['could not receive data from server: Connection timed out', 'lost'],
  ['could not send data to server: Broken pipe', 'lost'],
  ['connection to the remote node owner@w2:5432 failed', 'lost'],
  ['failure on connection marked as essential: w2:5432', 'lost'],
  ['cache lookup failed for relation 7', 'refused'],
])('sorts an internal error by what it says: %s', (message, kind) => {
  const error = Object.assign(new pg.DatabaseError(message, 0, 'error'), { code: 'XX000' });
  expect(databaseFailure(error).kind).toBe(kind);
});
