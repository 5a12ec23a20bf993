// What a line says of an operator's action: who did it, on which machine, and what it was.

import { hostname, userInfo } from 'node:os';
import type { Statement } from '../../core/statement.ts';
import { type AuditEntry, appendAudit, type TimedEntry } from './store.ts';

/** The line of an action, for the transaction that does it. */
export function operatorLine(entry: AuditEntry): Statement {
  return appendAudit([operatorEntry(entry)]);
}

export function migrationLine(name: string): Statement {
  return operatorLine({ action: 'schema.migrate', migration: name });
}

export function operatorEntry(entry: AuditEntry): TimedEntry {
  return { entry: { ...entry, operator: `${userName()}@${hostname()}` }, age: 0 };
}

/** In a container the user may have no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.()}`;
  }
}
