// The servers of a run with a standby: two that take turns as the primary, and HAProxy before them.
// What a nemesis aims at is the present primary.

import { chmodSync, mkdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { chooseAccount, handOver } from '../../../src/postgres/account.ts';
import { type Pair, type ReplicaServer, startPair } from '../../kit/replication.ts';
import { type ChaosServer, filesIn, type LogFile, type OneServer } from './database.ts';
import { SmallDisk } from './small-disk.ts';

const database = 'books';
const service = 'tallybook_service';

interface Member {
  readonly server: ReplicaServer;
  readonly disk: SmallDisk;
}

export class ChaosPair implements ChaosServer {
  readonly #pair: Pair;
  readonly #logs: readonly string[];
  readonly said: readonly string[] = [];
  #primary: Member;
  #standby: Member;

  private constructor(pair: Pair, members: readonly [Member, Member], logs: readonly string[]) {
    this.#pair = pair;
    this.#logs = logs;
    [this.#primary, this.#standby] = members;
  }

  static async start(directory: string): Promise<ChaosPair> {
    const disks: SmallDisk[] = [];
    // The account of the servers passes through.
    chmodSync(directory, 0o711);
    try {
      const names = ['one', 'two'] as const;
      for (const name of names) disks.push(SmallDisk.make(join(directory, name)));
      const logs = names.map((name) => join(directory, `${name}.log`));
      for (const log of logs) {
        mkdirSync(log);
        handOver(log, chooseAccount('/nowhere'));
      }
      const pair = await startPair({
        folders: [join(directory, 'one', 'data'), join(directory, 'two', 'data')],
        optionsOf: (folder) => ({
          settings: settingsFor(join(directory, `${basename(dirname(folder))}.log`)),
          isKept: true,
        }),
      });
      const [one, two] = pair.servers;
      const [first, second] = disks as [SmallDisk, SmallDisk];
      await one.sql(`create database ${database}`);
      const members = [
        { server: one, disk: first },
        { server: two, disk: second },
      ] as const;
      return new ChaosPair(pair, members, logs);
    } catch (error) {
      for (const disk of disks) disk.unmount();
      throw error;
    }
  }

  get ownerUrl(): string {
    return this.#primary.server.url('owner', database);
  }

  get serviceUrl(): string {
    return this.#primary.server.url(service, database);
  }

  /** Through HAProxy. */
  get entry() {
    const to = (role: string) => this.#pair.url(role, database);
    return { ownerUrl: to('owner'), serviceUrl: to(service) };
  }

  get servers(): readonly OneServer[] {
    return [{ ownerUrl: this.ownerUrl, postmaster: this.#primary.server.pid ?? 0 }];
  }

  logs(): readonly LogFile[] {
    return filesIn(this.#logs);
  }

  get disk(): SmallDisk {
    return this.#primary.disk;
  }

  /** Its first process. */
  get standby(): number {
    return this.#standby.server.pid ?? 0;
  }

  /** The primary loses power, and its standby takes over. */
  async failOver(): Promise<void> {
    await this.#primary.server.kill();
    await this.#standby.server.promote();
    [this.#primary, this.#standby] = [this.#standby, this.#primary];
  }

  /** The primary from before becomes the standby. */
  async rejoin(): Promise<void> {
    await this.#standby.server.follow(this.#primary.server);
  }

  /** Resolves when the standby has been started again. */
  async standbyBack(): Promise<void> {
    while (!(await this.#standby.server.answers())) await sleep(20);
  }

  /** Whether a standby confirms what is committed. */
  async isWhole(): Promise<boolean> {
    return this.#primary.server.isFollowed().catch(() => false);
  }

  async restart(): Promise<void> {
    for (const { postmaster } of this.servers) process.kill(postmaster, 'SIGINT');
  }

  async stop(): Promise<void> {
    try {
      await this.#pair.stop();
    } finally {
      for (const { disk } of [this.#primary, this.#standby]) disk.unmount();
    }
  }
}

/** Logs lie elsewhere than the data, which `pg_rewind` makes those of the other server. */
const settingsFor = (log: string) => ({
  max_wal_size: '256MB',
  autovacuum_naptime: '5s',
  logging_collector: 'on',
  log_directory: log,
  log_filename: 'server-%Y%m%d-%H%M%S.log',
  log_timezone: 'UTC',
  log_parameter_max_length: '0',
  log_parameter_max_length_on_error: '0',
});
