// The statements of the audit trail. Appending goes through one function of the database, which
// numbers and chains the lines behind one lock.

import type { Statement } from '../../core/statement.ts';

/** What happened, as its line says it. Members come in the order given; times are added. */
export type AuditEntry = {
  readonly action: string;
  readonly [member: string]: unknown;
};

export interface TimedEntry {
  readonly entry: AuditEntry;
  /** How many milliseconds ago it happened. */
  readonly age: number;
}

export function appendAudit(entries: readonly TimedEntry[]): Statement {
  return {
    name: 'append_audit',
    text: 'select append_audit($1)',
    values: [JSON.stringify(entries)],
  };
}
