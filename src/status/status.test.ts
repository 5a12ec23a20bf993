// What needs a person, and who is told so.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../test/kit/database.ts';
import { startNode } from '../../test/kit/environment.ts';
import { Given } from '../../test/kit/given.ts';
import { limits } from '../core/limits.ts';
import type { BackupSight } from './endpoints.ts';

let db: TestDatabase;
let given: Given;
let node: Awaited<ReturnType<typeof startNode>>;
let merchant: string;
/** How the backups of the service are; undefined: it takes none. */
let backups: BackupSight | undefined;

beforeAll(async () => {
  db = await createTestDatabase();
  given = new Given(db);
  const usual = [undefined, undefined, undefined, undefined] as const;
  node = await startNode(db.serviceUrl, ...usual, () => backups);
  merchant = await given.merchant();
});
afterAll(async () => {
  await node.stop();
  await db.drop();
});

async function caller(may: Parameters<typeof given.credential>[1] = {}) {
  const { token, id } = await given.credential(merchant, may);
  // The tokens of the tests end within a day: they are not what is looked for.
  await db.sql(
    `update credential_tokens set expires_at = now() + interval '90 days' where credential_id = $1`,
    [id],
  );
  return node.api.as(token);
}

interface Need {
  readonly code: string;
  readonly about: { readonly type: string; readonly id: string | null };
}

const needsOf = async (api: typeof node.api): Promise<readonly Need[]> =>
  (await api.get('/status')).body.data.needs;

test('names tokens, invitations, webhooks and reservations to who may see each', async () => {
  const api = await caller();
  expect(await needsOf(api)).toEqual([]);
  const [here, there] = [await given.location(merchant), await given.location(merchant)];
  const make = async (path: string, body: object) => (await api.post(path, body)).body.data.id;
  const token = (name: string, days: number, location: string) =>
    make('/tokens', {
      ...{ name, scopes: ['products.read'], location_ids: [location], expires_in_days: days },
    });
  const soon = await token('Soon', 90, here);
  const ended = await token('Ended', 90, there);
  await token('Later', 90, here);
  await token('Short', 5, here);
  const end = `update credential_tokens set created_at = now() - interval '80 days',
    expires_at = now() + $2::interval where credential_id = $1`;
  await db.sql(end, [soon, '13 days']);
  await db.sql(end, [ended, '-1 day']);
  const person = await make('/people', { name: 'Ada', role: 'viewer' });
  await db.sql(`update credentials set invitation_expires_at = now() where id = $1`, [person]);
  const hook = await make('/webhooks', { url: 'https://receiver.invalid/x', status: 'paused' });
  const failing = await make('/webhooks', { url: 'https://receiver.invalid/y' });
  await db.sql(`update webhooks set pause_reason = 'receiver_gone' where id = $1`, [hook]);
  await db.sql('update webhook_progress set failing_since = now() where webhook_id = $1', [
    failing,
  ]);
  const product = await given.product(merchant);
  const lines = [{ product_id: product, quantity: '1' }];
  await api.post('/inventory/adjustments', {
    ...{ product_id: product, location_id: here, target_quantity: '5', reason: 'correction' },
  });
  const reserved = await make('/inventory/reservations', { location_id: here, lines });
  await db.sql(
    `update inventory_reservations set status = 'expired', ended_at = now(),
       end_operation_id = operation_id where id = $1`,
    [reserved],
  );
  const all = [
    ['token_ended', ended],
    ['token_ends', soon],
    ['invitation_ended', person],
    ['webhook_paused', hook],
    ['webhook_failing', failing],
    ['reservations_expired', here],
  ];
  const named = (needs: readonly Need[]) => needs.map(({ code, about }) => [code, about.id]);
  expect(named(await needsOf(api))).toEqual(all);
  expect(named(await needsOf(await caller({ scopes: [] })))).toEqual([]);
  const ofHere = await needsOf(await caller({ locations: [here] }));
  expect(named(ofHere)).toEqual([
    ['token_ends', soon],
    ['invitation_ended', person],
    ['reservations_expired', here],
  ]);
  const ofThere = await needsOf(await caller({ locations: [there] }));
  expect(named(ofThere)).toEqual([
    ['token_ended', ended],
    ['invitation_ended', person],
  ]);
  const scopes = ['inventory.read'];
  expect(named(await needsOf(await caller({ scopes })))).toEqual([['reservations_expired', here]]);
  await api.patch(`/tokens/${ended}`, { status: 'revoked' });
  await api.patch(`/tokens/${soon}`, { expires_in_days: 90 });
  await api.patch(`/people/${person}`, { status: 'revoked' });
  expect(named(await needsOf(api))).toEqual(all.slice(3));
});

test('names a backup that failed, is old or missing to who may see everything', async () => {
  const api = await caller({ scopes: ['access.read'] });
  const location = await given.location(merchant);
  const others = [
    await caller({ scopes: ['access.read'], locations: [location] }),
    await caller({ scopes: ['products.read'] }),
  ];
  const age = (minutes: number) =>
    new Date(Date.now() - limits.backupOldHours * 3_600_000 - minutes * 60_000);
  const [old, young] = [age(1), age(-1)];
  const sights: [BackupSight | undefined, string | undefined, Date | undefined][] = [
    [undefined, undefined, undefined],
    [{ last: undefined, failure: undefined }, 'backup_missing', undefined],
    [{ last: old, failure: undefined }, 'backup_old', old],
    [{ last: young, failure: undefined }, undefined, undefined],
    [{ last: old, failure: { at: young } }, 'backup_failed', young],
  ];
  for (const [sight, code, at] of sights) {
    backups = sight;
    const about = { type: 'backup', id: null, name: null };
    const need = { code, about, at: at?.toISOString() ?? null, count: 1 };
    const found = (await needsOf(api)).filter((one) => one.about.type === 'backup');
    expect(found).toEqual(code === undefined ? [] : [{ ...need, text: expect.any(String) }]);
    for (const other of others) {
      const named = (await needsOf(other)).filter((one) => one.about.type === 'backup');
      expect(named).toEqual([]);
    }
  }
  backups = undefined;
});
