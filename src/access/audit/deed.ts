// What the operator does, as the trail says it: who, on which machine, and what. The one place
// that knows who the operator is.

import { hostname, userInfo } from 'node:os';
import type { Statement } from '../../core/statement.ts';
import { type AuditEntry, appendAudit, type TimedEntry } from './store.ts';

/** The action and what it is done to. Never a secret, and nothing of a customer but the ID. */
export type Deed = AuditEntry;

export function deedEntry(deed: Deed): TimedEntry {
  return { entry: { ...deed, operator: `${userName()}@${hostname()}` }, age: 0 };
}

/** The line of a deed, for the transaction that does it. */
export function deedLine(deed: Deed): Statement {
  return appendAudit([deedEntry(deed)]);
}

export function migrationDeed(name: string): Statement {
  return deedLine({ action: 'schema.migrate', migration: name });
}

/** In a container the user may have no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.()}`;
  }
}
