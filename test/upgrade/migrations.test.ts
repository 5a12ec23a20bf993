// What each migration does to a schema, and that it does all of it or nothing, whoever ends the
// process that runs it, and gives way to those who hold its tables.

import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { migrate, readMigrations } from '../../src/database/migrate.ts';
import { schemaSnapshot } from '../../src/database/snapshot.ts';
import { withDatabase } from '../support/postgres.ts';
import { DatabaseProxy } from '../support/proxy.ts';
import { changeOf, partsOf } from './look.ts';
import { applyUpTo } from './past.ts';

const migrationCode = new URL('../../dist/database/migrate.js', import.meta.url);

let admin: pg.Client;
/** The schema after each migration, from version 0 on, and a database of each to copy. */
const snapshots: string[] = [];
const parts: string[][] = [];
const templates: string[] = [];
const made: string[] = [];

beforeAll(async () => {
  admin = new pg.Client({ connectionString: inject('ownerUrl') });
  await admin.connect();
  const migrations = await readMigrations();
  for (let version = 0; version <= migrations.length; version += 1) {
    const name = newName();
    await admin.query(`create database ${name}`);
    const url = ownerOf(name);
    await withClient(url, async (client) => {
      await applyUpTo(client, version);
      parts.push(await partsOf(client));
    });
    snapshots.push(await schemaSnapshot(url));
    templates.push(name);
  }
});
afterAll(async () => {
  for (const name of made) await admin.query(`drop database if exists ${name} with (force)`);
  await admin.end();
}, 300_000);

/**
 * What a migration changes about tables that were there: nothing goes that is not named here. What
 * nodes of the version before still use must not be among it.
 */
const changes: Readonly<Record<string, object>> = {
  '0002_access.sql': {
    gone: [],
    come: [
      'column credential_tokens.scopes',
      'column credentials.approval_id',
      'column credentials.given_by',
      'column credentials.request_burst',
      'column credentials.requests_per_minute',
      'column merchants.request_burst',
      'column merchants.requests_per_minute',
      'constraint credentials.credentials_application_id_fkey',
      'constraint credentials.credentials_check1',
      'constraint credentials.credentials_check2',
      'constraint credentials.credentials_check3',
      'constraint credentials.credentials_given_by_fkey',
      'constraint credentials.credentials_merchant_id_approval_id_fkey',
      'constraint credentials.credentials_request_burst_check',
      'constraint credentials.credentials_requests_per_minute_check',
      'constraint merchants.merchants_request_burst_check',
      'constraint merchants.merchants_requests_per_minute_check',
      'function append_audit(json,text)',
      'function oauth_standing(text,text,text,bytea,text[])',
      'index credentials.credentials_by_application',
      'index credentials.credentials_by_approval',
      'index credentials.credentials_by_consent',
      'index credentials.credentials_by_giver',
      'index credentials.credentials_one_approval',
      'table application_secrets',
      'table applications',
      'table audit_head',
      'table audit_records',
      'table oauth_records',
      'table rate_buckets',
    ],
  },
  '0003_ledger_by_set.sql': {
    gone: [
      'column inventory_levels.last_sequence',
      'column inventory_movements.previous_sequence',
      'constraint inventory_levels.inventory_levels_ledger',
      'constraint inventory_movements.inventory_movements_chain',
      'constraint inventory_movements.inventory_movements_continue',
      'function refuse_movement_beyond_level()',
      'function refuse_shrinking_level()',
      'index inventory_movements.inventory_movements_chain',
      'trigger inventory_movements.inventory_movements_within_level',
    ],
    come: [
      'function bound_operations(text,text,json)',
      'function refuse_broken_chain()',
      'function refuse_level_off_ledger()',
      'trigger inventory_levels.inventory_levels_ledger',
      'trigger inventory_movements.inventory_movements_continue',
    ],
  },
  '0004_plan_of_key_look_up.sql': { gone: [], come: [] },
  '0005_movement_of_its_operation.sql': {
    gone: [],
    come: [
      'function refuse_movement_of_another_operation()',
      'trigger inventory_movements.inventory_movements_named',
    ],
  },
};

describe('a migration', () => {
  test('changes of older tables what is listed here, and nothing else', async () => {
    const found: Record<string, object> = {};
    for (const { number, name } of (await readMigrations()).slice(1)) {
      found[name] = changeOf(parts[number - 1] ?? [], parts[number] ?? []);
    }
    expect(found).toEqual(changes);
  });

  test('is there whole or not at all, whenever its process is killed', async () => {
    expect(existsSync(migrationCode), 'run "npm run build" first').toBe(true);
    const [messages, ends] = await runKilledAt(undefined);
    expect(ends).toBe(snapshots.length - 1);
    const versions = new Set<number>();
    const step = Math.max(1, Math.floor(messages / 7));
    for (let at = 1; at <= messages; at += step) {
      const [, version] = await runKilledAt(at);
      versions.add(version);
    }
    // Killed before the first and after the last of them, at least.
    expect(versions.size).toBeGreaterThan(1);
  }, 120_000);
});

// In a database of an operator's the named ones sort as it does by default, and start-up looks at
// the version of that; the private server's default never changes (src/database/open.test.ts).
test('an index sorts bytes, but for external IDs and states', async () => {
  const found = await withClient(ownerOf(templates.at(-1) ?? ''), async (client) => {
    const { rows } = await client.query<{ found: string }>(
      `select i.indexrelid::regclass::text as found from pg_index i
       cross join lateral unnest(i.indcollation) as part (oid)
       join pg_collation c on c.oid = part.oid
       where i.indrelid in (select oid from pg_class where relnamespace = 'public'::regnamespace)
         and c.collname <> 'C' order by 1`,
    );
    return rows.map((row) => row.found);
  });
  expect(found).toEqual([
    'customers_external_id',
    'customers_status',
    'locations_external_id',
    'products_external_id',
    'products_status',
  ]);
});

describe('a migration whose tables others hold', () => {
  test('gives way to whoever works, and is applied once they let go', async () => {
    const { owner, service } = await copyOf(2);
    await withClient(owner, async (backup) => {
      await backup.query('begin; select from inventory_movements limit 1');
      let ways = 0;
      const migrating = migrate({
        owner,
        service,
        onBlocked: () => {
          ways += 1;
        },
      });
      await withClient(owner, async (worker) => {
        // Behind a migration that held out it would wait for as long as the backup takes.
        await worker.query(`set lock_timeout = '10s'`);
        while (ways < 1) await worker.query('select from inventory_levels for update');
      });
      await backup.query('commit');
      expect((await migrating).applied).toHaveLength(snapshots.length - 3);
    });
    expect(await schemaSnapshot(owner)).toBe(snapshots.at(-1));
  });
});

/**
 * Migrates a database of the first version in a process that is killed at its nth message to the
 * database. How many messages there were, and the version it left.
 */
async function runKilledAt(nth: number | undefined): Promise<[messages: number, version: number]> {
  const { owner, service } = await copyOf(1);
  const proxy = new DatabaseProxy(owner);
  let child: ChildProcess | undefined;
  let messages = 0;
  proxy.toDatabase = (bytes) => {
    messages += 1;
    // The database gets the message, and nobody is there to hear what became of it.
    if (messages === nth) child?.kill('SIGKILL');
    return bytes;
  };
  const urls = JSON.stringify({ owner: await proxy.listen(), service });
  const code = `import { migrate } from ${JSON.stringify(migrationCode.href)};
    await migrate(${urls});`;
  child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: 'ignore' });
  await once(child, 'exit');
  await proxy.close();
  // Its backend may still be at the statement that it was sent.
  const isGone = async () => {
    const { rowCount } = await admin.query(
      'select from pg_stat_activity where datname = $1 limit 1',
      [new URL(owner).pathname.slice(1)],
    );
    return rowCount === 0;
  };
  await expect.poll(isGone, { interval: 5 }).toBe(true);
  const version = await withClient(owner, async (client) => {
    const { rows } = await client.query<{ version: number }>(
      'select max(number) as version from schema_migrations',
    );
    return rows[0]?.version ?? -1;
  });
  expect(await schemaSnapshot(owner), `killed at message ${nth}`).toBe(snapshots[version]);
  // What is missing can be applied, whoever left it so.
  const { applied } = await migrate({ owner, service });
  expect(applied).toHaveLength(snapshots.length - 1 - version);
  return [messages, version];
}

async function copyOf(version: number): Promise<{ owner: string; service: string }> {
  const name = newName();
  await admin.query(`create database ${name} template ${templates[version]}`);
  return { owner: ownerOf(name), service: withDatabase(inject('serviceUrl'), name) };
}

function newName(): string {
  const name = `migrations_${randomBytes(6).toString('hex')}`;
  made.push(name);
  return name;
}

function ownerOf(name: string): string {
  return withDatabase(inject('ownerUrl'), name);
}

async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
