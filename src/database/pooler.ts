// What a pooler between this process and its server changes: its clients take turns in the server's
// sessions, and another one may have set and prepared there whatever it liked. So each transaction
// begins with its own settings, and statements have names only where the pooler keeps them apart.

import { randomBytes } from 'node:crypto';
import type pg from 'pg';
import { firstCell } from '../core/cells.ts';
import { begin, commit, planAnew, type Statement } from '../core/statement.ts';
import { type Entrance, inCell } from './cells.ts';
import { Client } from './client.ts';
import { codeOf, patienceOfLooks } from './find.ts';
import { settings } from './role.ts';

/**
 * - `none`: each connection has a session of the server's.
 * - `named`: others may have used a session before, and names of statements work all the same.
 * - `nameless`: in one session the names of several clients collide, or are not found.
 */
export type Pooling = 'none' | 'named' | 'nameless';

/** In a transaction nothing else of the session has an effect on what its statements mean or do. */
const ofTransactions = {
  ...settings,
  role: 'none',
  bytea_output: 'hex',
  intervalstyle: 'postgres',
  standard_conforming_strings: 'on',
  array_nulls: 'on',
  transform_null_equals: 'off',
};

/** The cell says the first, BEGIN the next two, and the socket of the last is the pooler's. */
const ofSessions = [
  'search_path',
  'default_transaction_isolation',
  'default_transaction_read_only',
  'tcp_keepalives_idle',
];

/** What a transaction begins with where others use its session, too. */
const ownSettings = Object.entries(ofTransactions)
  .filter(([name]) => !ofSessions.includes(name))
  .map(([name, value]) => `set local ${name} = '${value}'`)
  .join('; ');

/** How statements have to be sent, as far as this process knows by now. */
export class Sharing {
  readonly #notice: (text: string) => void;
  readonly #behindPooler = new WeakSet<pg.ClientBase>();
  #pooling: Pooling | 'unknown' = 'unknown';

  /** @param notice told what is found out later than at the start, each thing once. */
  constructor(notice: (text: string) => void) {
    this.#notice = notice;
  }

  /** What was found out at the start. */
  set(pooling: Pooling): void {
    this.#pooling = pooling;
  }

  /** The server has another process than the greeting said: a pooler made that up. */
  notePooler(client: pg.ClientBase): void {
    this.#behindPooler.add(client);
    if (this.#pooling === 'named' || this.#pooling === 'nameless') return;
    if (this.#pooling === 'none') this.#notice(`a pooler has come: ${withoutNames}`);
    this.#pooling = 'nameless';
  }

  /** A name was taken or missing: the session is not this connection's alone. */
  loseNames(): void {
    if (this.#pooling !== 'nameless') this.#notice(`the pooler lost a statement: ${withoutNames}`);
    this.#pooling = 'nameless';
  }

  isShared(client: pg.ClientBase): boolean {
    return this.#pooling === 'nameless' || this.#behindPooler.has(client);
  }

  get hasNames(): boolean {
    return this.#pooling !== 'nameless';
  }
}

const withoutNames =
  'statements go without names from now on, which costs reads a third of their speed';

/** What the log says at the start. */
export const poolingNotice: Readonly<Record<Pooling, string | undefined>> = {
  none: undefined,
  named: 'behind a pooler: each transaction begins with its own settings',
  nameless: `behind a pooler that does not keep prepared statements: ${withoutNames}`,
};

const beginRead: Statement = {
  name: 'begin_read',
  text: 'begin isolation level read committed read only',
  values: [],
};

/** A read whose plan depends on its values: see `Statement`. */
export const plannedAnew = (statement: Statement): Statement[] => [
  beginRead,
  planAnew,
  statement,
  commit,
];

const isBegin = ({ text }: Statement) => text.startsWith('begin ');

function entering(
  settings: Readonly<Record<string, string>>,
  scope: 'session' | 'transaction',
): string {
  const isLocal = scope === 'transaction';
  const calls = Object.entries(settings).map(
    ([name, value]) => `set_config('${name}', '${value}', ${isLocal})`,
  );
  return `select ${calls.join(', ')}`;
}

const holdingOf = (
  statements: readonly Statement[],
  cell: string,
  entrance: Entrance,
): readonly string[] =>
  statements.some(({ text }) => text === begin.text) ? entrance.holding(cell) : [];

/** Whether a transaction is open after these. */
export const leavesOpen = (statements: readonly Statement[], wasOpen: boolean): boolean =>
  statements.reduce((isOpen, one) => isBegin(one) || (isOpen && one.text !== commit.text), wasOpen);

/** Whether all that was sent is undone when one of these fails. */
export const standAlone = (statements: readonly Statement[], wasOpen: boolean): boolean =>
  !wasOpen && (statements.length === 1 || statements.some(isBegin));

/**
 * Statements as they are sent in a shared session: what is outside of a transaction gets one, and
 * BEGIN and the settings are one message, of which either all is done or nothing. It fails where
 * the server is not the primary: behind a pooler it may have changed since the last transaction.
 * @param timeline the latest that was seen
 * @returns them, and how many come before the first that was asked for.
 */
export function inSharedSession(
  statements: readonly Statement[],
  isOpen: boolean,
  timeline: number,
  cell: string,
  entrance: Entrance,
): { readonly sent: readonly Statement[]; readonly before: number } {
  const isRead = !isOpen && !statements.some(isBegin);
  const all = isRead ? [beginRead, ...statements, commit] : statements;
  const sent = all.map((statement) => {
    if (isBegin(statement)) {
      // Temporary ones last: one of another client's with the name of one of ours would be found.
      const { search_path, ...others } = entrance.settings(cell);
      const own = entering({ ...others, search_path: `${search_path}, pg_temp` }, 'transaction');
      const holding = holdingOf([statement], cell, entrance);
      const primary = `select expect_primary(${timeline}) as timeline`;
      const texts = [statement.text, ownSettings, own, ...holding, primary];
      return { name: '', text: texts.join('; '), values: [] };
    }
    return statement.text === commit.text ? { ...statement, name: '' } : inCell(statement, cell);
  });
  return { sent, before: isRead ? 1 : 0 };
}

/**
 * The same in a session of the connection's own. What reads leave it in is another cell than `cell`
 * or the same. A transaction enters its cell with its BEGIN: neither is done without the other. A
 * read that fails to enter is discarded, as is what was read behind it.
 */
export function inOwnSession(
  statements: readonly Statement[],
  isOpen: boolean,
  left: string | undefined,
  cell: string,
  entrance: Entrance,
): { readonly sent: readonly Statement[]; readonly before: number } {
  const holding = holdingOf(statements, cell, entrance);
  const isThere = left === cell && holding.length === 0;
  if (isThere && cell === firstCell) return { sent: statements, before: 0 };
  const named = statements.map((statement) => inCell(statement, cell));
  if (isOpen || isThere) return { sent: named, before: 0 };
  if (!statements.some(isBegin)) {
    const text = entering(entrance.settings(cell), 'session');
    return { sent: [inCell({ name: 'enter', text, values: [] }, cell), ...named], before: 1 };
  }
  const own = entering(entrance.settings(cell), 'transaction');
  const sent = named.map((statement) => {
    if (!isBegin(statement)) return statement;
    return { name: '', text: [statement.text, own, ...holding].join('; '), values: [] };
  });
  return { sent, before: 0 };
}

/** Of the server that has done this: BEGIN and the settings have a result for each statement. */
export function timelineIn(results: readonly unknown[]): number {
  const [row] = (results.find(Array.isArray)?.at(-1)?.rows ?? []) as { timeline: number }[];
  return row?.timeline ?? 0;
}

/** Enough that two clients meet in one session, or one of them changes it, whoever else is busy. */
const rounds = 10;

/**
 * Finds out what stands between here and the server. Two connections prepare one name and ask for
 * the process that serves them, in turn. Without a pooler it is the one that the greeting named.
 * @throws when the database cannot be reached.
 */
export async function findPooling(url: string): Promise<Pooling> {
  const form = { connectionString: url, application_name: 'tallybook', ...patienceOfLooks };
  const clients = [new Client(form), new Client(form)];
  for (const client of clients) client.on('error', () => undefined);
  try {
    for (const client of clients) await client.connect();
    return await compare(clients);
  } catch (error) {
    if (isLostName(codeOf(error))) return 'nameless';
    throw error;
  } finally {
    await Promise.all(clients.map((client) => client.end().catch(() => undefined)));
  }
}

async function compare(clients: readonly pg.Client[]): Promise<Pooling> {
  const name = `pooling_${randomBytes(8).toString('hex')}`;
  const seen = new Map<number, pg.Client>();
  for (let round = 0; round < rounds; round += 1) {
    for (const client of clients) {
      const { rows } = await client.query<{ pid: number }>({
        name,
        text: 'select pg_backend_pid() as pid',
      });
      seen.set(rows[0]?.pid ?? 0, client);
    }
    const isDirect = clients.every((client) => seen.get(greetedBy(client)) === client);
    if (isDirect && seen.size === clients.length) return 'none';
  }
  return 'named';
}

/** The process of the server that the greeting names, by which its statements can be cancelled. */
export const greetedBy = (client: pg.ClientBase): number =>
  (client as unknown as { readonly processID: number }).processID;

/** duplicate_prepared_statement, invalid_sql_statement_name. */
export const isLostName = (sqlstate: string | undefined): boolean =>
  sqlstate === '42P05' || sqlstate === '26000';
