// Everybody comes back at once: the service dies under many writes, and as soon as another one is
// there, all clients send theirs again, with the same keys, at the very second they were told to.

import type pg from 'pg';
import { filler, type LoadPlan } from '../load/template.ts';
import type { BenchService } from '../setup/service.ts';
import { ask } from './steady.ts';

export interface Storm {
  readonly clients: number;
  /** From the moment that the service listens again until the last client has its answer. */
  readonly milliseconds: number;
  /** How often anybody had to try again after that moment. */
  readonly retries: number;
  /** Writes without exactly one movement. */
  readonly wrong: number;
}

const firstTarget = 3_000_000_000;
/** Whoever finds nobody is told nothing, and tries again soon. */
const nobody = { status: 0, retryAfter: 0.2 };

/** @param plan of adjustments: each request has a key and a target of its own. */
export async function storm(
  owner: pg.Client,
  plan: LoadPlan,
  clients: number,
  service: BenchService,
  restart: () => Promise<BenchService>,
): Promise<Storm> {
  const next = filler(plan, firstTarget);
  const { origin } = service;
  let returned = Number.POSITIVE_INFINITY;
  let retries = 0;
  const insist = async (): Promise<void> => {
    const filled = next();
    for (;;) {
      const { status, retryAfter } = await ask(origin, filled).catch(() => nobody);
      if (status === 201) return;
      if (performance.now() > returned) retries += 1;
      await new Promise((resolve) => setTimeout(resolve, retryAfter * 1_000));
    }
  };
  // Two rounds: the second is under way, or about to begin, when it happens.
  const all = Array.from({ length: clients }, () => insist().then(insist));
  await Promise.race(all.slice(0, 20));
  process.kill(service.pid, 'SIGKILL');
  await restart();
  returned = performance.now();
  await Promise.all(all);
  const milliseconds = performance.now() - returned;
  const { rows } = await owner.query<{ wrong: number }>(
    `select count(*)::int as wrong from generate_series($1::bigint, $2::bigint) target
     where (select count(*) from inventory_movements where quantity_after = target) <> 1`,
    [firstTarget + 1, firstTarget + 2 * clients],
  );
  return { clients, milliseconds, retries, wrong: rows[0]?.wrong ?? -1 };
}
