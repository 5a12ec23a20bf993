// The daily backups of a node: made of its settings, and shown in its metrics and by `/readyz`.

import type { Logger } from 'pino';
import { takeProvenBackup } from '../backups/command.ts';
import { DailyBackups } from '../backups/daily.ts';
import { BackupFolder } from '../backups/folder.ts';
import { type Backups, environmentFor, type Storage } from '../config.ts';
import type { Metrics } from '../http/metrics.ts';
import type { BackupSight } from '../status/endpoints.ts';

/** A folder that cannot be written keeps no shop from selling: it is a failed backup. */
export function dailyBackups(backups: Backups, storage: Storage, log: Logger): DailyBackups {
  const { directory, keep, at } = backups;
  const folder = new BackupFolder(directory);
  const environment = environmentFor(storage);
  const take = (file: string, signal: AbortSignal) => takeProvenBackup(file, environment, signal);
  const daily = new DailyBackups({ folder, keep, at, take, log });
  log.info({ directory, keep, at, ...daily.state }, 'taking a backup each day');
  return daily;
}

/** The reason of a failure is in the log and in `tallybook status`. */
export function backupDetails({ last, failure }: BackupSight) {
  return { last: last?.toISOString() ?? null, failed: failure !== undefined };
}

export function exposeBackups(backups: DailyBackups, metrics: Metrics): void {
  const age = 'Seconds since the last backup that was restored and verified; +Inf: there is none.';
  metrics.expose('tallybook_backup_age_seconds', age, () => {
    const { last } = backups.state;
    return last === undefined ? Number.POSITIVE_INFINITY : (Date.now() - +last) / 1_000;
  });
  const failed = 'Whether the last try to take a backup failed.';
  metrics.expose('tallybook_backup_failed', failed, () => (backups.state.failure ? 1 : 0));
}
