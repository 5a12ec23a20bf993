// Whether a run may be believed: no errors, a sound ledger, and in it every adjustment that was
// answered with success, once.

import type { Options } from './options.ts';
import type { Figures } from './rounds.ts';
import { verifyLedger } from './setup/service.ts';
import type { Stage } from './stage.ts';

export interface Verdict {
  readonly sentence: string;
  /** What is wrong; empty: nothing. */
  readonly faults: readonly string[];
}

export async function judge(
  stage: Stage,
  options: Options,
  errors: Figures['errors'],
): Promise<Verdict> {
  const { database, service } = stage;
  const { ok, levels, movements, differences } = await verifyLedger(database.serviceUrl);
  const { answered, found } = await adjustmentsOf(stage, options.products);
  const faults = [...errors.faults];
  if (!ok) faults.push(`the ledger differs: ${JSON.stringify(differences.slice(0, 3))}`);
  const isRight = stage.load.isExact && errors.count === 0 ? found === answered : found >= answered;
  if (!isRight) faults.push(`${answered} adjustments were answered with 201, ${found} are there`);
  if (service.log() !== '') faults.push(`the service warned: ${service.log().slice(-500)}`);
  const sentence =
    `Ledger ${ok ? 'ok' : 'NOT OK'}: ${levels} levels and ${movements} movements verified, ` +
    `${found} adjustments for ${answered} answers 201. Errors: ${errors.count}.`;
  return { sentence, faults };
}

async function adjustmentsOf({ database, served, cases, load }: Stage, products: number) {
  const answered = cases
    .filter(({ isAdjustment }) => isAdjustment)
    .reduce((sum, { request }) => sum + load.answered(request), 0);
  const { rows } = await database.owner.query<{ count: number }>(
    'select count(*)::int as count from inventory_movements where merchant_id = $1',
    [served.id],
  );
  // Each product began with one, the one everybody wants among them.
  return { answered, found: (rows[0]?.count ?? 0) - products - 1 };
}
