// Backups in the memory of a test: taken and restored as the commands do it, and altered.

import { Readable, Writable } from 'node:stream';
import { gunzipSync, gzipSync } from 'node:zlib';
import { operatorLine } from '../../src/access/audit/operator-entry.ts';
import { readConfig } from '../../src/config.ts';
import type { Manifest, Trailer } from '../../src/database/backup/format.ts';
import { loadBackup } from '../../src/database/backup/load.ts';
import { BackupReader } from '../../src/database/backup/read.ts';
import { backUp } from '../../src/database/backup/write.ts';
import { openServer, openStore } from '../../src/database/open.ts';
import { startPrivateServer } from '../../src/postgres/server.ts';
import type { TestDatabase } from './database.ts';

const quiet = { info: () => undefined, warn: () => undefined };

function configOf(db: TestDatabase) {
  const flags = { databaseUrl: db.serviceUrl };
  return readConfig(flags, { TALLYBOOK_MIGRATE_URL: db.ownerUrl });
}

export async function takeBackup(db: TestDatabase, warn = (_: string) => {}): Promise<Buffer> {
  const chunks: Buffer[] = [];
  const destination = new Writable({
    write(chunk, _, done) {
      chunks.push(chunk);
      done();
    },
  });
  const { url, found } = await openServer(configOf(db), quiet, {
    startPrivateServer,
    purpose: 'command',
  });
  const auditLine = operatorLine({ action: 'database.backup', file: 'memory' });
  await backUp({ url, found, programVersion: '0.0.0', auditLine, warn }, destination);
  return Buffer.concat(chunks);
}

/** In pieces of a size, when one is given. */
export function readerOf(backup: Buffer, size = backup.length): Promise<BackupReader> {
  const pieces = Array.from({ length: Math.ceil(backup.length / size) }, (_, n) =>
    backup.subarray(n * size, (n + 1) * size),
  );
  return BackupReader.open(Readable.from(pieces));
}

/** Loads it and migrates on. Resolves with the names of the migrations that came after it. */
export async function restoreBackup(
  db: TestDatabase,
  backup: Buffer,
  cells?: number,
  rowsAtOnce?: number,
): Promise<readonly string[]> {
  const reader = await readerOf(backup);
  const auditLine = ({ sha256 }: Trailer) => operatorLine({ action: 'database.restore', sha256 });
  const store = await openStore(configOf(db), quiet, {
    startPrivateServer,
    purpose: 'migration',
    fill: async (target) => {
      await loadBackup({ ...target, auditLine, cells, rowsAtOnce }, reader);
    },
  });
  await store.close();
  return store.applied;
}

/** The same backup with another content, compressed as it should be. */
export function altered(backup: Buffer, change: (text: string) => string): Buffer {
  const text = gunzipSync(backup).toString('latin1');
  const other = change(text);
  if (other === text) throw new Error('nothing was altered');
  return gzipSync(Buffer.from(other, 'latin1'));
}

export function withManifest(backup: Buffer, change: (manifest: Manifest) => object): Buffer {
  return altered(backup, (text) => {
    const end = text.indexOf('\n');
    return JSON.stringify(change(JSON.parse(text.slice(0, end)))) + text.slice(end);
  });
}

/** Every row of every table but the trail's, as text and in order. */
export async function contentOf(db: TestDatabase): Promise<Readonly<Record<string, unknown>>> {
  const tables = await db.sql<{ name: string }>(
    `select format('%s.%s', c.relnamespace::regnamespace, c.relname) as name from pg_class c
     where (c.relnamespace = 'public'::regnamespace
         or c.relnamespace in (select name::regnamespace from cells)) and c.relkind = 'r'
       and c.relname not in ('cells', 'schema_migrations', 'rate_buckets', 'audit_records',
         'audit_head')
     order by 1`,
  );
  const content: Record<string, unknown> = {};
  for (const { name } of tables) {
    // A restore gives journals other IDs.
    const kept = name.endsWith('.journals') ? 't.merchant_id' : 't::text';
    const rows = await db.sql(`select ${kept} as row from ${name} t order by 1`);
    content[name] = rows.map(({ row }) => row);
  }
  return content;
}
