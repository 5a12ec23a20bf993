// Faults of what the database lives on: a full disk, where the run may have a small one of its own,
// and rows and tables that are locked for so long that writers give up and readers run out of
// connections.

import { setTimeout as sleep } from 'node:timers/promises';
import type { ChaosEnvironment } from '../environment/environment.ts';
import type { SmallDisk } from '../environment/small-disk.ts';
import type { Random } from '../random.ts';
import { crash } from './database.ts';
import type { Fault } from './nemesis.ts';

/** Readers at each node while the table is locked: more than there are connections. */
const readers = 100;
const lockedMs = 3_200;

export function storageFaults(disk: SmallDisk | undefined): Fault[] {
  const exhausted: Fault = { name: 'connections exhausted', strike: exhaust };
  const held: Fault = { name: 'levels held', strike: hold };
  if (disk?.canBeFull !== true) return [exhausted, held];
  const full: Fault = {
    name: 'disk full',
    strike: (environment, random) => fill(environment, random, disk),
  };
  return [exhausted, held, full];
}

/**
 * As a transaction of somebody else's would that does not come to its end. In the order of the
 * product's own locks: in another one a deadlock would be the fault of this.
 */
async function hold({ database }: ChaosEnvironment): Promise<boolean> {
  const levels = await database.query('select 1 from inventory_levels limit 1');
  const held = database.cells.map((cell) =>
    database.queryAt(
      cell,
      `begin read write;
      select from inventory_levels order by merchant_id, product_id, location_id for update;
      select pg_sleep(${lockedMs / 1_000}); rollback`,
    ),
  );
  return Promise.all(held).then(
    () => levels.length > 0,
    () => false,
  );
}

async function exhaust(environment: ChaosEnvironment): Promise<boolean> {
  const { database, shop } = environment;
  const locked = database.queryAt(
    shop.cell,
    `begin; lock table inventory_levels in access exclusive mode;
    select pg_sleep(${lockedMs / 1_000}); rollback`,
  );
  const path = `/api/v1/inventory/levels?location_id=${shop.locations[0]}`;
  const headers = { authorization: `Bearer ${shop.steadyToken}` };
  const asked = environment.nodes.flatMap(({ front }) =>
    Array.from({ length: readers }, () => status(`http://127.0.0.1:${front.port}${path}`, headers)),
  );
  const answers = await Promise.all(asked);
  const refused = answers.filter((answer) => answer === 503).length;
  environment.refusedReads += refused;
  await locked.catch(() => undefined);
  return refused > 0;
}

async function status(url: string, headers: Record<string, string>): Promise<number> {
  try {
    const answer = await fetch(url, { headers, signal: AbortSignal.timeout(12_000) });
    await answer.arrayBuffer();
    return answer.status;
  } catch {
    return 0;
  }
}

/** PostgreSQL may refuse, or panic and be started again and again until there is room. */
async function fill(
  environment: ChaosEnvironment,
  random: Random,
  disk: SmallDisk,
): Promise<boolean> {
  let isFull = false;
  await crash(environment, async () => {
    try {
      isFull = disk.fill();
      await sleep(random.between(500, 2_500));
    } finally {
      disk.free();
    }
    return false;
  });
  return isFull;
}
