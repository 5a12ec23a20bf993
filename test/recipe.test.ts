// The recipe of CONTRIBUTING.md for a resource, followed in a copy of the tree: how many files it
// takes, and that everything central takes the resource from its declaration.

import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newKey } from './kit/api.ts';
import { createEmptyDatabase, type TestDatabase } from './kit/database.ts';
import type { Environment } from './kit/environment.ts';
import { barcode, type Change, type Insertion, suppliers } from './recipe/suppliers.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

let copy: string;
let change: Change;
let places: readonly Insertion[];
let db: TestDatabase;
let environment: Environment;

/** A module of the copy, with the type that it has here. */
const load = <Module>(path: string): Promise<Module> => import(/* @vite-ignore */ join(copy, path));

beforeAll(async () => {
  copy = await mkdtemp(join(tmpdir(), 'tallybook-recipe-'));
  for (const one of ['src', 'db', 'test/kit', 'package.json']) {
    await cp(join(root, one), join(copy, one), { recursive: true });
  }
  await symlink(join(root, 'node_modules'), join(copy, 'node_modules'));
  const number = await nextMigration();
  change = suppliers(number);
  places = barcode(number);
  for (const [path, content] of Object.entries(change.added)) {
    await mkdir(dirname(join(copy, path)), { recursive: true });
    await writeFile(join(copy, path), content);
  }
  for (const one of [...change.inserted, ...places]) await insert(one);
  db = await createEmptyDatabase();
  const { migrate } =
    await load<typeof import('../src/database/migrate.ts')>('src/database/migrate.ts');
  await migrate({ owner: db.ownerUrl, service: db.serviceUrl });
  const { startEnvironment } =
    await load<typeof import('./kit/environment.ts')>('test/kit/environment.ts');
  environment = await startEnvironment({ db });
});
afterAll(async () => {
  await environment?.stop();
  if (copy !== undefined) await rm(copy, { recursive: true });
});

async function nextMigration(): Promise<string> {
  const files = await readdir(join(copy, 'db/migrations/cell'));
  const last = Math.max(...files.map((file) => Number.parseInt(file, 10)));
  return String(last + 1).padStart(4, '0');
}

async function insert({ file, behind, text }: Insertion): Promise<void> {
  const path = join(copy, file);
  const before = await readFile(path, 'utf8');
  expect(before.split(behind), `${file} has ${JSON.stringify(behind)} once`).toHaveLength(2);
  await writeFile(
    path,
    before.replace(behind, () => behind + text),
  );
}

describe('a resource by the recipe', () => {
  test('takes at most 8 files, and a further member at most 4 places', () => {
    const touched = new Set(change.inserted.map(({ file }) => file));
    expect(Object.keys(change.added).length + touched.size).toBeLessThanOrEqual(8);
    expect(places.length).toBeLessThanOrEqual(4);
  });

  test('is created, replayed, changed, listed, read, followed and hidden by scope', async () => {
    const merchant = await environment.given.merchant();
    const caller = async (scopes: readonly string[]) => {
      const { token } = await environment.given.credential(merchant, { scopes });
      return environment.api.as(token);
    };
    const api = await caller(['suppliers.read', 'suppliers.write']);
    const body = { name: 'Mill', external_id: 'M-1', barcode: '4006381333931' };
    const key = newKey();
    const made = await api.post('/suppliers', body, { key });
    expect(made.status, JSON.stringify(made.body)).toBe(201);
    const { id } = made.body.data;
    expect(made.headers.get('location')).toBe(`/api/v1/suppliers/${id}`);
    expect(made.body.data).toEqual({
      ...body,
      id: expect.stringMatching(/^sup_/),
      metadata: {},
      status: 'active',
      version: 1,
      created_at: expect.any(String),
      updated_at: expect.any(String),
    });
    const changed = await api.patch(`/suppliers/${id}`, { barcode: null, metadata: { a: 'b' } });
    expect(changed.body.data).toMatchObject({ barcode: null, metadata: { a: 'b' }, version: 2 });
    const again = await api.post('/suppliers', body, { key });
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
    expect(again.body.data).toEqual(changed.body.data);
    expect(again.body.meta.operation_id).toBe(made.body.meta.operation_id);
    const upsert = (body: object) => api.patch('/suppliers?external_id=M-2', body);
    expect((await upsert({})).body.error.details).toMatchObject([{ field: 'name' }]);
    const other = await upsert({ name: 'Sons' });
    expect([other.status, (await upsert({ status: 'archived' })).status]).toEqual([201, 200]);
    const taken = await api.post('/suppliers', { name: 'Other', external_id: 'M-1' });
    expect([taken.status, taken.code]).toEqual([422, 'external_id_taken']);
    const listed = await api.get('/suppliers?external_id=M-1&updated_after=2026-01-01T00:00:00Z');
    expect(listed.body.data).toEqual([changed.body.data]);
    expect((await api.get(`/suppliers/${id}`)).body.data).toEqual(changed.body.data);
    const others = await caller(['customers.read', 'customers.write', 'operations.read']);
    expect((await others.get(`/suppliers/${id}`)).code).toBe('insufficient_scope');
    const operation = `/operations/${made.body.meta.operation_id}`;
    expect((await others.get(operation)).status).toBe(404);
    const reader = await caller(['suppliers.read', 'operations.read']);
    expect((await reader.get(operation)).body.data.resource).toEqual({ type: 'supplier', id });
    const follower = await caller(['suppliers.read', 'events.read']);
    const events = (await follower.get('/events')).body.data;
    expect(events).toMatchObject([
      { type: 'supplier.created', resource: { type: 'supplier', id, version: 2 } },
      { type: 'supplier.updated', data: changed.body.data },
      { type: 'supplier.created', resource: { type: 'supplier', id: other.body.data.id } },
      { type: 'supplier.updated', data: { name: 'Sons', status: 'archived' } },
    ]);
    const { body: unseen } = await (await caller(['customers.read', 'events.read'])).get('/events');
    expect([unseen.data, unseen.meta.through_position]).toEqual([[], '4']);
  });

  test('is in the document, with its tag and its example', async () => {
    const { endpoints } = await load<typeof import('../src/app.ts')>('src/app.ts');
    const { openApiDocument } = await load<typeof import('../src/http/document/openapi.ts')>(
      'src/http/document/openapi.ts',
    );
    const { tags, paths, components } = openApiDocument(endpoints, '0.0.0');
    expect(tags).toContainEqual({ name: 'suppliers', description: 'Whom the merchant buys from.' });
    const body = paths['/suppliers']?.post?.requestBody;
    expect(body?.content['application/json'].example).toMatchObject({
      name: 'Mill & Sons',
      barcode: '4006381333931',
    });
    expect(components.schemas.Supplier?.properties).toHaveProperty('barcode');
  });

  test('may be added and changed by the service, in its columns, and never removed', async () => {
    const user = new URL(db.serviceUrl).username;
    const [rights] = await db.sql(
      `select has_table_privilege($1, 'suppliers', 'insert') as insert,
         has_column_privilege($1, 'suppliers', 'barcode', 'update') as barcode,
         has_column_privilege($1, 'suppliers', 'created_at', 'update') as created_at,
         has_table_privilege($1, 'suppliers', 'delete') as delete`,
      [user],
    );
    expect(rights).toEqual({ insert: true, barcode: true, created_at: false, delete: false });
  });

  test('is in a backup, and back after a restore', async () => {
    const { takeBackup, restoreBackup } =
      await load<typeof import('./kit/backup.ts')>('test/kit/backup.ts');
    const backup = await takeBackup(db);
    const other = await createEmptyDatabase();
    try {
      await restoreBackup(other, backup);
      const rows = 'select to_jsonb(s) as row from suppliers s order by id';
      const restored = await other.sql(rows);
      expect(restored).toHaveLength(2);
      expect(restored).toEqual(await db.sql(rows));
    } finally {
      await other.drop();
    }
  });
});
