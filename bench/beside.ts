// Services on one database, in alternation, so that what disturbs the machine for a while disturbs
// all of them: what each takes for a page of products and for an adjustment.

import type pg from 'pg';
import { addProducts, createMerchants, type MerchantGroup, settle } from '../test/kit/many-rows.ts';
import { familyProcessorMs } from '../test/kit/usage.ts';
import { adjustment, get, pageSize, planOf } from './cases.ts';
import type { Load } from './load.ts';
import { median, perSecond } from './measure.ts';
import type { HttpProcess } from './servers.ts';

export interface Contender<Name extends string> extends HttpProcess {
  readonly name: Name;
}

/** Medians of the rounds. */
export interface Figures {
  readonly perSecond: number;
  /** Processor time of the service and of its processes. */
  readonly msEach: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface Pace {
  readonly connections: number;
  readonly rounds: number;
  readonly seconds: number;
}

const requestsBeside = {
  list: get(`/products?limit=${pageSize}`),
  adjust: adjustment('{prefix}{product}'),
} as const;

/** Ten merchants with 500 products each. */
export async function fill(owner: pg.Client): Promise<MerchantGroup> {
  const group = await addProducts(owner, await createMerchants(owner, 10), 500);
  await settle(owner);
  return group;
}

/** The first round warms up. @throws Error when a request failed. */
export async function measureBeside<Name extends string>(
  services: readonly Contender<Name>[],
  request: keyof typeof requestsBeside,
  { load, group }: { readonly load: Load; readonly group: MerchantGroup },
  { connections, rounds, seconds }: Pace,
): Promise<Record<Name, Figures>> {
  const parts = [{ weight: 1, request: requestsBeside[request] }];
  const plan = planOf(parts, group.merchants, group);
  const samples = new Map<Name, Figures[]>(services.map(({ name }) => [name, []]));
  for (let round = 0; round <= rounds; round += 1) {
    for (const { name, origin, pid } of services) {
      const before = familyProcessorMs(pid);
      const measured = await load.run(origin, plan, connections, seconds);
      if (measured.errors > 0) throw new Error(measured.firstError);
      if (round === 0) continue;
      const msEach = (familyProcessorMs(pid) - before) / measured.total;
      const { p50Ms, p99Ms } = measured;
      samples.get(name)?.push({ perSecond: perSecond(measured), msEach, p50Ms, p99Ms });
    }
  }
  const entries = [...samples].map(([name, all]) => {
    const of = (member: keyof Figures) => median(all.map((one) => one[member]));
    const figures: Figures = {
      ...{ perSecond: of('perSecond'), msEach: of('msEach') },
      ...{ p50Ms: of('p50Ms'), p99Ms: of('p99Ms') },
    };
    return [name, figures];
  });
  return Object.fromEntries(entries);
}

export function show(title: string, all: Readonly<Record<string, Figures>>): void {
  for (const [name, { perSecond: rate, msEach, p50Ms, p99Ms }] of Object.entries(all)) {
    const whose = `${title.padEnd(26)} ${name.padEnd(8)} ${rate.toFixed(0).padStart(6)}/s`;
    const times = `p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(0)} ms`;
    console.log(`${whose}, ${msEach.toFixed(3)} ms of processor time, ${times}`);
  }
}

/** Of one to another. */
export const ratio = (one: Figures, other: Figures) =>
  `${(one.msEach / other.msEach).toFixed(2)} × processor time, ` +
  `${(one.perSecond / other.perSecond).toFixed(2)} × requests/s`;
