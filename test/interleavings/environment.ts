// Nodes on one database, each of which serves one session at a time, statement by statement; and
// what is expected: every run leaves what its requests leave when they come one after the other, in
// the order of their commits.

import { expect } from 'vitest';
import { createService } from '../../src/app.ts';
import { connectDatabase } from '../../src/database/connect.ts';
import { type Api, newKey } from '../kit/api.ts';
import type { TestDatabase } from '../kit/database.ts';
import { startNode, testSecret } from '../kit/environment.ts';
import { extent, isProof } from '../kit/extent.ts';
import type { GivenCredential } from '../kit/given.ts';
import { type Started, WriteEnvironment } from '../kit/write-environment.ts';
import {
  type Blockers,
  blockersIn,
  type Explored,
  explore,
  type Run,
  type Step,
} from './explore.ts';
import { type Hands, type Request, Serial, type Things, wordsOf } from './serial.ts';
import { type Halts, isBesides, Session, stepped } from './session.ts';

export interface Scenario {
  /** Done before the run, one after the other. Without any, the level has no row yet. */
  readonly before?: readonly Request[];
  readonly sessions: readonly Request[];
  /** Where sessions halt. By default before every statement of a batch that may meet another's. */
  readonly halts?: Halts;
  /**
   * Of each session the statement that its place among the others is judged by; otherwise its last.
   */
  readonly places?: readonly (string | undefined)[];
  /** Who asks is a credential of this run alone. */
  readonly hasOwnCredential?: boolean;
}

interface Node extends Hands {
  session: Session | undefined;
  stop(): Promise<void>;
}

/** What is read of levels behind their locks: nobody else changes it meanwhile. */
const behindLocks = ['find_reserved', 'find_last_counts'];

/** All that a write asks of the database, the look-up of its credential and key included. */
export const everyStatement: Halts = (name) =>
  name !== 'share_locations' && !behindLocks.includes(name);

const reads = new Set([
  ...['find_credentials', 'find_credentials_and_keys'],
  ...['find_locations', 'find_products', 'find_adjustments'],
  ...behindLocks,
]);

/** For requests of different keys, whose look-ups have nothing to do with each other. */
export const ofBatches: Halts = (name) => !reads.has(name);

/** Where no location changes, the lock that all share on it is no step: nobody waits for it. */
export const ofFixedLocations: Halts = (name) => ofBatches(name) && name !== 'share_locations';

/** Of each scenario `npm test` runs so many orders, and `npm run prove` all. */
const ordersMax = extent(4, Number.POSITIVE_INFINITY);

export interface Expected {
  /** How runs end, sorted. */
  readonly ends: readonly string[];
  readonly interleavings: number;
  /** Of three sessions the database may let some orders come only once: there may be more. */
  readonly isLeast?: boolean;
  /** So many orders, at most, were asked for. */
  readonly most?: number;
}

/** Where orders are left out, ends may be. */
export function expectExplored({ outcomes, interleavings }: Explored, expected: Expected): void {
  const ends = Object.keys(outcomes).sort();
  const least = Math.min(expected.most ?? ordersMax, expected.interleavings);
  if (isProof) expect(ends).toEqual(expected.ends);
  else expect(expected.ends).toEqual(expect.arrayContaining(ends));
  if (expected.isLeast) expect(interleavings).toBeGreaterThanOrEqual(least);
  else expect(interleavings).toBe(least);
}

export class InterleavingEnvironment extends WriteEnvironment {
  readonly #nodes: readonly Node[];
  readonly #blockers: Blockers;

  private constructor(started: Started, nodes: readonly Node[], blockers: Blockers) {
    super(started);
    this.#nodes = nodes;
    this.#blockers = blockers;
  }

  static override async start(): Promise<InterleavingEnvironment> {
    const started = await WriteEnvironment.started();
    const { db } = started.environment;
    // What a crash would lose is not looked at here.
    await db.sql(`do $$ begin
      execute format('alter database %I set synchronous_commit = off', current_database());
    end $$`);
    const nodes = await Promise.all([1, 2, 3].map(() => openNode(db, started.owner.token)));
    return new InterleavingEnvironment(started, nodes, await blockersIn(db));
  }

  override async stop(): Promise<void> {
    await Promise.all(this.#nodes.map((node) => node.stop()));
    await super.stop();
  }

  /** Runs a scenario in every order. @throws Error when one is not as serial. */
  explore(scenario: Scenario): Promise<Explored> {
    return this.exploreRuns(() => this.#open(scenario));
  }

  /** Opens runs until they have come in every order, then judges the whole ledger. */
  async exploreRuns(open: () => Promise<Run>, most = ordersMax): Promise<Explored> {
    const explored = await explore(this.#blockers, open, most);
    await this.verify();
    return explored;
  }

  /** Begins what somebody asks a node, statement by statement. */
  begin(index: number, halts: Halts, ask: (api: Api) => Promise<void>) {
    const session = new Session('ABC'.charAt(index), halts);
    const node = this.#nodes[index];
    if (node === undefined) throw new Error('there are more sessions than nodes');
    node.session = session;
    return { session, done: session.run(() => ask(node.api)) };
  }

  /** What nodes are asked next is nobody's step. */
  rest(): void {
    for (const node of this.#nodes) node.session = undefined;
  }

  async #open({
    before = [],
    sessions: requests,
    halts = ofFixedLocations,
    places = [],
    hasOwnCredential = false,
  }: Scenario): Promise<Run> {
    const { merchant } = this.owner;
    const asker = hasOwnCredential ? await this.#newCredential() : this.owner;
    const things: Things = {
      merchant: this.owner.merchant,
      product: await this.given.product(merchant, { precision: 2 }),
      location: await this.given.location(merchant),
      suffix: newKey(),
      credential: asker.id,
    };
    const [arranger] = this.#nodes;
    if (arranger === undefined) throw new Error('there are no nodes');
    const first = { ...arranger, api: arranger.api.as(asker.token) };
    for (const request of before) await request.send(first, things);
    const answers = new Map<string, string>();
    const sessions = requests.map((request, index) => {
      const { session, done } = this.begin(index, halts, async (api) => {
        const hands = { ...arranger, ...this.#nodes[index], api: api.as(asker.token) };
        const words = wordsOf(await request.send(hands, things));
        answers.set(session.name, words);
      });
      return { session, request, done };
    });
    return {
      sessions: sessions.map(({ session }) => session),
      end: Promise.all(sessions.map(({ done }) => done)),
      judge: async (steps) => {
        this.rest();
        const serial = new Serial();
        for (const request of before) request.serially(serial);
        const expected = new Map<string, string>();
        for (const name of orderOf(steps, places)) {
          const one = sessions.find(({ session }) => session.name === name);
          expected.set(name, one?.request.serially(serial) ?? '');
        }
        const found = `${textOf(answers)}: ${await this.#chainOf(things)}`;
        const wanted = `${textOf(expected)}: ${serial.chain.join(' → ')}`;
        if (found !== wanted) throw new Error(`${found}, but serially ${wanted}`);
        return found;
      },
    };
  }

  async #newCredential(): Promise<GivenCredential> {
    const made = await this.given.credential(this.owner.merchant);
    await this.db.sql('update credentials set last_used_at = now() where id = $1', [made.id]);
    return made;
  }

  /** The quantities of a level's movements. @throws Error when level and ledger differ. */
  async #chainOf({ product }: Things): Promise<string> {
    const rows = await this.db.sql<{ after: string; is_next: boolean; is_level: boolean }>(
      `select m.quantity_after::text as after,
         m.sequence = row_number() over level
           and m.quantity_before = coalesce(lag(m.quantity_after) over level, 0) as is_next,
         (l.quantity, l.sequence) = (last_value(m.quantity_after) over whole, count(*) over whole)
           as is_level
       from inventory_movements m
       join inventory_levels l using (merchant_id, product_id, location_id)
       join operations o on o.merchant_id = m.merchant_id and o.id = m.operation_id
         and o.resource_id = m.id
       where m.product_id = $1
       window level as (order by m.sequence), whole as (order by m.sequence
         rows between unbounded preceding and unbounded following)
       order by m.sequence`,
      [product],
    );
    const off = rows.some(({ is_next, is_level }) => !is_next || !is_level);
    if (off) throw new Error(`level and ledger differ: ${JSON.stringify(rows)}`);
    return rows.map(({ after }) => after).join(' → ');
  }
}

async function openNode(db: TestDatabase, token: string): Promise<Node> {
  const node: { session: Session | undefined } = { session: undefined };
  const session = () => node.session;
  const { api, stop } = await startNode(patient(db.serviceUrl), (database) =>
    stepped(database, session, isBesides),
  );
  const own = connectDatabase({ url: patient(db.serviceUrl), writers: 1 });
  const database = stepped(own, session);
  const { performAsOperator } = createService({ database, secret: testSecret });
  return Object.assign(node, {
    api: api.as(token),
    operator: { ...database, performAsOperator },
    stop: async () => {
      await stop();
      await own.close();
    },
  });
}

/** Runs must not depend on how fast they are: no time-out of the database's ends a session. */
export function patient(serviceUrl: string): string {
  const url = new URL(serviceUrl);
  const names = ['idle_in_transaction_session_timeout', 'lock_timeout', 'statement_timeout'];
  url.searchParams.set('options', names.map((name) => `-c ${name}=60s`).join(' '));
  return url.toString();
}

/** Sessions in the order of their last steps: their commits, and the reads of those that replay. */
function orderOf(
  steps: readonly Step[],
  places: readonly (string | undefined)[],
): readonly string[] {
  const counted = steps.filter(({ session, statement }) => {
    const place = places['ABC'.indexOf(session)];
    return place === undefined || place === statement;
  });
  return [...new Set(counted.map(({ session }) => session).reverse())].reverse();
}

function textOf(answers: ReadonlyMap<string, string>): string {
  const lines = [...answers].map(([name, words]) => `${name} ${words}`);
  return lines.sort().join(', ');
}
