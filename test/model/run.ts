// Runs of the model against the service: real HTTP, real PostgreSQL, one run after another in one
// database, each with merchants of its own. After a run its ledger is recomputed by the code behind
// `tallybook verify`. What fails is shrunk, and told with the command that replays it.

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { expect } from 'vitest';
import { createService } from '../../src/app.ts';
import type { JsonObject } from '../../src/contract/json.ts';
import type { OperationType } from '../../src/contract/resource.ts';
import { Problem } from '../../src/core/problem.ts';
import { DatabaseFailure } from '../../src/core/statement.ts';
import { connectDatabase, type Database } from '../../src/database/connect.ts';
import { verifyLedger } from '../../src/inventory/verify.ts';
import { homeCell } from '../kit/cells.ts';
import { isOnCluster } from '../kit/citus.ts';
import { createTestDatabase, withoutLimits } from '../kit/database.ts';
import { startNode, testSecret } from '../kit/environment.ts';
import { Given } from '../kit/given.ts';
import { ageLedger, endReservation } from '../kit/ledger.ts';
import { Sender } from '../kit/sender.ts';
import { agedBy, type Command, type Real } from './commands.ts';
import { anyCommand, closing, opening, staffed } from './generate.ts';
import { newWorld, type World } from './world.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** What `npm run model` was asked for. */
    modelRun: ModelRun | undefined;
  }
}

export interface ModelRun {
  readonly runs: number;
  /** No further run is begun after so many minutes. */
  readonly minutes: number;
  readonly seed: number;
  /** The most commands of a run. */
  readonly commands: number;
  /** Of one failure, to see it again. */
  readonly path: string | undefined;
  readonly replay: string | undefined;
}

export interface OpenedService extends Real {
  /** How often each outcome was seen. */
  readonly outcomes: ReadonlyMap<string, number>;
  close(): Promise<void>;
}

/** @param reach where a node reaches the database that this URL names. */
export async function openService(reach = (url: string) => url): Promise<OpenedService> {
  const db = await createTestDatabase();
  await withoutLimits(db);
  const given = new Given(db);
  const database = connectDatabase({ url: named(db.serviceUrl), writers: 1 });
  if (isOnCluster(db.serviceUrl)) database.setSpread();
  const stalls = watchStalls();
  let severedAt = Number.NEGATIVE_INFINITY;
  let node = await startNode(reach(db.serviceUrl));
  const outcomes = new Map<string, number>();
  const note = (what: string) => void outcomes.set(what, (outcomes.get(what) ?? 0) + 1);
  return {
    operator: patient(database),
    outcomes,
    send: async ({ token }, method, path, { body, ...ask } = {}) => {
      const started = Date.now();
      for (let isRetry = false; ; isRetry = true) {
        const answer = await node.api.as(token).send(method, path, body, ask);
        const isDefinite = answer.status !== 503 && answer.status !== 504;
        if (isDefinite) return { ...answer, isRetry };
        const excuse = severedAt > started - aftermath ? 'severed' : stalls.since(started);
        const isLate = Date.now() - started > patience;
        if (excuse === undefined || isLate) throw new Error(unexcused(answer.body));
        note(`no definite answer: ${answer.status}, ${excuse}`);
        await sleep(pause);
      }
    },
    sever: async () => {
      severedAt = Date.now();
      await db.sql(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and application_name = 'tallybook'`,
      );
      note('severed');
    },
    newMerchant: (name) => given.merchant(name),
    erase: (merchant, id) => perform(database, merchant, 'customers.erase', id),
    expire: (merchant, id) => perform(database, merchant, 'inventory.expire', id),
    lapse: async (merchant, id, at) => {
      await endReservation(db, merchant, id, at);
      note('lapsed');
    },
    age: async (merchants) => {
      await ageLedger(db, merchants, agedBy);
      note('aged');
    },
    enter: (invitation) => enter(node.api.origin, invitation),
    restart: async () => {
      await node.stop();
      node = await startNode(reach(db.serviceUrl));
    },
    note,
    close: async () => {
      stalls.end();
      await node.stop();
      await database.close();
      await db.drop();
    },
  };
}

async function enter(origin: string, invitation: string): Promise<string | undefined> {
  const started = Date.now();
  for (let isRetry = false; ; isRetry = true) {
    const { status, token } = await acceptInvitation(origin, invitation);
    if (status === 201) return token;
    // It can be used: the attempt without an answer has used it.
    if (status === 401 && isRetry) return undefined;
    const isLate = Date.now() - started > patience;
    if (status !== 503 || isLate) throw new Error(`an invitation is ${status}`);
    await sleep(pause);
  }
}

/** As a browser does it. */
async function acceptInvitation(origin: string, invitation: string) {
  const sender = new Sender(origin);
  const headers = { origin, 'content-type': 'application/json', 'idempotency-key': randomUUID() };
  const body = JSON.stringify({ invitation, password: 'correct horse battery' });
  const path = '/console/session/accept';
  const reply = await sender.send('POST', path, headers, body);
  sender.close();
  const [cookie = ''] = [reply.headers['set-cookie'] ?? ''].flat();
  return { status: reply.status, token: /tb_ses_[0-9A-Za-z]+/.exec(cookie)?.[0] };
}

/** As the operator and the sweep do it, and once more with its key while the database is away. */
async function perform(
  database: Database,
  merchant: string,
  type: OperationType,
  id: string,
): Promise<JsonObject> {
  const { performAsOperator } = createService({ database, secret: testSecret });
  const key = randomUUID();
  const started = Date.now();
  for (;;) {
    try {
      const answer = await performAsOperator(merchant, type, {}, { id, key });
      const [operation] = await database.inCell(homeCell).reader.query<JsonObject>({
        name: '',
        text: `select id, credential_id, request_id, position::text, created_at
          from operations where id = $1`,
        values: [answer.operationId],
      });
      if (operation === undefined) throw new Error(`${answer.operationId} is gone`);
      return operation;
    } catch (error) {
      const isAway =
        error instanceof DatabaseFailure || (error instanceof Problem && error.status === 503);
      if (!isAway || Date.now() - started > patience) throw error;
      await sleep(pause);
    }
  }
}

/** Until a service whose connections were severed is as it was: it waits for a lost lock first. */
const aftermath = 5_000;
const patience = 60_000;
const pause = 200;

function unexcused(body: unknown): string {
  return `no definite answer, and nothing was done to the database: ${JSON.stringify(body)}`;
}

/** The operator's connections are not severed: what it does is not what is tried here. */
function named(serviceUrl: string): string {
  const url = new URL(serviceUrl);
  url.searchParams.set('application_name', 'operator');
  return url.toString();
}

/**
 * On a machine that lets this very process stand still, nothing is wrong with a service that says
 * it is overloaded: it waits for a connection for a second.
 */
function watchStalls() {
  const beat = 50;
  const longest = 300;
  let last = Date.now();
  let stalledAt = Number.NEGATIVE_INFINITY;
  const timer = setInterval(() => {
    const now = Date.now();
    if (now - last > longest) stalledAt = now;
    last = now;
  }, beat);
  return {
    since: (started: number) =>
      stalledAt > started - aftermath ? ('a machine that stood still' as const) : undefined,
    end: () => clearInterval(timer),
  };
}

/** For the operator: a connection that is not there in time is asked for again. */
function patient({ reader, writer, inCell, cells }: Database): Real['operator'] {
  const again = async <T>(work: () => Promise<T>): Promise<T> => {
    const started = Date.now();
    for (;;) {
      try {
        return await work();
      } catch (error) {
        const isAway = error instanceof DatabaseFailure && error.kind === 'away';
        if (!isAway || Date.now() - started > patience) throw error;
        await sleep(pause);
      }
    }
  };
  return {
    reader: { query: (statement) => again(() => reader.query(statement)) },
    writer: { connect: () => again(() => writer.connect()) },
    inCell: (cell) => patient(inCell(cell)),
    cells: () => again(cells),
  };
}

/** These commands, in this order, with what each run begins and ends with. */
export async function runCommands(
  real: Real,
  commands: Iterable<Command>,
  more: readonly Command[] = [],
): Promise<void> {
  const world = newWorld();
  for (const command of [...opening(), ...more]) await command.run(world, real);
  await fc.asyncModelRun(() => ({ model: world, real }), commands);
  for (const command of closing()) await command.run(world, real);
  await verify(world, real);
}

/** Levels equal their ledger, nothing is pending, and nothing is there that nobody sent. */
async function verify(world: World, { operator }: Real): Promise<void> {
  for (const merchant of world.merchants) {
    const { id } = merchant;
    expect(await verifyLedger(operator, { merchant: id })).toEqual({
      ok: true,
      levels: merchant.levels.size,
      movements: merchant.movements.size,
      differences: [],
    });
  }
}

/**
 * How many runs there were.
 * @throws Error with the shortest commands found that fail, and how to run them again.
 */
export async function checkModel(real: Real, asked: ModelRun): Promise<number> {
  const { runs, minutes, seed, commands, path, replay } = asked;
  const constraints = { maxCommands: commands, size: 'max' as const };
  const any = fc.commands<World, Real, false>([anyCommand], {
    ...constraints,
    ...(replay === undefined ? {} : { replayPath: replay }),
  });
  const property = fc.asyncProperty(any, (made) =>
    runCommands(real, made as Iterable<Command>, staffed()),
  );
  const result = await fc.check(property, {
    numRuns: runs,
    interruptAfterTimeLimit: minutes * 60_000,
    seed,
    ...(path === undefined ? {} : { path, endOnFailure: true }),
  });
  if (!result.failed) return result.numRuns;
  const failing = String(result.counterexample?.[0]);
  const replayPath = /\/\*replayPath="([^"]*)"\*\//.exec(failing)?.[1] ?? '';
  const found = `--seed ${result.seed} --path ${result.counterexamplePath}`;
  const again = `npm run model -- ${found} --replay '${replayPath}' --commands ${commands}`;
  const steps = failing.replace(/\s*\/\*.*\*\//, '').replaceAll('),', '),\n  ');
  const cause = result.errorInstance;
  const why = cause instanceof Error ? cause.message : String(cause);
  const lines = [
    'the service is not what the model says it is:',
    why,
    `after\n  ${steps}`,
    `again: ${again}`,
  ];
  throw new Error(lines.join('\n\n'), { cause });
}
