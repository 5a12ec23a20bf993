// Which server may be used. After a failover the server from before may come back as if nothing had
// happened, and that a proxy leads to it proves nothing. So each connection is looked at once: a
// standby is not used, nor is a server of a timeline that another has ended, nor one whose commits
// wait for a standby that does not confirm them.

import pg from 'pg';

/** What a connection's server says of itself. */
export interface Seen {
  /** The process that serves the connection. */
  readonly pid: number;
  readonly is_standby: boolean;
  /** Each promotion begins a later one. Null on a standby. */
  readonly timeline: number | null;
  /** Of the system: a server that was made anew, or upgraded, has another and begins at 1. */
  readonly system: string;
  /** When the server started: what it has committed since then has been confirmed. */
  readonly started: string;
  readonly waits_for_standby: boolean;
}

export const lookAtServer = `
  select pg_backend_pid() as pid, pg_is_in_recovery() as is_standby,
    case when not pg_is_in_recovery()
      then ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer
      end as timeline,
    (select system_identifier::text from pg_control_system()) as system,
    pg_postmaster_start_time()::text as started,
    current_setting('synchronous_standby_names') <> '' as waits_for_standby`;

/** A small commit: when it is answered, a standby has everything that was committed before it. */
const confirm = `begin read write; set local synchronous_commit = 'on';
  select pg_logical_emit_message(true, 'tallybook', ''); commit`;

/** Why a server is not used. It is no secret: the log says it. */
export class NotPrimary extends Error {}

export class Primary {
  readonly #timelines = new WeakMap<pg.ClientBase, number>();
  readonly #confirmed = new Set<string>();
  readonly #confirming = new Map<string, Promise<void>>();
  #system = '';
  #latest = 0;

  /** The latest timeline that was seen; 0 before the first. */
  get latest(): number {
    return this.#latest;
  }

  noteTimeline(timeline: number): void {
    this.#latest = Math.max(this.#latest, timeline);
  }

  /** After a crash a commit may be seen that no standby has. */
  noteLoss(): void {
    this.#confirmed.clear();
  }

  /** Whether a server that was used before has been replaced. */
  isOver(client: pg.ClientBase): boolean {
    return (this.#timelines.get(client) ?? this.#latest) < this.#latest;
  }

  /** @throws NotPrimary, or the failure of the server. */
  async admit(client: pg.ClientBase, seen: Seen, timeout: number): Promise<void> {
    if (seen.timeline === null) throw new NotPrimary('this server is a standby');
    if (seen.system !== this.#system) {
      this.#system = seen.system;
      this.#latest = 0;
    }
    if (seen.timeline < this.#latest) {
      throw new NotPrimary(
        `this server is of timeline ${seen.timeline}, and one of timeline ${this.#latest} has ` +
          'taken over: stop it, and make it a standby of that one',
      );
    }
    if (seen.waits_for_standby) await this.#confirm(client, seen, timeout);
    this.noteTimeline(seen.timeline);
    this.#timelines.set(client, seen.timeline);
  }

  /** One at a time for each start of a server: one that is not answered holds its connection. */
  async #confirm(client: pg.ClientBase, seen: Seen, timeout: number): Promise<void> {
    const start = `${seen.system} ${seen.timeline} ${seen.started}`;
    if (this.#confirmed.has(start)) return;
    const running = this.#confirming.get(start) ?? askStandby(client, timeout);
    this.#confirming.set(start, running);
    try {
      await running;
      this.#confirmed.add(start);
    } finally {
      this.#confirming.delete(start);
    }
  }
}

/** The driver knows the time-out of a single query, and its types do not. */
export function askOnce<Row extends pg.QueryResultRow>(
  client: pg.ClientBase,
  text: string,
  query_timeout: number,
): Promise<pg.QueryResult<Row>> {
  const asked = { text, query_timeout };
  return client.query<Row>(asked);
}

async function askStandby(client: pg.ClientBase, timeout: number): Promise<void> {
  const { rowCount } = await askOnce(client, 'select from pg_stat_replication', timeout);
  if (rowCount === 0) throw new NotPrimary('commits wait for a standby, and none is connected');
  try {
    await askOnce(client, confirm, timeout);
  } catch (error) {
    if (error instanceof pg.DatabaseError) throw error;
    throw new NotPrimary('commits wait for a standby, and none confirms them', { cause: error });
  }
}
