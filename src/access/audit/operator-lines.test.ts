import { hostname, userInfo } from 'node:os';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { AuditTrail } from '../../../test/kit/audit.ts';
import { homeCell, sqlOf } from '../../../test/kit/cells.ts';
import { type Environment, startEnvironment } from '../../../test/kit/environment.ts';
import type { MerchantId } from '../../core/principal.ts';
import { createDemo } from '../../demo/demo.ts';
import {
  changeLocations,
  changeScopes,
  createCredential,
  revoke,
  rotateToken,
} from '../operator/credentials.ts';
import { createMerchant } from '../operator/merchants.ts';
import type { Connections } from '../transact.ts';
import { verifyChain } from './verify.ts';

const operator = `${userInfo().username}@${hostname()}`;
const id = (prefix: string) => expect.stringMatching(new RegExp(`^${prefix}_[0-9a-z]{26}$`));

let service: Environment;
let trail: AuditTrail;
let access: Connections;

beforeAll(async () => {
  service = await startEnvironment();
  trail = new AuditTrail(service.db);
  access = trail.database;
});
afterAll(async () => {
  await trail.database.close();
  await service.stop();
});

/** The lines that some work leaves, without what every line has. */
async function linesOf(work: () => Promise<unknown>) {
  const before = (await trail.lines()).length;
  await work();
  return (await trail.lines()).slice(before).map((line) => {
    const { day, number, at, follows: _, ...rest } = line;
    expect({ day, number, at }).toEqual({
      day: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
      number: expect.any(Number),
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
    return rest;
  });
}

test('each action of the operator on merchants and credentials leaves its line', async () => {
  const { id: merchant } = await createMerchant(access, 'Corner Shop', homeCell);
  const location = await service.given.location(merchant);
  const made = await createCredential(access, {
    merchant: merchant as MerchantId,
    name: 'till',
    scopes: ['products.read'],
    locations: 'all',
    lifeSeconds: 60,
  });
  const credential = made.credential.id;
  const whose = { merchant_id: merchant, credential_id: credential, operator };
  const steps: readonly [() => Promise<unknown>, object][] = [
    [
      () => createMerchant(access, 'B', homeCell),
      { action: 'merchant.create', name: 'B', cell: homeCell },
    ],
    [() => rotateToken(access, credential, 30), { action: 'token.rotate', overlap_seconds: 30 }],
    [
      () => changeLocations(access, credential, [location]),
      { action: 'token.grant', locations: [location] },
    ],
    [
      () => changeScopes(access, credential, ['products.write']),
      { action: 'token.scope', scopes: ['products.write'] },
    ],
    [() => revoke(access, credential), { action: 'token.revoke' }],
  ];
  for (const [step, expected] of steps) {
    const of = 'name' in expected ? { merchant_id: id('mer'), operator } : whose;
    expect(await linesOf(step)).toEqual([{ ...of, ...expected }]);
  }
  expect(await linesOf(() => revoke(access, credential))).toEqual([]);
  const text = JSON.stringify(await trail.lines());
  expect(text).not.toContain('tb_pat_');
});

test('a write by command leaves its line, with the request of its operation', async () => {
  const { id: merchant } = await createMerchant(access, 'Corner Shop', homeCell);
  const lines = await linesOf(() =>
    service.service.performAsOperator(merchant, 'locations.create', { name: 'Main Street' }),
  );
  const [operation] = await service.db.sql<{ request_id: string }>(
    'select request_id from operations where merchant_id = $1',
    [merchant],
  );
  const whose = { merchant_id: merchant, request_id: operation?.request_id, operator };
  expect(lines).toEqual([{ action: 'locations.create', ...whose }]);
});

test('a write by command is not done when its line cannot be written', async () => {
  const { id: merchant } = await createMerchant(access, 'Corner Shop', homeCell);
  await service.db.sql('alter table audit_records add constraint full_up check (false) not valid');
  const attempt = service.service.performAsOperator(merchant, 'locations.create', { name: 'A' });
  await expect(attempt).rejects.toThrow();
  await service.db.sql('alter table audit_records drop constraint full_up');
  for (const table of ['locations', 'operations']) {
    expect(await service.db.sql(`select from ${table} where merchant_id = $1`, [merchant])).toEqual(
      [],
    );
  }
});

test('hundreds of writes at once leave a line each, in a few transactions', async () => {
  let demo: Awaited<ReturnType<typeof createDemo>> | undefined;
  const lines = await linesOf(async () => {
    demo = await createDemo(service.service, access);
  });
  const counted = (action: string) => lines.filter((line) => line.action === action).length;
  const written = await sqlOf(
    service.db,
    demo?.merchant_id ?? '',
    `select type, count(*)::int from operations where merchant_id = $1 group by type`,
    [demo?.merchant_id],
  );
  expect(written.length).toBeGreaterThan(4);
  for (const { type, count } of written) {
    expect([type, counted(String(type))]).toEqual([type, count]);
  }
  expect(counted('merchant.create') + counted('token.create')).toBe(2);
  const [row] = await service.db.sql<{ transactions: number }>(
    'select count(distinct xmin::text)::int as transactions from audit_records',
  );
  expect(row?.transactions).toBeLessThan(lines.length / 4);
  expect((await verifyChain(trail.database.reader)).ok).toBe(true);
});
