// The smallest store with the properties that the dispatcher relies on: locks that wait and time
// out, unique keys, atomic transactions, and a network that loses statements or answers before or
// after a commit. It runs the dispatcher's own statements. The schedule says when each arrives and
// is answered.

import type { Operation } from '../../src/contract/endpoint.ts';
import type { Connection, Reads, Result, Statement, Writer } from '../../src/core/statement.ts';
import { databaseFailure } from '../../src/database/failure.ts';
import type { JournalEnd } from '../../src/journal/store.ts';
import { Locks, serverError } from './locks.ts';
import {
  type EffectRecord,
  keyOf,
  type OperationRecord,
  type RegisterRecord,
  Rows,
  rowOf,
} from './rows.ts';

/** What happens to one exchange. Five characters are an SQLSTATE: its last statement fails. */
export type Fault = 'none' | 'cut before' | 'cut behind' | 'done late' | 'rolled back' | Sqlstate;
type Sqlstate = '40001' | '40P01' | '42501' | '53100' | '55P03' | '57P01';

/** What the store takes from the test. */
export interface Surroundings {
  /** Resolves when the schedule lets this happen. */
  step(label: string): Promise<void>;
  /** What happens to the next exchange. */
  fault(): Fault;
}

interface Transaction {
  readonly saved: Rows;
  lockTimeout: number;
  isAborted: boolean;
}

/** A connection as the server sees it. */
interface Session {
  readonly merchants: Set<string>;
  transaction: Transaction | undefined;
  /** The client has lost it, or gave it up. */
  isGone: boolean;
}

/** One node's share of the server, with what was measured of its use. */
export interface NodeWriter extends Writer {
  /** The most connections that were held at once: in all, and with one merchant among others. */
  readonly most: { held: number; byMerchant: number };
  /** How often a connection was asked for. */
  begun(): number;
}

const roleLockTimeout = 2_000;

export class Store {
  rows = new Rows();
  /** What a client of a database must not do. */
  readonly violations: string[] = [];
  readonly #around: Surroundings;
  readonly #locks = new Locks<Transaction>();

  constructor(around: Surroundings) {
    this.#around = around;
  }

  get locks(): number {
    return this.#locks.held;
  }

  /** Makes it empty. */
  forget(): void {
    this.rows = new Rows();
  }

  writer(): NodeWriter {
    const most = { held: 0, byMerchant: 0 };
    const held = new Set<Session>();
    let begun = 0;
    const note = () => {
      most.held = Math.max(most.held, held.size);
      for (const merchant of new Set([...held].flatMap(({ merchants }) => [...merchants]))) {
        const count = [...held].filter(({ merchants }) => merchants.has(merchant)).length;
        most.byMerchant = Math.max(most.byMerchant, count);
      }
    };
    return {
      most,
      begun: () => begun,
      connect: async () => {
        begun += 1;
        const fault = this.#around.fault();
        await this.#around.step('connect');
        if (fault === '53100') throw databaseFailure(serverError(fault));
        const session: Session = { merchants: new Set(), transaction: undefined, isGone: false };
        held.add(session);
        return this.#connection(session, note, () => held.delete(session));
      },
    };
  }

  reads(): Reads {
    const ask = async <Row>(read: () => Row): Promise<Row> => {
      const fault = this.#around.fault();
      await this.#around.step('read');
      const found = read();
      await this.#around.step('read is answered');
      if (fault === 'cut before' || fault === 'cut behind') throw lost();
      return found;
    };
    return {
      query: <Row>(statement: Statement<Row>) =>
        ask(() => this.rows.boundTo(statement.values[0]) as Row[]),
      find: (_statementOf, id) => ask(() => this.rows.effect(id) as never),
    };
  }

  #connection(session: Session, note: () => void, giveBack: () => void): Connection {
    return {
      send: (statements) => {
        for (const { values } of statements) {
          for (const merchant of merchantsIn(values)) session.merchants.add(merchant);
        }
        note();
        return this.#exchange(session, statements);
      },
      release: () => {
        if (session.transaction !== undefined) this.violations.push('released in a transaction');
        giveBack();
      },
      destroy: () => {
        giveBack();
        if (!session.isGone) this.#lose(session);
      },
    };
  }

  async #exchange(session: Session, statements: readonly Statement[]): Promise<Result[]> {
    const fault = this.#around.fault();
    const label = statements.map(({ name }) => name).join(', ');
    await this.#around.step(label);
    if (session.isGone) throw lost();
    if (fault === 'done late') {
      session.isGone = true;
      const late = this.#around.step(`${label}, done late`);
      void late
        .then(() => this.#run(session, statements, fault))
        .catch(() => undefined)
        .then(() => this.#rollBack(session));
      throw lost();
    }
    const done =
      fault === 'cut before' ? Promise.reject(lost()) : this.#run(session, statements, fault);
    const settled = await done.then(
      (results) => () => results,
      (error: unknown) => () => {
        throw databaseFailure(error);
      },
    );
    if (fault === 'cut before' || fault === 'cut behind') {
      this.#lose(session);
      throw lost();
    }
    await this.#around.step(`${label}, answered`);
    return settled();
  }

  /** The server detects a closed connection a moment later. */
  #lose(session: Session): void {
    session.isGone = true;
    void this.#around
      .step('the end of a connection is noticed')
      .then(() => this.#rollBack(session));
  }

  /** Each statement of a pipeline runs by itself; the first error is returned. */
  async #run(session: Session, statements: readonly Statement[], fault: Fault): Promise<Result[]> {
    const results: Result[] = [];
    let failure: unknown;
    for (const [index, statement] of statements.entries()) {
      const isLast = index === statements.length - 1;
      try {
        if (isLast && fault.length === 5) throw serverError(fault);
        if (isLast && fault === 'rolled back' && statement.name === 'commit') {
          this.#rollBack(session);
        }
        results.push(await this.#execute(session, statement));
      } catch (error) {
        failure ??= error;
        if (session.transaction !== undefined) session.transaction.isAborted = true;
        // A commit that fails is over, and so is a backend that was terminated.
        if (statement.name === 'commit' || fault === '57P01') this.#rollBack(session);
      }
    }
    if (failure !== undefined) throw failure;
    return results;
  }

  async #execute(session: Session, { name, values }: Statement): Promise<Result> {
    const { transaction } = session;
    if (name === 'find_keys') return select(this.rows.boundTo(values[0]));
    if (name === 'begin') {
      session.transaction = {
        saved: new Rows(),
        lockTimeout: roleLockTimeout,
        isAborted: false,
      };
      return { command: 'BEGIN', rows: [] };
    }
    if (name === 'commit') return { command: this.#commit(session), rows: [] };
    if (transaction === undefined) throw serverError('25006');
    if (transaction.isAborted) throw serverError('25P02');
    if (name === 'shorter_wait') {
      transaction.lockTimeout = Number.parseInt(String(values[0]), 10);
      return select([]);
    }
    if (name === 'lock_registers') return this.#lockRegisters(transaction, values[0]);
    const merchants = merchantsIn(values.slice(0, 1));
    if (name === 'lock_journals') {
      for (const merchant of merchants) await this.#locks.take(transaction, `journal ${merchant}`);
      return select([]);
    }
    const ends = new Map(merchants.map((merchant) => [merchant, this.rows.journalEnd(merchant)]));
    for (const [index, part] of name.split(' ').entries()) {
      await this.#save(transaction, ends, part, JSON.parse(String(values[2 * index + 1])));
    }
    return select([...ends.values()]);
  }

  async #lockRegisters(transaction: Transaction, records: unknown): Promise<Result> {
    const asked = JSON.parse(String(records)) as RegisterRecord[];
    const names = asked.map((one) => `${one.merchant_id} ${one.register}`).sort();
    for (const name of names) await this.#locks.take(transaction, `register ${name}`);
    return select(asked.map((one) => this.rows.register(one)));
  }

  async #save(
    transaction: Transaction,
    ends: ReadonlyMap<string, JournalEnd>,
    part: string,
    records: object[],
  ): Promise<void> {
    const { saved } = transaction;
    if (part === 'save_effects') saved.effects.push(...(records as EffectRecord[]));
    if (part === 'save_registers') {
      for (const one of records as RegisterRecord[]) {
        const name = `${one.merchant_id} ${one.register}`;
        const isLocked = this.#locks.isOf(transaction, `register ${name}`);
        if (!isLocked) this.violations.push(`${name} was saved without its lock`);
        saved.registers.set(name, one);
      }
    }
    if (part !== 'bind_keys') return;
    const operations = (records as OperationRecord[]).map(rowOf);
    for (const one of operations.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))) {
      await this.#locks.take(transaction, `key ${keyOf(one)}`);
      if (saved.operations.has(keyOf(one)) || this.rows.operations.has(keyOf(one))) {
        throw serverError('23505', 'operations_key');
      }
      saved.operations.set(keyOf(one), this.#placed(transaction, one, ends));
    }
  }

  /** With the position that it gets behind the end of its journal. */
  #placed(
    transaction: Transaction,
    one: Operation,
    ends: ReadonlyMap<string, JournalEnd>,
  ): Operation {
    const end = ends.get(one.merchant_id);
    if (one.position === null || end === undefined) return one;
    const journal = `journal ${one.merchant_id}`;
    const isLocked = this.#locks.isOf(transaction, journal);
    if (!isLocked) this.violations.push(`${journal} was added to without its lock`);
    return { ...one, position: end.last + one.position };
  }

  #commit(session: Session): string {
    const { transaction } = session;
    const isDone = transaction !== undefined && !transaction.isAborted;
    if (isDone) this.rows.add(transaction.saved);
    this.#rollBack(session);
    return isDone ? 'COMMIT' : 'ROLLBACK';
  }

  /** Ends the transaction, and hands its locks on. */
  #rollBack(session: Session): void {
    const { transaction } = session;
    session.transaction = undefined;
    if (transaction === undefined) return;
    this.#locks.release(transaction);
  }
}

function select(rows: readonly unknown[]): Result {
  return { command: 'SELECT', rows };
}

function merchantsIn(values: readonly unknown[]): string[] {
  const records = values.filter((value) => typeof value === 'string' && value.startsWith('['));
  return records.flatMap((text) =>
    (JSON.parse(String(text)) as { merchant_id: string }[]).map((one) => one.merchant_id),
  );
}

const lost = () => databaseFailure(new Error('Connection terminated unexpectedly'));
