// What the client costs beside bare fetch: the processor time of the same requests, in rounds that
// alternate, to a server in a process of its own that answers at once. `npm run bench-client`.

import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { Tallybook } from '../sdk/main.ts';
import { document } from '../test/kit/conformance.ts';

const requests = 4_000;
const rounds = 7;
const parallel = 16;
/** How much more than bare fetch it may take. */
const bar = 0.25;

const body = {
  product_id: 'prod_01k9x3v7c2e4r8t1m5n6p0q9sa',
  location_id: 'loc_01k9x3v7c2e4r8t1m5n6p0q9sa',
  target_quantity: '12.5',
  reason: 'stock_count',
} as const;

function serve(): void {
  const answerOf = (path: string, method: 'get' | 'post', status: string) =>
    JSON.stringify(
      Object(document.paths[path]?.[method]?.responses[status]).content['application/json'].example,
    );
  const read = answerOf('/products/{id}', 'get', '200');
  const written = answerOf('/inventory/adjustments', 'post', '201');
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      const isRead = request.method === 'GET';
      response.writeHead(isRead ? 200 : 201, { 'content-type': 'application/json' });
      response.end(isRead ? read : written);
    });
  });
  server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
}

/** Processor time for each request, in microseconds. */
async function measure(request: () => Promise<unknown>): Promise<number> {
  let left = requests;
  const before = process.cpuUsage();
  const work = async () => {
    for (; left > 0; left -= 1) await request();
  };
  await Promise.all(Array.from({ length: parallel }, work));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / requests;
}

async function compare(): Promise<void> {
  const child = fork(fileURLToPath(import.meta.url), ['serve']);
  const [port] = (await once(child, 'message')) as [number];
  const baseUrl = `http://127.0.0.1:${port}/api/v1`;
  const tb = new Tallybook({ baseUrl, token: 'tb_pat_none' });
  const headers = { authorization: 'Bearer tb_pat_none' };
  const send = async (path: string, init: RequestInit) => {
    const response = await fetch(baseUrl + path, init);
    if (!response.ok) throw new Error(`${response.status}`);
    return response.json();
  };
  const json = { 'content-type': 'application/json' };
  const write = () => {
    const all = { ...headers, ...json, 'idempotency-key': randomUUID() };
    const init = { method: 'POST', headers: all, body: JSON.stringify(body) };
    return send('/inventory/adjustments', init);
  };
  const pairs = {
    read: [
      () => send(`/products/${body.product_id}`, { headers }),
      () => tb.products.get(body.product_id),
    ],
    write: [write, () => tb.inventory.adjust(body)],
  } as const;
  for (const [name, [bare, ours]] of Object.entries(pairs)) {
    const times: { readonly bare: number; readonly ours: number }[] = [];
    // The first round is for the compiler.
    for (let round = 0; round <= rounds; round += 1) {
      times.push({ bare: await measure(bare), ours: await measure(ours) });
    }
    const measured = times.slice(1);
    const [fetched, called] = [
      median(measured.map((one) => one.bare)),
      median(measured.map((one) => one.ours)),
    ];
    const more = called / fetched - 1;
    const verdict = more <= bar ? 'within' : 'MISSES';
    console.log(
      `${name}: fetch ${fetched.toFixed(0)} µs, client ${called.toFixed(0)} µs, ` +
        `${(more * 100).toFixed(0)} % more: ${verdict} the bar of ${bar * 100} %`,
    );
  }
  child.kill();
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

if (process.argv[2] === 'serve') serve();
else await compare();
