// Whether one plan for any values is as good as a plan for each: every list of the service, with
// and without filters, from its beginning and far behind it, is run both ways. A list that is
// planned anew each time (a statement without a name) is shown as well, and not judged.

import type pg from 'pg';
import type { Reader, Statement } from '../src/core/statement.ts';
import { literal } from '../test/kit/blocks.ts';
import { hotProduct, type MerchantGroup, single } from '../test/kit/many-rows.ts';
import { median, progress } from './measure.ts';
import { type PageQuestion, runList } from './statements.ts';

export interface PlanCost {
  readonly of: string;
  readonly isPlannedAnew: boolean;
  /** Milliseconds of planning and of running, and blocks touched, with a plan for each value. */
  readonly planMs: number;
  readonly customMs: number;
  readonly customBlocks: number;
  /** The same with one plan for any values. */
  readonly genericMs: number;
  readonly genericBlocks: number;
}

const repeats = 7;
/** A list that walks everything is not run so often (ms). */
const enough = 3_000;
/** As many as a list takes. */
const skus = Array.from({ length: 100 }, (_, n) => `OIL-${n * 7 + 1}`);
const otherLocation = 'loc_00000000000000000000000000';

function questionsOf(group: MerchantGroup): Record<string, PageQuestion> {
  const { id: merchant, credential, location } = single(group);
  const digits = (n: number) => String(n).padStart(6, '0');
  const some = Math.floor(group.products / 2);
  const many = Array.from({ length: 100 }, (_, n) => group.productPrefix + digits(n * 7 + 1));
  const productAt = group.productPrefix + digits(some);
  const day = new Date(Date.now() - 86_400_000).toISOString();
  const now = new Date().toISOString();
  const then = { as_of_position: String(some), journal: `jrn_${merchant.slice('mer_'.length)}` };
  const all: Record<string, PageQuestion> = {};
  const add = (path: string, cases: Record<string, Partial<PageQuestion>>) => {
    for (const [name, more] of Object.entries(cases)) {
      for (const limit of [50, 200]) {
        all[`${path} ${name} (${limit})`] = { path, merchant, credential, limit, ...more };
      }
    }
  };
  add('/products', {
    '': {},
    late: { after: productAt },
    'updated since': { query: { updated_after: day } },
    '100 SKUs': { query: { sku: skus } },
    status: { query: { status: 'inactive' } },
    'words of all': { query: { q: 'olive' } },
    'words of one': { query: { q: String(some) } },
  });
  add('/customers', {
    '': {},
    late: { after: `cus_${'0'.repeat(20)}${digits(some)}` },
    email: { query: { email: `a${some}@example.com` } },
    'updated since': { query: { updated_after: day } },
  });
  add('/inventory/levels', {
    '': { location },
    late: { location, after: productAt },
    elsewhere: { location: otherLocation },
    'of one product': { location, query: { product_id: [productAt] } },
    'of 100 products': { location, query: { product_id: many } },
    'updated since': { location, query: { updated_after: day } },
    'updated just now': { location, query: { updated_after: now } },
    'as of then': { location, query: then },
  });
  add('/products/{id}/levels', { '': { id: productAt } });
  add('/inventory/movements', {
    '': {},
    late: { after: `${some}.1` },
    upwards: { query: { order: 'asc' } },
    'at a location': { location },
    elsewhere: { location: otherLocation },
    'of one product': { query: { product_id: [productAt] } },
    'of the busiest': { query: { product_id: [hotProduct(group)] } },
    'of 100 products': { query: { product_id: many } },
    'of a rare reason': { query: { reason: 'damaged' } },
    'of the day': { query: { recorded_after: day } },
    'since just now': { query: { recorded_after: now } },
  });
  add('/operations', { '': {}, 'of a rare type': { query: { type: 'customers.update' } } });
  add('/locations', { '': {} });
  return all;
}

/** @param client as the role of the service, with its types. */
export async function comparePlans(client: pg.Client, group: MerchantGroup): Promise<PlanCost[]> {
  await client.query("set statement_timeout = '60s'");
  const statements: { readonly of: string; readonly statement: Statement }[] = [];
  for (const [of, question] of Object.entries(questionsOf(group))) {
    const sent = await sentFor(client, question);
    for (const [index, statement] of sent.entries()) {
      const isLast = index === sent.length - 1;
      statements.push({ of: isLast ? of : `${of}, before: ${statement.name}`, statement });
    }
  }
  const found: PlanCost[] = [];
  for (const { of, statement } of statements) {
    progress(`plans: ${of}`);
    const custom = await explained(client, 'force_custom_plan', statement);
    const generic = await explained(client, 'force_generic_plan', statement);
    found.push({
      of,
      isPlannedAnew: statement.name === '',
      planMs: custom.planMs,
      customMs: custom.runMs,
      customBlocks: custom.blocks,
      genericMs: generic.runMs,
      genericBlocks: generic.blocks,
    });
  }
  return found;
}

/** What an endpoint sends for a page. It is answered: the next statement may ask by the answer. */
async function sentFor(client: pg.Client, question: PageQuestion): Promise<Statement[]> {
  await client.query('set plan_cache_mode = force_custom_plan');
  const sent: Statement[] = [];
  const reader: Reader = {
    query: async <Row>(statement: Statement<Row>) => {
      sent.push(statement);
      const { text, values } = statement;
      return (await client.query({ text, values: [...values] })).rows as Row[];
    },
  };
  await runList(reader, question);
  return sent;
}

interface Explained {
  readonly 'Planning Time': number;
  readonly 'Execution Time': number;
  readonly Plan: { readonly 'Shared Hit Blocks': number; readonly 'Shared Read Blocks': number };
}

/** By EXECUTE, because EXPLAIN of a statement with parameters always plans for their values. */
async function explained(client: pg.Client, mode: string, { text, values }: Statement) {
  await client.query(`set plan_cache_mode = ${mode}`);
  await client.query(`prepare asked as ${text}`);
  const given = values.map((value) => literal(client, value)).join(', ');
  const all: Explained[] = [];
  const until = performance.now() + enough;
  for (let repeat = 0; repeat < repeats && performance.now() < until; repeat += 1) {
    const { rows } = await client.query<{ 'QUERY PLAN': [Explained] }>(
      `explain (analyze, buffers, timing off, format json) execute asked (${given})`,
    );
    if (rows[0] !== undefined) all.push(rows[0]['QUERY PLAN'][0]);
  }
  await client.query('deallocate asked');
  const last = all.at(-1)?.Plan;
  return {
    planMs: median(all.map((one) => one['Planning Time'])),
    runMs: median(all.map((one) => one['Execution Time'])),
    blocks: (last?.['Shared Hit Blocks'] ?? 0) + (last?.['Shared Read Blocks'] ?? 0),
  };
}

/** Twice the blocks, or half as long again with a plan for each value and its planning. */
export function isWorse(cost: PlanCost): boolean {
  const { isPlannedAnew, planMs, customMs, customBlocks, genericMs, genericBlocks } = cost;
  const isMore = genericBlocks > 2 * customBlocks + 10;
  return !isPlannedAnew && (isMore || genericMs > 1.5 * (planMs + customMs) + 0.1);
}
