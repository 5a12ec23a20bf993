// The environment of tests that put writes under faults, in every order, or in great number: no
// rate limits, one merchant with a location and a credential that may do everything, and `verify`,
// which holds whatever happened.

import { expect } from 'vitest';
import type { Api } from './api.ts';
import type { TestDatabase } from './database.ts';
import { withoutLimits } from './database.ts';
import { type Environment, startEnvironment } from './environment.ts';
import type { Given, GivenCredential } from './given.ts';
import { ledgerDifferences } from './ledger.ts';

export class WriteEnvironment {
  readonly #environment: Environment;
  readonly owner: GivenCredential;
  readonly location: string;

  protected constructor({ environment, owner, location }: Started) {
    this.#environment = environment;
    this.owner = owner;
    this.location = location;
  }

  /** `own`: a database on a server of its own; it is dropped at the end. */
  static async start(own?: TestDatabase): Promise<WriteEnvironment> {
    return new WriteEnvironment(await WriteEnvironment.started(own));
  }

  protected static async started(own?: TestDatabase): Promise<Started> {
    const environment = await startEnvironment({ db: own });
    return startedAt(environment);
  }

  /** What the same is at another merchant. */
  protected startedElsewhere(): Promise<Started> {
    return startedAt(this.#environment);
  }

  get db(): TestDatabase {
    return this.#environment.db;
  }

  get given(): Given {
    return this.#environment.given;
  }

  get merchant(): string {
    return this.owner.merchant;
  }

  get token(): string {
    return this.owner.token;
  }

  /** A node that no fault reaches. */
  get api(): Api {
    return this.#environment.api.as(this.token);
  }

  product(precision = 0): Promise<string> {
    return this.given.product(this.merchant, { precision });
  }

  /** The whole ledger adds up, no key has two operations, and nothing deadlocked. */
  async verify(): Promise<void> {
    expect(await ledgerDifferences(this.db)).toEqual([]);
    const [counts] = await this.db.sql(
      `select
         (count(*) - count(distinct (merchant_id, credential_id, type, key_hash)))::int as doubled,
         (select deadlocks::int from pg_stat_database where datname = current_database())
           as deadlocks
       from operations`,
    );
    expect(counts).toEqual({ doubled: 0, deadlocks: 0 });
  }

  async stop(): Promise<void> {
    await this.#environment.stop();
  }
}

export interface Started {
  readonly environment: Environment;
  readonly owner: GivenCredential;
  readonly location: string;
}

/** A merchant of its own. */
async function startedAt(environment: Environment): Promise<Started> {
  const { db, given } = environment;
  await withoutLimits(db);
  const merchant = await given.merchant();
  const location = await given.location(merchant);
  const owner = await given.credential(merchant);
  // No note of its use is due while the tests last: that would be one more statement.
  await db.sql('update credentials set last_used_at = now() where merchant_id = $1', [merchant]);
  return { environment, owner, location };
}
