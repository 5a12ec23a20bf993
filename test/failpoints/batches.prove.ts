import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { asked } from '../kit/again.ts';
import { type Answer, type Api, newKey } from '../kit/api.ts';
import { ExchangeProxy, type Side } from '../kit/exchanges.ts';
import { extentName, numbersTo, timeout } from '../kit/extent.ts';
import { type ServiceProcess, startProcess } from '../kit/process.ts';
import { FaultEnvironment, type FaultyNode, isReplay } from './environment.ts';
import { type Kind, kinds, type Write } from './kinds.ts';

// Batches that meet faults on their way, or each other: each of their writes is done exactly once.

let environment: FaultEnvironment;

beforeAll(async () => {
  environment = await FaultEnvironment.start();
});
afterAll(() => environment.stop());

interface Batch {
  readonly key: string;
  readonly writes: readonly Write[];
}

const inBatches = kinds.filter(({ isOfAccess }) => isOfAccess !== true);

async function newBatch(copies = 1): Promise<Batch> {
  const all = inBatches.flatMap((kind) => Array<Kind>(copies).fill(kind));
  return {
    key: newKey(),
    writes: await Promise.all(all.map((kind) => environment.newWrite(kind))),
  };
}

function textOf({ writes }: Batch): string {
  const operations = writes.map(({ kind, key, path, body }) => {
    const [, external_id] = path.split('external_id=');
    const id = external_id === undefined ? path.split('/')[2] : undefined;
    const named = kind.method === 'PATCH' ? { id, external_id } : {};
    return { type: kind.type, idempotency_key: key, ...named, body };
  });
  return JSON.stringify({ operations });
}

const send = (api: Api, batch: Batch): Promise<Answer> =>
  api.send('POST', '/batches', textOf(batch), { key: batch.key });

interface Result {
  readonly status: number;
  readonly meta: { readonly operation_id: string; readonly replayed?: boolean };
}

const resultsOf = (answer: Answer): Result[] => answer.body.data.results;

/** Asks until all of it is answered. */
const answered = (api: Api, batch: Batch): Promise<Answer> =>
  asked(
    () => send(api, batch),
    (answer) => {
      const late = answer.status === 200 ? resultsOf(answer) : [answer];
      return late.some(({ status }) => status >= 500) ? 'something of a batch' : undefined;
    },
  );

/** Sends it to a node without faults: every write is done once, and found again by itself. */
async function mustSettle(batch: Batch, what: string): Promise<Answer> {
  const settled = await answered(environment.api, batch);
  const again = await answered(environment.api, batch);
  expect([what, isReplay(again)]).toEqual([what, true]);
  expect([what, again.body.data.id]).toEqual([what, settled.body.data.id]);
  for (const [index, write] of batch.writes.entries()) {
    const result = resultsOf(again)[index];
    const name = `${what}, ${write.kind.name}`;
    expect([name, result?.status, result?.meta.replayed]).toEqual([name, write.kind.status, true]);
    expect(resultsOf(settled)[index]?.meta.operation_id).toBe(result?.meta.operation_id);
    expect([name, await environment.effects(write)]).toEqual([name, { done: 1, operations: 1 }]);
  }
  return settled;
}

async function mustBeUndone(batch: Batch, what: string): Promise<void> {
  const none = { done: 0, operations: 0 };
  for (const write of batch.writes) {
    expect([what, await environment.effects(write)]).toEqual([what, none]);
  }
}

function bytesOf(batch: Batch): Buffer {
  const body = textOf(batch);
  const lines = [
    'POST /api/v1/batches HTTP/1.1',
    'Host: localhost',
    `Authorization: Bearer ${environment.token}`,
    `Idempotency-Key: ${batch.key}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`);
}

async function open(): Promise<Socket> {
  const { hostname, port } = new URL(environment.api.origin);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

async function sendPart(bytes: Buffer): Promise<void> {
  const socket = await open();
  if (bytes.length > 0) await new Promise((resolve) => socket.write(bytes, resolve));
  socket.end();
  socket.resume();
  if (!socket.closed) await once(socket, 'close');
}

/** Sends a request and closes once so many bytes of its answer have come. */
async function readPart(bytes: Buffer, length: number): Promise<number> {
  const socket = await open();
  let received = 0;
  await new Promise<void>((resolve) => {
    socket.write(bytes, () => length === 0 && resolve());
    socket.on('data', (part: Buffer) => {
      received += part.length;
      if (received >= length) resolve();
    });
    socket.on('close', () => resolve());
  });
  socket.destroy();
  return received;
}

test(`a batch cut by the client at any byte before its end does nothing (${extentName})`, {
  timeout,
}, async () => {
  const last = bytesOf(await newBatch()).length - 1;
  for (const length of numbersTo(last, 10)) {
    const batch = await newBatch();
    await sendPart(bytesOf(batch).subarray(0, length));
    await mustBeUndone(batch, `${length} bytes`);
    await mustSettle(batch, `${length} bytes`);
  }
});

test(`a batch whose answer is cut at any byte is done once (${extentName})`, {
  timeout,
}, async () => {
  const last = await readPart(bytesOf(await newBatch()), 1);
  for (const length of numbersTo(last, 10)) {
    const batch = await newBatch();
    const received = await readPart(bytesOf(batch), length);
    const settled = await mustSettle(batch, `${length} bytes`);
    // When a part of the answer has arrived, all is committed.
    if (received > 0) expect(resultsOf(settled).every(({ meta }) => meta.replayed)).toBe(true);
  }
});

test.each<Side>(['toDatabase', 'toService'])(
  `a batch is done once whatever byte %s the connection is cut after (${extentName})`,
  { timeout },
  async (side) => {
    const node = await environment.node();
    const passed = async () => {
      node.proxy.reset();
      await answered(node.api, await newBatch(2));
      return node.proxy.passed[side];
    };
    await passed();
    for (const bytes of numbersTo(await passed(), 8)) {
      const batch = await newBatch(2);
      node.proxy.reset();
      node.proxy.cutAfter = { side, bytes };
      const answer = await send(node.api, batch);
      node.proxy.reset();
      const what = `${bytes} bytes ${side}`;
      expect([what, answer.status]).toEqual([what, expect.toBeOneOf([200, 503])]);
      const ends = answer.status === 200 ? resultsOf(answer) : [];
      for (const { status } of ends) expect([200, 201, 503]).toContain(status);
      await mustSettle(batch, what);
      await passed();
    }
    await node.stop();
  },
);

test(`a service killed at any moment of a batch leaves each write done or not (${extentName})`, {
  timeout,
}, async () => {
  const proxy = new ExchangeProxy(environment.db.serviceUrl);
  await proxy.listen();
  const start = () => startProcess({ ...environment.db, serviceUrl: proxy.url });
  const seen = 20;
  for (const nth of numbersTo(seen, 4)) {
    const serving: ServiceProcess = await start();
    const batch = await newBatch(2);
    let met = 0;
    proxy.onExchange = () => {
      met += 1;
      if (met !== nth + 1) return undefined;
      const when = nth % 2 === 0 ? 'before' : 'after';
      return { kind: 'run', when, work: () => serving.child.kill('SIGKILL') };
    };
    await send(serving.api.as(environment.token), batch).catch(() => undefined);
    proxy.onExchange = () => undefined;
    await serving.end('SIGKILL');
    await mustSettle(batch, `killed at exchange ${nth}`);
  }
  await proxy.close();
});

test('batches with writes in common, at two nodes at once, do each of them once', {
  timeout,
}, async () => {
  const nodes: FaultyNode[] = [await environment.node(), await environment.node()];
  for (let round = 0; round < 5; round += 1) {
    const { writes } = await newBatch(6);
    // Thirds: the first two, the last two, all, and one again.
    const third = writes.length / 3;
    const lists = [writes.slice(0, 2 * third), writes.slice(third), writes.toReversed()];
    const batches: Batch[] = lists.map((list) => ({ key: newKey(), writes: list }));
    const [one] = batches;
    if (one !== undefined) batches.push(one);
    const answers = await Promise.all(
      batches.flatMap((batch, n) => answered(nodes[n % 2]?.api ?? environment.api, batch)),
    );
    const operations = new Map<Write, Set<string>>();
    const firsts = new Map<Write, number>();
    for (const [n, { writes: list }] of batches.entries()) {
      for (const [index, write] of list.entries()) {
        const result = answers[n] && resultsOf(answers[n])[index];
        expect(result?.status).toBe(write.kind.status);
        const known = operations.get(write) ?? new Set();
        operations.set(write, known.add(result?.meta.operation_id ?? ''));
        const done = result?.meta.replayed === true ? 0 : 1;
        firsts.set(write, (firsts.get(write) ?? 0) + done);
      }
    }
    for (const write of writes) {
      expect(operations.get(write)?.size).toBe(1);
      // None when what had committed was asked for again, because another write was not done yet.
      expect(firsts.get(write)).toBeLessThanOrEqual(1);
      expect(await environment.effects(write)).toEqual({ done: 1, operations: 1 });
    }
  }
  for (const node of nodes) await node.stop();
});

test('after all of this the ledger adds up, and no key has two operations', () =>
  environment.verify());
