// What a backup guarantees of its content: it holds everything, what comes back is the same and
// sound, and what is not a whole backup changes nothing.

import { gunzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { schemaSnapshot } from '../../../scripts/schema.ts';
import { Applications } from '../../../test/kit/applications.ts';
import { AuditTrail } from '../../../test/kit/audit.ts';
import {
  altered,
  contentOf,
  readerOf,
  restoreBackup,
  takeBackup,
  withManifest,
} from '../../../test/kit/backup.ts';
import { createEmptyDatabase, type TestDatabase } from '../../../test/kit/database.ts';
import { type Environment, startEnvironment } from '../../../test/kit/environment.ts';
import { createTestMerchant } from '../../../test/kit/merchant.ts';
import { migrationLine } from '../../access/audit/operator-entry.ts';
import { verifyChain } from '../../access/audit/verify.ts';
import { createMerchant } from '../../access/operator/merchants.ts';
import { verifyLedger } from '../../inventory/verify.ts';
import { connectDatabase } from '../connect.ts';
import { migrate, migrateThrough } from '../migrate.ts';
import { readMigrations } from '../migrations.ts';
import { requireKnownSchema } from './format.ts';
import { keptTables, leftOut } from './tables.ts';

let service: Environment;
let source: TestDatabase;
let backup: Buffer;
const made: TestDatabase[] = [];

/** Texts that a careless form would take for something else. */
const oddities = ['\\.', 'tab\there', '\\N', 'back\\slash', '"{a,b}"', 'Zoë’s 🙂', "o'clock"];

beforeAll(async () => {
  service = await startEnvironment();
  source = service.db;
  const { merchant, token } = await createTestMerchant(service);
  for (const text of oddities) {
    const product = await service.given.product(merchant);
    const values = [product, text, `${text}\n\\.\n${text}`, JSON.stringify({ text })];
    await source.sql(
      'update products set name = $2, description = $3, metadata = $4 where id = $1',
      values,
    );
  }
  // Two tables that refer to each other.
  const applications = new Applications(source);
  const application = await applications.application();
  const approval = await applications.approval(merchant, application);
  const consent = await applications.consent(merchant, application, { approval, by: token });
  await applications.token(merchant, consent, ['products.read']);
  const trail = new AuditTrail(source);
  await trail.append('some.action', 'another.action');
  await trail.database.close();
  // When a token was used is noted a moment after it was.
  const used = 'select from credentials where last_used_at is not null';
  await vi.waitFor(async () => expect(await source.sql(used)).toHaveLength(1), 10_000);
  backup = await takeBackup(source);
});
afterEach(async () => {
  for (const db of made.splice(0)) await db.drop();
});
afterAll(() => service.stop());

async function empty(): Promise<TestDatabase> {
  const db = await createEmptyDatabase();
  made.push(db);
  return db;
}

async function proofs(db: TestDatabase, expectedHash?: string) {
  const database = connectDatabase({ url: db.serviceUrl, writers: 1 });
  const ledger = await verifyLedger(database);
  const chain = await verifyChain(database.reader, { expect: expectedHash });
  await database.close();
  return { ledger, chain };
}

test('every table is in the backup, or left out for a reason', async () => {
  const relations = await source.sql<{ name: string; kind: string; has_key: boolean }>(
    `select c.relname as name, c.relkind as kind,
       exists (select from pg_index i where i.indrelid = c.oid and i.indisprimary) as has_key
     from pg_class c
     where c.relnamespace::regnamespace::text = any (current_schemas(false)::text[])
       and c.relkind not in ('i', 't', 'c')`,
  );
  const names = relations.map(({ name }) => name).sort();
  expect(names).toEqual([...keptTables, ...Object.keys(leftOut)].sort());
  // A sequence or a view would need thought as well.
  expect(relations.filter(({ kind, has_key }) => kind !== 'r' || !has_key)).toEqual([]);
  for (const reason of Object.values(leftOut)) expect(reason).toMatch(/\S+ \S+ \S+/);
});

describe('a restored database', () => {
  test('is the same in every row and in its schema, and proves itself', async () => {
    const db = await empty();
    const [end] = await source.sql<{ hash: string }>(
      "select encode(hash, 'hex') as hash from audit_head",
    );
    expect(await restoreBackup(db, backup)).toEqual([]);
    const journals = 'select id from journals order by merchant_id';
    const [before, after] = [await source.sql(journals), await db.sql(journals)];
    expect(after).toHaveLength(before.length);
    expect(after.filter(({ id }) => before.some((one) => one.id === id))).toEqual([]);
    expect(await contentOf(db)).toEqual(await contentOf(source));
    expect(await schemaSnapshot(db.ownerUrl)).toBe(await schemaSnapshot(source.ownerUrl));
    const { ledger, chain } = await proofs(db, end?.hash);
    expect(ledger).toMatchObject({ ok: true, differences: [] });
    expect(ledger.movements).toBeGreaterThan(0);
    expect(chain).toMatchObject({ ok: true, fault: null });
    const lines = await new AuditTrail(db).lines();
    const made = ['person.invite', 'token.create'];
    expect(lines.map(({ action }) => action).filter((one) => !made.includes(one))).toEqual([
      'some.action',
      'another.action',
      'database.backup',
      'database.restore',
    ]);
    // And it is backed up as what it was restored from, to the byte, but for the IDs of journals.
    const rowsOf = (bytes: Buffer) => {
      const text = gunzipSync(bytes).toString();
      const rows = text.slice(text.indexOf('\n'), text.indexOf('"some.action"'));
      return rows.replaceAll(/jrn_\w+/g, 'jrn_');
    };
    expect(rowsOf(await takeBackup(db))).toBe(rowsOf(backup));
  });

  test('may have been migrated before, by a service that left its lines', async () => {
    const db = await empty();
    await migrate({ owner: db.ownerUrl, service: db.serviceUrl, auditLine: migrationLine });
    await restoreBackup(db, backup);
    expect(await contentOf(db)).toEqual(await contentOf(source));
    expect((await proofs(db)).chain.ok).toBe(true);
  });

  test('belongs to a service that is the owner itself, where there is one role', async () => {
    const db = await empty();
    const alone = { ...db, serviceUrl: db.ownerUrl };
    await restoreBackup(alone, backup);
    await restoreBackup(await empty(), await takeBackup(alone));
    expect(await contentOf(db)).toEqual(await contentOf(source));
  });

  test.each([1])('comes from a backup of schema version %i and is of this one', async (n) => {
    const old = await empty();
    const db = await empty();
    await migrateThrough(old.ownerUrl, n);
    await addOldShop(old);
    const applied = await restoreBackup(db, await takeBackup(old));
    const names = (await readMigrations()).map(({ name }) => name);
    expect(applied).toEqual(names.slice(n));
    await migrate({ owner: old.ownerUrl, service: old.serviceUrl });
    expect(await contentOf(db)).toEqual(await contentOf(old));
    expect(await schemaSnapshot(db.ownerUrl)).toBe(await schemaSnapshot(source.ownerUrl));
    const { ledger, chain } = await proofs(db);
    expect(ledger).toEqual({ ok: true, levels: 1, movements: 2, differences: [] });
    expect(chain.ok).toBe(true);
  });
});

describe('what is not a whole backup is refused, and changes nothing: ', () => {
  let target: TestDatabase;
  beforeAll(async () => {
    target = await createEmptyDatabase();
  });
  afterAll(() => target.drop());

  async function refusedAndEmpty(bytes: Buffer, reason: RegExp | string): Promise<void> {
    await expect(restoreBackup(target, bytes)).rejects.toThrow(reason);
    const [schema] = await target.sql("select to_regclass('merchants') is null as is_missing");
    if (schema?.is_missing === true) return;
    const rows = Object.values(await contentOf(target)).flat();
    const lines = await target.sql('select from audit_records');
    expect([...rows, ...lines]).toEqual([]);
  }

  test('one that ends too early, wherever', async () => {
    const cuts = Array.from({ length: 5 }, (_, n) => Math.floor((backup.length * n) / 5));
    for (const end of [...cuts, backup.length - 9, backup.length - 8, backup.length - 1]) {
      await refusedAndEmpty(backup.subarray(0, end), /damaged: .*Nothing was restored/);
    }
    const whole = altered(backup, (text) => text.slice(0, text.lastIndexOf('\n{') + 1));
    await refusedAndEmpty(whole, /ends too early/);
  });

  test('one with a changed byte, wherever', async () => {
    for (let n = 0; n < 12; n += 1) {
      const bytes = Buffer.from(backup);
      const at = 12 + Math.floor(((backup.length - 24) * n) / 12);
      bytes.writeUInt8(bytes.readUInt8(at) ^ 0x10, at);
      await refusedAndEmpty(bytes, /[Nn]othing was restored|not a backup of Tallybook/);
    }
  });

  test('one whose content somebody has changed and compressed again', async () => {
    const customer = /^mer_.*\tCustomer 1\t.*\n/m;
    const changes: readonly ((text: string) => string)[] = [
      (text) => text.replace('Customer 1', 'Customer 4'),
      (text) => text.replace(customer, ''),
      (text) => text.replace(customer, (row) => row + row.replaceAll('1', '9')),
      (text) => text.replace('"program_version":"0.0.0"', '"program_version":"9.9.9"'),
      (text) => `${text}more\n`,
    ];
    for (const change of changes) {
      await refusedAndEmpty(altered(backup, change), /[Nn]othing was restored/);
    }
  });

  test('one whose ledger does not prove itself', async () => {
    const sums = altered(backup, (text) => text.replace('correction\t0\t', 'correction\t1\t'));
    await refusedAndEmpty(sums, /refused its inventory_movements/);
  });

  test('one of a database with a wrong level, which is named', async () => {
    const db = await empty();
    await restoreBackup(db, backup);
    const [level] = await db.sql(`select * from inventory_levels where sequence > 0 limit 1`);
    await db.sql(`begin; set local session_replication_role = 'replica';
      update inventory_levels set quantity = quantity + 1
        where (product_id, location_id) = ('${level?.product_id}', '${level?.location_id}');
      commit`);
    const named = `${level?.product_id} at ${level?.location_id} of ${level?.merchant_id}`;
    const reason = `inventory_levels (a level differs from its last movement: ${named})`;
    await refusedAndEmpty(
      await takeBackup(db),
      `the database refused its ${reason}. Nothing was restored`,
    );
  });

  test('one of a database in which something refers to nothing', async () => {
    const db = await empty();
    await restoreBackup(db, backup);
    await db.sql(`begin; set local session_replication_role = 'replica';
      delete from merchants; commit`);
    await refusedAndEmpty(
      await takeBackup(db),
      /^the database refused its \w+ \(.* violates foreign key .*\)\. Nothing was restored\. To/,
    );
  });

  test('one with values that no column takes, which are not told', async () => {
    const unit = altered(backup, (text) => text.replace('\teach\t0\t', '\teach\tmine\t'));
    await refusedAndEmpty(
      unit,
      /^the database refused its products \(the file is damaged or altered, SQLSTATE 22P02\)\. N/,
    );
  });

  test('one of a newer program, or of another schema', async () => {
    const known = await readMigrations();
    const last = { number: known.length + 1, name: 'later.sql', checksum: 'x' };
    const newer = withManifest(backup, (manifest) => ({
      ...manifest,
      schema_version: last.number,
      migrations: [...manifest.migrations, last],
    }));
    const other = withManifest(backup, (manifest) => ({
      ...manifest,
      migrations: manifest.migrations.map((one) => ({ ...one, checksum: 'x' })),
    }));
    for (const [bytes, reason] of [
      [newer, /version \d+, this program knows \d+: restore it with a newer one/],
      [other, /taken of another schema, because its 0001_foundation.sql/],
    ] as const) {
      const { manifest } = await readerOf(bytes);
      expect(() => requireKnownSchema(manifest, known)).toThrow(reason);
    }
    const form = withManifest(backup, (manifest) => ({ ...manifest, format_version: 2 }));
    await expect(readerOf(form)).rejects.toThrow(/form 2, this program knows 1: run a newer one/);
    await expect(readerOf(Buffer.from('-- PostgreSQL dump'))).rejects.toThrow(/damaged/);
    await expect(readerOf(altered(backup, () => '{}\n'))).rejects.toThrow(/not a backup/);
  });

  test('and what is one is taken by the same database afterwards', async () => {
    await restoreBackup(target, backup);
    expect(await contentOf(target)).toEqual(await contentOf(source));
  });

  test('into a database that is not empty', async () => {
    const before = await contentOf(target);
    await expect(restoreBackup(target, backup)).rejects.toThrow(
      /not empty, it holds merchants, .*: restore into a new data directory/,
    );
    expect(await contentOf(target)).toEqual(before);
    const db = await empty();
    await migrate({ owner: db.ownerUrl, service: db.serviceUrl });
    const database = connectDatabase({ url: db.serviceUrl, writers: 1 });
    await createMerchant(database, 'Corner Shop');
    await database.close();
    await expect(restoreBackup(db, backup)).rejects.toThrow(/it holds merchants, credentials/);
    expect((await proofs(db)).chain).toMatchObject({ ok: true, records: 1 });
  });

  test('into a database that is further than the backup', async () => {
    const old = await empty();
    const db = await empty();
    await migrateThrough(old.ownerUrl, 1);
    await addOldShop(old);
    await migrate({ owner: db.ownerUrl, service: db.serviceUrl });
    await db.sql("insert into schema_migrations values (2, 'later', '', 1)");
    await expect(restoreBackup(db, await takeBackup(old))).rejects.toThrow(
      /at (?:schema )?version 2/,
    );
  });
});

test('is read the same in whatever pieces it arrives', async () => {
  for (const size of [1, 2, 3, 7, 4_096]) {
    const reader = await readerOf(backup, size);
    const counts: number[] = [];
    for (const _ of reader.manifest.tables) {
      const pieces: Buffer[] = [];
      for await (const piece of reader.rows()) pieces.push(piece);
      counts.push(Buffer.concat(pieces).toString().split('\n').length - 1);
    }
    expect((await reader.end(counts)).tables.map(({ rows }) => rows)).toEqual(counts);
  }
});

test('is taken with the rights of the service, where there are no others', async () => {
  const bytes = await takeBackup({ ...source, ownerUrl: source.serviceUrl });
  expect((await readerOf(bytes)).manifest.tables.map(({ name }) => name)).toEqual(keptTables);
  const db = await empty();
  await migrate({ owner: db.ownerUrl, service: db.serviceUrl });
  const restoring = restoreBackup({ ...db, ownerUrl: db.serviceUrl }, bytes);
  await expect(restoring).rejects.toThrow(/needs the owner of the schema/);
});

test('names tables of others that it does not hold', async () => {
  const warnings: string[] = [];
  await source.sql('create table of_somebody_else (id integer)');
  const bytes = await takeBackup(source, (message) => warnings.push(message));
  await source.sql('drop table of_somebody_else');
  expect(warnings).toEqual(['not part of Tallybook, and not in the backup: of_somebody_else']);
  expect((await readerOf(bytes)).manifest.tables.map(({ name }) => name)).toEqual(keptTables);
});

/** A level with two movements, in columns that every version of the schema has. */
async function addOldShop(db: TestDatabase): Promise<void> {
  const of = `'mer_1', 'prod_1', 'loc_1'`;
  const hash = (key: string) => `sha256('${key}'), sha256('${key}'), 1`;
  const operation = (n: number) =>
    `('mer_1', 'op_${n}', 'cred_1', 'inventory.adjust', ${hash(`k${n}`)}, 'succeeded',
      'imv_${n}', 1, ${n}, 'loc_1', 'req_1', now())`;
  const movement = (n: number, before: number) =>
    `(${of}, 'imv_${n}', ${n}, 'adjustment', 'stock_count', ${before}, 2, ${before + 2},
      'op_${n}', ${n}, 1, 'cred_1', 'personal_access_token', now())`;
  await db.sql(`set search_path = cell_1, public;
    insert into merchants (id, name, created_at) values ('mer_1', 'Corner Shop', now());
    insert into journals (merchant_id, id) values ('mer_1', 'jrn_1');
    insert into credentials (merchant_id, id, kind, name, scopes, all_locations, location_ids,
      created_at)
      values ('mer_1', 'cred_1', 'personal_access_token', 'till', '{}', true, '{}', now());
    insert into products (merchant_id, id, name, unit_code, unit_precision, created_at, updated_at)
      values ('mer_1', 'prod_1', 'Flour', 'each', 0, now(), now());
    insert into locations (merchant_id, id, name, created_at, updated_at)
      values ('mer_1', 'loc_1', 'Main Street', now(), now());
    insert into operations (merchant_id, id, credential_id, type, key_hash, fingerprint,
      fingerprint_version, status, resource_id, movements, position, location_id, request_id,
      created_at)
      values ${operation(1)}, ${operation(2)};
    insert into inventory_levels (merchant_id, product_id, location_id, quantity, sequence,
      last_movement_id, first_position, updated_at) values (${of}, 4, 2, 'imv_2', 1, now());
    insert into inventory_movements (merchant_id, product_id, location_id, id, sequence, type,
      reason, quantity_before, quantity_delta, quantity_after, operation_id, position,
      line, credential_id, actor_kind, recorded_at) values ${movement(1, 0)}, ${movement(2, 2)}`);
}
