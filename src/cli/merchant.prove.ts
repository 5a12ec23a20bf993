// The life of a merchant by command, beside a running service: renamed, disabled and enabled; and
// tokens that end soon. Each change is a line of the audit trail, and none is written twice.

import { execFile } from 'node:child_process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Applications } from '../../test/kit/applications.ts';
import { homeCell } from '../../test/kit/cells.ts';
import { createTestDatabase, type TestDatabase } from '../../test/kit/database.ts';
import { Given, type GivenCredential } from '../../test/kit/given.ts';
import { type ServiceProcess, startProcess } from '../../test/kit/process.ts';

const program = new URL('../../bin/tallybook.js', import.meta.url).pathname;
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

let db: TestDatabase;
let service: ServiceProcess;
let merchant: string;
let other: string;
let credential: GivenCredential;
let otherCredential: GivenCredential;
/** Access tokens of an application: of its approval, and of a consent. */
let applicationTokens: string[];

beforeAll(async () => {
  db = await createTestDatabase();
  const given = new Given(db);
  const applications = new Applications(db);
  [merchant, other] = [await given.merchant(), await given.merchant('Other Shop')];
  credential = await given.credential(merchant);
  otherCredential = await given.credential(other);
  const application = await applications.application();
  const approval = await applications.approval(merchant, application);
  const by = { approval, by: credential.token };
  const consent = await applications.consent(merchant, application, by);
  applicationTokens = [
    await applications.token(merchant, approval),
    await applications.token(merchant, consent),
  ];
  service = await startProcess(db);
});
afterAll(async () => {
  await service?.end();
  await db.drop();
});

async function json<Printed>(...args: readonly string[]): Promise<Printed> {
  const env = { PATH: process.env.PATH, DATABASE_URL: db.serviceUrl };
  const all = [program, ...args, '--json'];
  return new Promise((resolve, reject) => {
    execFile(process.execPath, all, { env }, (error, stdout) => {
      if (error) reject(error);
      else resolve(JSON.parse(stdout));
    });
  });
}

/** What the audit trail says of a merchant's life. */
const lines = async (action: string) => {
  const found = await json<Record<string, unknown>[]>('audit', 'list', '--action', action);
  return found.map(({ merchant_id, name, before }) => ({ merchant_id, name, before }));
};

test('a merchant is renamed, with a line that has both names', async () => {
  const renamed = {
    ...{ id: merchant, name: 'Harbour Shop', cell: homeCell },
    ...{ created_at: time, disabled_at: null },
  };
  expect(await json('merchant', 'rename', merchant, '--name', 'Harbour Shop')).toEqual(renamed);
  expect(await json('merchant', 'rename', merchant, '--name', 'Harbour Shop')).toEqual(renamed);
  expect(await lines('merchant.rename')).toEqual([
    { merchant_id: merchant, name: 'Harbour Shop', before: 'Corner Shop' },
  ]);
  const shown = await service.api.as(credential.token).get('/credential');
  expect(shown.body.data.merchant).toMatchObject({ id: merchant, name: 'Harbour Shop' });
});

test('the tokens of a disabled merchant are refused, until it is enabled', async () => {
  const tokens = [credential.token, ...applicationTokens];
  const write = (token: string) =>
    service.api.as(token).post('/locations', { name: 'A' }, { key: crypto.randomUUID() });
  const answers = async () => {
    const answered = await Promise.all(
      tokens.flatMap((token) => [service.api.as(token).get('/credential'), write(token)]),
    );
    return answered.map(({ status, code }) => [status, code]);
  };
  const allowed = [
    [200, undefined],
    [201, undefined],
  ];
  expect(await answers()).toEqual([...allowed, ...allowed, ...allowed]);
  const disabled = await json('merchant', 'disable', merchant);
  expect(disabled).toMatchObject({ id: merchant, disabled_at: time });
  expect(await answers()).toEqual(Array(6).fill([401, 'invalid_token']));
  expect((await service.api.as(otherCredential.token).get('/credential')).status).toBe(200);
  expect(await json('merchant', 'disable', merchant)).toEqual(disabled);
  expect(await lines('merchant.disable')).toHaveLength(1);
  const enabled = await json('merchant', 'enable', merchant);
  expect(enabled).toMatchObject({ id: merchant, disabled_at: null });
  expect(await json('merchant', 'enable', merchant)).toEqual(enabled);
  expect(await lines('merchant.enable')).toHaveLength(1);
  expect(await answers()).toEqual([...allowed, ...allowed, ...allowed]);
});

test('token list --expiring names tokens that end soon, of all merchants or one', async () => {
  const listed = (...flags: readonly string[]) => json<{ id: string }[]>('token', 'list', ...flags);
  const ids = async (...flags: readonly string[]) =>
    (await listed(...flags)).map(({ id }) => id).sort();
  expect(await ids('--expiring', '14d')).toEqual([credential.id, otherCredential.id].sort());
  expect(await ids('--expiring', '14d', '--merchant', other)).toEqual([otherCredential.id]);
  expect(await ids('--expiring', '23h')).toEqual([]);
});

test('a second revocation of a token writes no second line', async () => {
  const revoked = await json('token', 'revoke', otherCredential.id);
  expect(await json('token', 'revoke', otherCredential.id)).toEqual(revoked);
  expect(await lines('token.revoke')).toHaveLength(1);
});
