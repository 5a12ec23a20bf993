// The audit trail as tests arrange and read it: through the service's own role where it appends,
// and as the owner, with the triggers off, where somebody has laid hands on it.

import { createHash } from 'node:crypto';
import { appendAudit } from '../../src/access/audit/store.ts';
import { commitAll } from '../../src/access/transact.ts';
import { connectDatabase, type Database } from '../../src/database/connect.ts';
import type { TestDatabase } from './database.ts';

export interface AuditLine {
  readonly [member: string]: unknown;
  readonly day: string;
  readonly number: number;
  readonly action: string;
}

export class AuditTrail {
  readonly #db: TestDatabase;
  readonly database: Database;

  constructor(db: TestDatabase) {
    this.#db = db;
    this.database = connectDatabase({ url: db.serviceUrl, writers: 8 });
  }

  /** Appends one transaction as the service does. */
  async append(...actions: readonly string[]): Promise<void> {
    const entries = actions.map((action) => ({ entry: { action }, age: 0 }));
    await commitAll(this.database.writer, [appendAudit(entries)]);
  }

  /** Every line, in the order of the chain. */
  async lines(action?: string): Promise<readonly AuditLine[]> {
    const rows = await this.#db.sql<{ line: string }>(
      'select line from audit_records order by day, number',
    );
    const lines = rows.map(({ line }): AuditLine => JSON.parse(line));
    return action === undefined ? lines : lines.filter((line) => line.action === action);
  }

  /** Puts lines at the end of the chain that say they are of another day. */
  async giveDay(day: string, count: number): Promise<void> {
    for (let number = 1; number <= count; number += 1) {
      const [end] = await this.#db.sql<{ day: string | null; number: number; hash: Buffer }>(
        "select to_char(day, 'YYYY-MM-DD') as day, number::int, hash from audit_head",
      );
      if (end === undefined) throw new Error('the trail has no end');
      const last = { day: end.day, number: end.number };
      const follows = number === 1 && end.day !== null ? { follows: last } : {};
      const members = { day, number, ...follows, at: `${day}T12:00:00.000Z`, action: 'old.action' };
      await this.put(day, number, JSON.stringify(members), end.hash);
      await this.#db.sql(
        `update audit_head h set day = r.day, number = r.number, hash = r.hash
         from audit_records r where r.day = $1 and r.number = $2`,
        [day, number],
      );
    }
  }

  /** A record that follows from a hash, wherever it is put. */
  async put(day: string, number: number, line: string, before: Buffer): Promise<void> {
    const hash = createHash('sha256').update(before).update(line).digest();
    await this.#db.sql(
      'insert into audit_records (day, number, line, hash) values ($1, $2, $3, $4)',
      [day, number, line, hash],
    );
  }

  /** As somebody would who owns the schema. */
  async tamper(sql: string): Promise<void> {
    await this.#db.sql(`
      alter table audit_records disable trigger all;
      alter table audit_head disable trigger all;
      ${sql};
      alter table audit_records enable trigger all;
      alter table audit_head enable trigger all`);
  }

  /** Keeps the trail as it is, for `restore`. */
  async keep(): Promise<void> {
    await this.#db.sql(`create table kept_records as table audit_records;
      create table kept_head as table audit_head`);
  }

  restore(): Promise<void> {
    return this.tamper(`
      delete from audit_records;
      delete from audit_head;
      insert into audit_records select * from kept_records;
      insert into audit_head select * from kept_head`);
  }
}
