// Rate limits by command, beside a running node: what is printed, what counts from the next request
// on, and what the audit trail says of it.

import { execFile } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Environment, startEnvironment } from '../../test/kit/environment.ts';

const program = new URL('../../bin/tallybook.js', import.meta.url).pathname;

let service: Environment;
let merchant: string;

beforeAll(async () => {
  service = await startEnvironment();
  merchant = await service.given.merchant();
});
afterAll(() => service.stop());

/** Runs `tallybook limit …`. */
function limit(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const all = [program, 'limit', ...args, '--database-url', service.db.serviceUrl];
  const env = { PATH: process.env.PATH ?? '' };
  return new Promise((resolve) => {
    execFile(process.execPath, all, { env }, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr });
    });
  });
}

async function printed(...args: string[]) {
  const { code, stdout, stderr } = await limit(...args, '--json');
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout);
}

/** The newest line of the audit trail. */
async function lastLine(): Promise<Record<string, unknown>> {
  const [row] = await service.db.sql<{ line: string }>(
    'select line from audit_records order by day desc, number desc limit 1',
  );
  return JSON.parse(row?.line ?? '{}');
}

test('a credential’s limit counts from the next request on, and is audited', async () => {
  const { id, token } = await service.given.credential(merchant);
  const api = service.api.as(token);
  expect((await api.get('/credential')).headers.get('ratelimit-policy')).toContain('q=6000');
  const shown = { merchant_id: merchant, credential_id: id };
  const limited = { ...shown, rate_limit: { requests_per_minute: 2, burst: 3 }, is_default: false };
  const set = await printed('set', '--credential', id, '--per-minute', '2', '--burst', '3');
  expect(set).toEqual(limited);
  expect(await lastLine()).toMatchObject({
    action: 'limit.set',
    merchant_id: merchant,
    credential_id: id,
    per_minute: 2,
    burst: 3,
    operator: expect.any(String),
  });
  const statuses: number[] = [];
  for (let n = 0; n < 5; n += 1) statuses.push((await api.get('/credential')).status);
  expect(statuses).toContain(429);
  expect(await printed('show', '--credential', id)).toEqual(limited);
  const none = await printed('set', '--credential', id, '--per-minute', '0');
  expect(none).toEqual({ ...shown, rate_limit: null, is_default: false });
  const answer = await api.get('/credential');
  expect([answer.status, answer.headers.get('ratelimit-policy')]).toEqual([200, null]);
});

test('a merchant’s limit has a burst by default, and goes back to the default', async () => {
  const set = await printed('set', '--merchant', merchant, '--per-minute', '601');
  expect(set).toEqual({
    merchant_id: merchant,
    credential_id: null,
    rate_limit: { requests_per_minute: 601, burst: 101 },
    is_default: false,
  });
  expect(await lastLine()).toMatchObject({ merchant_id: merchant, per_minute: 601, burst: null });
  const { code, stdout } = await limit('set', '--merchant', merchant, '--default');
  expect(code).toBe(0);
  expect(stdout).toContain('30000 a minute, 5000 at once (the default)');
});

test('a credential that takes no requests has no limit to set', async () => {
  const { id } = await service.given.credential(merchant);
  await service.db.sql('update credentials set revoked_at = now() where id = $1', [id]);
  const { code, stdout, stderr } = await limit('set', '--credential', id, '--per-minute', '5');
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toContain('it is revoked');
});

describe('a usage error exits with 2', () => {
  const credential = ['--credential', 'cred_01k9x3v7c2e4r8t1m5n6p0q9sa'];
  const both = ['--merchant', 'mer_01k9x3v7c2e4r8t1m5n6p0q9sa'];
  test.each([
    ['two owners', ['set', ...credential, ...both, '--per-minute', '5']],
    ['no owner', ['show']],
    ['nothing to set', ['set', ...credential]],
    ['a burst without a limit', ['set', ...credential, '--per-minute', '0', '--burst', '5']],
    ['the default and a number', ['set', ...credential, '--default', '--per-minute', '5']],
    ['no whole number', ['set', ...credential, '--per-minute', '1.5']],
    ['too large a number', ['set', ...credential, '--per-minute', '1000001']],
    ['a burst of nothing', ['set', ...credential, '--per-minute', '5', '--burst', '0']],
  ])('%s', async (_, args) => {
    const { code, stdout, stderr } = await limit(...args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^error: /);
  });
});
