// Two merchants whose records have the same IDs, and whose writes are saved as one transaction. The
// last change of the second is in the future, as after a clock that was set back: what is saved for
// it now is of that time too, and nothing of the first merchant is.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { successStatus } from '../src/contract/contract.ts';
import { limits } from '../src/core/limits.ts';
import type { Writer } from '../src/core/statement.ts';
import type { Database } from '../src/database/connect.ts';
import { asked } from './kit/again.ts';
import { type Answer, type Api, newKey } from './kit/api.ts';
import { type Case, freshBody, madeFor, send, writes } from './kit/cases.ts';
import { homeCell, mirrorCell } from './kit/cells.ts';
import { type Environment, startEnvironment } from './kit/environment.ts';
import { createTestMerchant, type TestMerchant } from './kit/merchant.ts';
import { mirrorJournal, mirrorOf, timesOf } from './kit/mirror.ts';

/** Where each worker waits before its transaction while it is closed. */
class Gate {
  #opened: Promise<void> | undefined;
  #open: () => void = () => undefined;
  waiting = 0;

  close(): void {
    this.#opened = new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  open(): void {
    this.#open();
    this.#opened = undefined;
    this.waiting = 0;
  }

  watch(database: Database): Database {
    return {
      ...database,
      writer: this.#before(database.writer),
      spanningWriter: this.#before(database.spanningWriter),
      inCell: (cell) => this.watch(database.inCell(cell)),
    };
  }

  #before(writer: Writer): Writer {
    return {
      connect: async () => {
        if (this.#opened !== undefined) {
          this.waiting += 1;
          await this.#opened;
        }
        return writer.connect();
      },
    };
  }
}

const gate = new Gate();
let service: Environment;
let now: TestMerchant;
let later: TestMerchant;
/** Others, whose writes occupy the workers. */
let busy: readonly Api[];

beforeAll(async () => {
  service = await startEnvironment({ watch: (database) => gate.watch(database) });
  now = await createTestMerchant(service);
  const { merchant, tokens } = await mirrorOf(service.db, now.merchant, [now.token]);
  const [token = ''] = tokens;
  later = { ...now, merchant, token, journal: mirrorJournal, api: service.api.as(token) };
  const session = await service.db.session(mirrorCell);
  // What was saved at a time stays so: triggers refuse this.
  await session.query("set session_replication_role = 'replica'");
  await session.query(
    `update operations set created_at = '2100-01-01' where merchant_id = $1 and position =
       (select max(position) from operations where merchant_id = $1)`,
    [merchant],
  );
  await session.end();
  busy = await Promise.all([1, 2].map(stranger));
});
afterAll(() => service.stop());

async function stranger(): Promise<Api> {
  const merchant = await service.given.merchant();
  return service.api.as((await service.given.credential(merchant)).token);
}

type Send = () => Promise<Answer>;

/** Sends a write that is one more of those that wait. What it will be answered is for later. */
async function sent(
  write: Send,
  waiting: () => number,
): Promise<{ readonly answer: Promise<Answer> }> {
  const ask = async () => {
    const before = waiting();
    let early: Answer | undefined;
    const answer = write();
    void answer.then((one) => {
      early = one;
    });
    await expect.poll(() => early !== undefined || waiting() > before, { interval: 5 }).toBe(true);
    return { answer, early };
  };
  return asked(ask, ({ early }) => early && `${early.status} ${early.code}`);
}

/** Runs what sends writes while all workers are occupied, each once the one before it waits. */
async function asOne(sends: readonly Send[]): Promise<Answer[]> {
  const occupying: Promise<Answer>[] = [];
  const answers: Promise<Answer>[] = [];
  gate.close();
  try {
    // Each merchant may have half of the workers.
    for (let worker = 0; worker < limits.writeWorkers; worker += 1) {
      const occupy = () => createCustomer(busy[worker % 2] as Api);
      occupying.push((await sent(occupy, () => gate.waiting)).answer);
    }
    const waiting = () => gate.waiting + service.service.dispatcher.queued;
    for (const one of sends) answers.push((await sent(one, waiting)).answer);
  } finally {
    gate.open();
  }
  await Promise.all(occupying);
  return Promise.all(answers);
}

const createCustomer = (api: Api) =>
  api.post('/customers', { name: 'Ada', email: 'ada@example.com' });

async function sender(write: Case, shop: TestMerchant) {
  const key = newKey();
  const id = await madeFor(write, shop, shop.api, key);
  const body = freshBody(write, shop);
  return () => send(write, shop, shop.api, { key, body, ...(id !== undefined && { id }) });
}

/** What became of a test event is saved behind its answer, and would wait at the gate as well. */
async function untilTold(shops: readonly TestMerchant[], answers: readonly Answer[]) {
  for (const [index, { body }] of answers.entries()) {
    const event = body.meta.operation_id.replace('op_', 'evt_');
    const look = async () => {
      const deliveries = await shops[index]?.api.get(`/webhooks/${body.data.id}/deliveries`);
      return JSON.stringify(deliveries?.body);
    };
    await expect.poll(look).toContain(event);
  }
}

const isFuture = (time: string) => time > '2100';

/** What is among some times, and was not, or not so often, among those of before. */
function added(before: readonly string[], after: readonly string[]): string[] {
  const left = [...before];
  return after.filter((time) => {
    const at = left.indexOf(time);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}

describe.each(writes)('$name', (write) => {
  test('is saved at the time of its own journal', async () => {
    for (const order of [
      [now, later],
      [later, now],
    ]) {
      const sends = await Promise.all(order.map((shop) => sender(write, shop)));
      const before = await timesOf(service.db, later.merchant);
      const answers = await asOne(sends);
      const ok = successStatus(write.contract);
      expect(answers.map(({ status }) => status)).toEqual([ok, ok]);
      if (homeCell === mirrorCell) {
        const together = await service.db.sql(
          'select from operations where id = any ($1) group by xmin::text',
          [answers.map(({ body }) => body.meta.operation_id)],
        );
        expect(together).toHaveLength(1);
      }
      if (write.name === 'webhooks.test') await untilTold(order, answers);
      const times = await timesOf(service.db, now.merchant);
      expect(times.filter(isFuture)).toEqual([]);
      const saved = added(before, await timesOf(service.db, later.merchant));
      expect(saved).not.toEqual([]);
      expect(saved.filter((time) => !isFuture(time))).toEqual([]);
    }
  });
});
