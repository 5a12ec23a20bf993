// Restores a backup into a database that is opened for it. The schema of the backup is checked
// before anything is made.

import type { Readable } from 'node:stream';
import type { Statement } from '../../core/statement.ts';
import { readMigrations } from '../migrations.ts';
import type { OpenOptions } from '../open.ts';
import { type Manifest, requireKnownSchema } from './format.ts';
import { loadBackup } from './load.ts';
import { BackupReader } from './read.ts';

/** What was loaded, of which backup. */
export interface RestoredBackup {
  readonly created_at: string;
  readonly program_version: string;
  readonly sha256: string;
  readonly rows: number;
  /** Foreign keys that not all rows keep; none unless that was accepted. */
  readonly broken: readonly string[];
}

type Fill = NonNullable<OpenOptions['fill']>;

interface RestoreOptions<Opened> {
  /** The line that follows in the audit trail that is restored. */
  readonly auditLine: (
    backup: Pick<Manifest, 'created_at'> & { readonly sha256: string },
  ) => Statement;
  /** Takes rows as they are, although they contradict each other: to save what can be saved. */
  readonly acceptUnsound?: boolean | undefined;
  /** Into how many cells merchants are dealt out; otherwise each stays in its own. */
  readonly cells?: number | undefined;
  /** Opens the database: calls `fill` while it is empty, then brings it up to date. */
  readonly open: (fill: Fill) => Promise<Opened>;
}

/**
 * Returns what `open` has returned, and what was loaded.
 * @throws Error when the backup cannot be loaded whole; nothing was restored then.
 */
export async function restoreBackup<Opened>(
  source: Readable,
  { auditLine, acceptUnsound, cells, open }: RestoreOptions<Opened>,
): Promise<[Opened, RestoredBackup]> {
  const backup = await BackupReader.open(source);
  try {
    const { created_at, program_version } = backup.manifest;
    requireKnownSchema(backup.manifest, await readMigrations());
    let restored: RestoredBackup | undefined;
    const opened = await open(async (target, signal) => {
      const lineOf = ({ sha256 }: { readonly sha256: string }) => auditLine({ created_at, sha256 });
      const options = { ...target, auditLine: lineOf, acceptUnsound, cells, signal };
      const { tables, sha256, broken } = await loadBackup(options, backup);
      const rows = tables.reduce((total, table) => total + table.rows, 0);
      restored = { created_at, program_version, sha256, rows, broken };
    });
    if (restored === undefined) throw new Error('nothing was restored');
    return [opened, restored];
  } finally {
    backup.close();
  }
}
