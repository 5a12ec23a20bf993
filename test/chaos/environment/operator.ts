// The operator of a run: takes rights from a credential and gives them back, by the command line,
// while everything else goes wrong; and tells the clients its new token.

import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Ban, type CredentialName, now } from '../history.ts';
import type { Urls } from './database.ts';

const program = fileURLToPath(new URL('../../../bin/tallybook.js', import.meta.url));
const triesMax = 40;

export interface Credential {
  readonly name: CredentialName;
  readonly id: string;
  readonly token: string;
  /** How often the token had been replaced. */
  readonly generation: number;
}

export class Operator {
  readonly #entry: Urls;
  readonly #tell: (credential: Credential) => void;
  readonly bans: Ban[] = [];
  #shaken: Credential;

  constructor(entry: Urls, shaken: Credential, tell: (credential: Credential) => void) {
    this.#entry = entry;
    this.#shaken = shaken;
    this.#tell = tell;
  }

  /** Each of these succeeds, sooner or later. */
  async takeGrant(ms: number): Promise<true> {
    const set = (locations: string) => this.#run('token', 'grant', '--locations', locations);
    return this.#without(
      'grant',
      ms,
      () => set('none'),
      () => set('all'),
    );
  }

  async takeScope(ms: number): Promise<true> {
    const set = (scopes: string) => this.#run('token', 'scope', '--scopes', scopes);
    return this.#without(
      'scope',
      ms,
      () => set('inventory.read'),
      () => set('all'),
    );
  }

  /** The old token is void at once; clients hear of the new one a little later. */
  async rotate(ms: number): Promise<true> {
    const { token } = await this.#run('token', 'rotate', '--overlap', '0');
    const { generation } = this.#shaken;
    const from = now();
    this.bans.push({ credential: 'shaken', kind: 'token', from, until: Infinity, generation });
    await sleep(ms);
    this.#shaken = { ...this.#shaken, token: String(token), generation: generation + 1 };
    this.#tell(this.#shaken);
    return true;
  }

  async #without(
    kind: Ban['kind'],
    ms: number,
    take: () => Promise<unknown>,
    giveBack: () => Promise<unknown>,
  ): Promise<true> {
    await take();
    const from = now();
    await sleep(ms);
    const { generation } = this.#shaken;
    this.bans.push({ credential: 'shaken', kind, from, until: now(), generation });
    await giveBack();
    return true;
  }

  /** Again until it succeeds: setting rights twice is setting them, and so is a second token. */
  async #run(noun: string, verb: string, ...flags: string[]): Promise<Record<string, unknown>> {
    const args = [noun, verb, this.#shaken.id, ...flags, '--json'];
    const url = ['--database-url', this.#entry.serviceUrl];
    const env = { PATH: process.env.PATH ?? '', TALLYBOOK_MIGRATE_URL: this.#entry.ownerUrl };
    for (let tries = 1; ; tries += 1) {
      try {
        const run = promisify(execFile);
        const { stdout } = await run(process.execPath, [program, ...args, ...url], { env });
        return JSON.parse(stdout);
      } catch (error) {
        if (tries === triesMax) throw error;
        await sleep(250);
      }
    }
  }
}
