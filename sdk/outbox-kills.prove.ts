import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Environment, startEnvironment } from '../test/kit/environment.ts';
import { extent, timeout } from '../test/kit/extent.ts';
import { type Fate, FaultProxy, pass } from '../test/kit/fault-proxy.ts';

let service: Environment;
let proxy: FaultProxy;
let folder: string;

beforeAll(async () => {
  service = await startEnvironment();
  proxy = await FaultProxy.listen(service.api.origin);
  folder = await mkdtemp(join(tmpdir(), 'tallybook-till-'));
  await build({
    entryPoints: [fileURLToPath(new URL('../test/kit/till.ts', import.meta.url))],
    outfile: join(folder, 'till.mjs'),
    bundle: true,
    platform: 'node',
    format: 'esm',
  });
});
afterAll(async () => {
  proxy.close();
  await service.stop();
  await rm(folder, { recursive: true, force: true });
});

test('a till that is killed again and again loses and doubles no sale', {
  timeout,
}, async () => {
  const kills = extent(10, 200);
  const merchant = await service.given.merchant();
  const { token } = await service.given.credential(merchant);
  const location = await service.given.location(merchant);
  const products = await Promise.all([1, 2, 3].map(() => service.given.product(merchant)));
  const faults: Fate[] = [
    { kind: 'cut answer', after: 640 },
    { kind: 'slow', ms: 50 },
  ];
  proxy.fateOf = (n) => (n % 7 === 0 ? faults[n % 2] : undefined) ?? pass;
  const words = [proxy.baseUrl, token, join(folder, 'outbox'), location, products.join(',')];
  const till = (run: string) =>
    spawn(process.execPath, [join(folder, 'till.mjs'), ...words, run], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });

  const stored: string[] = [];
  for (let run = 0; run < kills; run += 1) {
    const child = till(`${run}`);
    let output = '';
    let failure = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
    });
    child.stderr.on('data', (chunk) => {
      failure += chunk;
    });
    const closed = once(child, 'close');
    // Some die before they have begun, most while they sell.
    if (run % 10 !== 0) await Promise.race([once(child.stdout, 'data'), closed]);
    await sleep(Math.random() * 150);
    child.kill('SIGKILL');
    await closed;
    expect(failure).toBe('');
    stored.push(...output.split('\n').slice(0, -1));
  }
  const drain = till('drain');
  const [code] = await once(drain, 'close');
  expect(code).toBe(0);

  const rows = await service.db.sql<{ reference: string }>(
    'select reference from inventory_movements where location_id = $1',
    [location],
  );
  const done = rows.map(({ reference }) => reference);
  expect(stored.length).toBeGreaterThan(kills);
  expect(new Set(done).size).toBe(done.length);
  expect(stored.filter((sale) => !new Set(done).has(sale))).toEqual([]);
  // One that was killed between storing a sale and saying so.
  expect(done.length - stored.length).toBeLessThanOrEqual(kills);
});
