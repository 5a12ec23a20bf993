// The servers of the cluster that TALLYBOOK_TEST_CITUS_URL names, as processes of this machine:
// tests kill them and start them again.

import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { addressOf, listServers, type ServerRow, urlAt } from '../../src/database/citus.ts';
import { chooseAccount, runAs } from '../../src/postgres/account.ts';
import { killServer } from './kill-server.ts';
import { sqlAt } from './sql.ts';

/** A server that does not answer is not waited for. */
const ask = <Row extends pg.QueryResultRow>(url: string, text: string) =>
  sqlAt<Row>({ connectionString: url, connectionTimeoutMillis: 2_000 }, text);

/** Of a server that was started with its output discarded or read by somebody. */
export const nowhere = '/dev/null';

export class ClusterServer {
  readonly address: string;
  readonly isCoordinator: boolean;
  /** As the role and in the database that the cluster was named by. */
  readonly ownerUrl: string;
  /** The file that its standard error goes to, as `pg_ctl -l` has it. */
  readonly log: string;
  readonly #directory: string;
  readonly #program: string;

  private constructor(server: ServerRow, url: string, directory: string) {
    this.address = addressOf(server);
    this.isCoordinator = server.is_coordinator;
    this.ownerUrl = url;
    this.#directory = directory;
    this.#program = readlinkSync(`/proc/${this.postmaster}/exe`);
    const log = readlinkSync(`/proc/${this.postmaster}/fd/2`);
    this.log = existsSync(log) ? log : nowhere;
  }

  /** The coordinator first. */
  static async all(clusterUrl: string): Promise<ClusterServer[]> {
    const servers = await ask<ServerRow>(clusterUrl, listServers.text);
    return Promise.all(
      servers.map(async (server) => {
        const url = urlAt(clusterUrl, server);
        const [row] = await ask<{ data_directory: string }>(url, 'show data_directory');
        return new ClusterServer(server, url, row?.data_directory ?? '');
      }),
    );
  }

  /** Its first process: of the last start, when it is down. */
  get postmaster(): number {
    return Number(readFileSync(`${this.#directory}/postmaster.pid`, 'utf8').split('\n')[0]);
  }

  /** All its processes at once, as when its machine loses power. */
  async kill(): Promise<void> {
    await killServer(this.postmaster);
  }

  /** Unless it runs. It writes on in the log that it had. */
  async start(): Promise<void> {
    const answers = () =>
      ask(this.ownerUrl, 'select 1').then(
        () => true,
        () => false,
      );
    if (await answers()) return;
    const account = chooseAccount(this.#directory);
    const log = openSync(this.log, 'a');
    const child = spawn(this.#program, ['-D', this.#directory], {
      ...runAs(account),
      ...{ cwd: '/', stdio: ['ignore', log, log], detached: true },
    });
    closeSync(log);
    child.unref();
    while (!(await answers())) {
      if (child.exitCode !== null) throw new Error(`PostgreSQL ended with ${child.exitCode}`);
      await sleep(100);
    }
  }

  /** As an operator would, for an upgrade. */
  async restart(): Promise<void> {
    const { postmaster } = this;
    process.kill(postmaster, 'SIGINT');
    while (existsSync(`/proc/${postmaster}`)) await sleep(20);
    await this.start();
  }
}
