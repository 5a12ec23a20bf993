import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { withDatabase } from '../../test/kit/postgres.ts';
import { migrate } from './migrate.ts';
import { statementsOf } from './migrations.ts';
import { assertSafe } from './safety.ts';

let admin: pg.Client;
const made: string[] = [];

beforeAll(async () => {
  admin = new pg.Client({ connectionString: inject('ownerUrl') });
  await admin.connect();
});
afterAll(async () => {
  for (const name of made) {
    await admin.query(`drop database if exists ${name} with (force)`);
    await admin.query(`drop role if exists ${name}_service`);
  }
  await admin.end();
});

async function freshDatabase(): Promise<{ owner: string; service: string }> {
  const name = `fresh_${randomBytes(6).toString('hex')}`;
  made.push(name);
  await admin.query(`create database ${name}`);
  const service = new URL(withDatabase(inject('serviceUrl'), name));
  service.username = `${name}_service`;
  service.password = 'of-no-value';
  return { owner: withDatabase(inject('ownerUrl'), name), service: service.toString() };
}

test('several processes that start at once migrate once, and make the role once', async () => {
  for (let round = 0; round < 3; round += 1) {
    const urls = await freshDatabase();
    const results = await Promise.all([migrate(urls), migrate(urls), migrate(urls)]);
    const applied = results.flatMap((result) => result.applied);
    expect(new Set(applied).size).toBe(applied.length);
    expect(applied).toHaveLength(results[0]?.version ?? 0);
    await assertSafe(urls.service, results[0]?.version ?? 0);
  }
});

test('a service that is the owner itself is safe to use as well', async () => {
  const { owner } = await freshDatabase();
  const { version, serviceIsOwner } = await migrate({ owner, service: owner });
  expect(serviceIsOwner).toBe(true);
  await assertSafe(owner, version);
  await migrate({ owner, service: owner });
});

test('a database with a setting that could lose writes is refused by its name', async () => {
  const urls = await freshDatabase();
  const { version } = await migrate(urls);
  const service = new URL(urls.service);
  const database = service.pathname.slice(1);
  const cases = {
    synchronous_commit: 'off',
    lock_timeout: '0',
    default_transaction_read_only: 'off',
  };
  for (const [setting, value] of Object.entries(cases)) {
    await admin.query(`alter role ${service.username} in database ${database}
      set ${setting} = ${value}`);
    await expect(assertSafe(urls.service, version), setting).rejects.toThrow(/is not safe to use/);
    await migrate(urls);
    await admin.query(`alter role ${service.username} in database ${database}
      reset synchronous_commit`);
    await assertSafe(urls.service, version);
  }
  await expect(assertSafe(urls.service, version + 1)).rejects.toThrow(/schema is at version/);
});

test('a newer schema and a changed migration are refused', async () => {
  const urls = await freshDatabase();
  const { version } = await migrate(urls);
  const client = new pg.Client({ connectionString: urls.owner });
  await client.connect();
  await client.query(`update schema_migrations set checksum = 'other' where number = 1`);
  await expect(migrate(urls)).rejects.toThrow(/applied with another content/);
  await client.query(`insert into schema_migrations (number, name, checksum, steps)
    values (${version + 1}, 'later', '', 1)`);
  await expect(migrate(urls)).rejects.toThrow(/run a newer one/);
  await client.end();
});

test.each([
  [
    "select ';' -- a;b\n;create function f() as $$ begin; end $$;",
    ["select ';' -- a;b\n;", 'create function f() as $$ begin; end $$;'],
  ],
  ['/* a; */ select "b;" ; -- the end', ['/* a; */ select "b;" ;']],
  ["-- why\nselect 'it''s; so'", ["-- why\nselect 'it''s; so'"]],
  ['select $body$ $$;$$ $body$;;\n', ['select $body$ $$;$$ $body$;']],
])('%s is cut into its statements', (sql, statements) => {
  expect(statementsOf(sql)).toEqual(statements);
});
