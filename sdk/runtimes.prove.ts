// The client on each runtime that is there: this Node, and Deno and Bun when they are on the path
// or DENO and BUN name them (the command in sdk/README.md brings both). Elsewhere the
// tests of Deno and Bun are reported as skipped.

import { accessSync, constants } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Environment, startEnvironment } from '../test/kit/environment.ts';
import { type Fate, FaultProxy, pass } from '../test/kit/fault-proxy.ts';
import { runProgram } from '../test/kit/program.ts';

const runtimes = [
  { name: 'Node', program: process.execPath, flags: [] },
  // It lets nobody write below /dev, where the folder of a run may be, without all rights.
  { name: 'Deno', program: found('deno'), flags: ['run', '--no-config', '--no-lock', '-A'] },
  { name: 'Bun', program: found('bun'), flags: [] },
];

function found(name: string): string | undefined {
  const places = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, name));
  return [process.env[name.toUpperCase()] ?? '', ...places].find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return path !== '';
    } catch {
      return false;
    }
  });
}

let service: Environment;
let proxy: FaultProxy;
let folder: string;

beforeAll(async () => {
  service = await startEnvironment();
  proxy = await FaultProxy.listen(service.api.origin);
  const faults: Fate[] = [
    { kind: 'cut answer', after: 0 },
    { kind: 'answer', status: 503, headers: { 'retry-after': '0' } },
    { kind: 'cut request', after: 64 },
  ];
  proxy.fateOf = (n) => (n % 5 === 0 ? faults[(n / 5) % 3] : undefined) ?? pass;
  folder = await mkdtemp(join(tmpdir(), 'tallybook-runtimes-'));
  await build({
    entryPoints: [fileURLToPath(new URL('../test/kit/runtime-till.ts', import.meta.url))],
    outfile: join(folder, 'till.mjs'),
    ...{ bundle: true, format: 'esm', platform: 'neutral', external: ['node:*'] },
  });
});
afterAll(async () => {
  proxy.close();
  await service.stop();
  await rm(folder, { recursive: true, force: true });
});

/** As the library signs it. */
function signedCall(): string {
  const secret = `whsec_${btoa('a secret of thirty-two characters')}`;
  const body = JSON.stringify({ id: 'evt_1', type: 'webhook.test' });
  const at = new Date();
  const headers = {
    'webhook-id': 'evt_1',
    'webhook-timestamp': `${Math.floor(at.getTime() / 1000)}`,
    'webhook-signature': new Webhook(secret).sign('evt_1', at, body),
  };
  return JSON.stringify({ body, headers, secret });
}

for (const { name, program, flags } of runtimes) {
  const title = `on ${name} writes happen once, an outbox settles, the feed and webhooks are read`;
  test.runIf(program !== undefined)(title, async () => {
    const merchant = await service.given.merchant();
    const { token } = await service.given.credential(merchant);
    const location = await service.given.location(merchant);
    const product = await service.given.product(merchant);
    const words = [proxy.baseUrl, token, location, product, join(folder, name), signedCall()];
    const options = { limitMs: 50_000, cwd: folder, env: { HOME: folder } };
    const args = [...flags, join(folder, 'till.mjs'), ...words];
    const printed = await runProgram(program ?? '', args, options);
    expect(JSON.parse(printed)).toEqual({
      ...{ settled: 20, events: 40, type: 'webhook.test', forged: 'WebhookError' },
    });
    const rows = await service.db.sql(
      'select quantity from inventory_levels where product_id = $1',
      [product],
    );
    expect(rows.map((row) => Number(row.quantity))).toEqual([40]);
  });
}
