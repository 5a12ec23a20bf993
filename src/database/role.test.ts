// The settings of the service's role decide in which form values come out of the database: whatever
// the database or the server has, answers are the same.

import pg from 'pg';
import { expect, test } from 'vitest';
import { createTestDatabase } from '../../test/kit/database.ts';
import { startEnvironment } from '../../test/kit/environment.ts';
import { createTestMerchant } from '../../test/kit/merchant.ts';
import { migrate } from './migrate.ts';
import { assertSafe } from './safety.ts';

test.each(['SQL, DMY', 'German', 'Postgres, MDY'])(
  'times are right on a database that writes them otherwise: %s',
  async (style) => {
    const db = await createTestDatabase();
    const name = new URL(db.ownerUrl).pathname.slice(1);
    await db.sql(`alter database ${name} set datestyle = '${style}'`);
    const service = await startEnvironment({ db });
    try {
      const { api, products, locations } = await createTestMerchant(service);
      const { body } = await api.post('/inventory/adjustments', {
        product_id: products[0],
        location_id: locations[0],
        target_quantity: '77',
        reason: 'correction',
      });
      const { body: read } = await api.get(`/inventory/movements/${body.data.id}`);
      expect(read.data.recorded_at).toBe(body.data.recorded_at);
      expect(Math.abs(Date.now() - Date.parse(read.data.recorded_at))).toBeLessThan(60_000);
    } finally {
      await service.stop();
    }
  },
);

test('seconds that are left of a token are not rounded', async () => {
  const db = await createTestDatabase();
  const name = new URL(db.ownerUrl).pathname.slice(1);
  await db.sql(`alter database ${name} set extra_float_digits = -15`);
  const client = new pg.Client({ connectionString: db.serviceUrl });
  await client.connect();
  const { rows } = await client.query(
    `select extract(epoch from interval '3599 seconds')::float8 as left`,
  );
  await client.end();
  expect(rows).toEqual([{ left: 3_599 }]);
  await db.drop();
});

test('a schema that comes first is not taken for the database', async () => {
  const db = await createTestDatabase();
  const name = new URL(db.ownerUrl).pathname.slice(1);
  await db.sql(`create schema app; alter database ${name} set search_path = app, public`);
  // One role for both, to which the other schema is open.
  const { applied, version } = await migrate({ owner: db.ownerUrl, service: db.ownerUrl });
  expect(applied).toEqual([]);
  expect(await db.sql(`select from pg_class where relnamespace = 'app'::regnamespace`)).toEqual([]);
  await assertSafe(db.ownerUrl, version);
  await db.drop();
});

test('a role of an earlier version is accepted where the server is as usual', async () => {
  const db = await createTestDatabase();
  const role = new URL(db.serviceUrl).username;
  const name = new URL(db.ownerUrl).pathname.slice(1);
  const [row] = await db.sql<{ version: number }>(
    'select max(number) as version from schema_migrations',
  );
  for (const setting of ['datestyle', 'extra_float_digits']) {
    await db.sql(`alter role ${role} in database ${name} reset ${setting}`);
  }
  await assertSafe(db.serviceUrl, row?.version ?? 0);
  await db.sql(`alter database ${name} set datestyle = 'SQL, DMY'`);
  await expect(assertSafe(db.serviceUrl, row?.version ?? 0)).rejects.toThrow(
    'datestyle is SQL, DMY, it must be ISO, YMD: run "tallybook migrate"',
  );
  await db.drop();
});
