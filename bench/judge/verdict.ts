// Whether a run may be believed: no errors, a sound ledger, and in it every adjustment that was
// answered with success, once.

import type pg from 'pg';
import type { LoadGenerator } from '../load/generator.ts';
import type { MerchantGroup } from '../setup/merchants.ts';
import { verifyLedger } from '../setup/service.ts';

export interface Verdict {
  readonly sentence: string;
  /** What is wrong; empty: nothing. */
  readonly faults: readonly string[];
}

/** Compares the movements of merchants with what the answers said, from now on. */
export class LedgerWatch {
  readonly #owner: pg.Client;
  readonly #load: LoadGenerator;
  readonly #merchants: readonly string[];
  readonly #before: { readonly movements: number; readonly load: LoadCounts };

  private constructor(
    owner: pg.Client,
    load: LoadGenerator,
    merchants: readonly string[],
    movements: number,
  ) {
    this.#owner = owner;
    this.#load = load;
    this.#merchants = merchants;
    this.#before = { movements, load: countsOf(load) };
  }

  static async start(
    owner: pg.Client,
    load: LoadGenerator,
    groups: readonly MerchantGroup[],
  ): Promise<LedgerWatch> {
    const merchants = groups.flatMap((group) => group.merchants.map(({ id }) => id));
    return new LedgerWatch(owner, load, merchants, await countMovements(owner, merchants));
  }

  async judge(): Promise<Verdict> {
    const now = countsOf(this.#load);
    const answered = now.movements - this.#before.load.movements;
    const dropped = now.dropped - this.#before.load.dropped;
    const found = (await countMovements(this.#owner, this.#merchants)) - this.#before.movements;
    const isRight = found >= answered && found <= answered + dropped;
    const sentence = `${found} adjustments for ${answered} answers that said so.`;
    return { sentence, faults: isRight ? [] : [`the ledger holds ${sentence}`] };
  }
}

interface LoadCounts {
  readonly movements: number;
  readonly dropped: number;
}

function countsOf(load: LoadGenerator): LoadCounts {
  return { movements: load.movements(), dropped: load.dropped() };
}

async function countMovements(owner: pg.Client, merchants: readonly string[]): Promise<number> {
  const { rows } = await owner.query<{ count: number }>(
    'select count(*)::int as count from inventory_movements where merchant_id = any ($1)',
    [merchants],
  );
  return rows[0]?.count ?? 0;
}

/** What `tallybook verify` finds. */
export async function verified(serviceUrl: string): Promise<Verdict> {
  const { ok, levels, movements, differences } = await verifyLedger(serviceUrl);
  const sentence = `Ledger ${ok ? 'ok' : 'NOT OK'}: ${levels} levels, ${movements} movements.`;
  const first = JSON.stringify(differences.slice(0, 3));
  return { sentence, faults: ok ? [] : [`the ledger differs: ${first}`] };
}

export function together(verdicts: readonly Verdict[]): Verdict {
  return {
    sentence: verdicts.map(({ sentence }) => sentence).join(' '),
    faults: verdicts.flatMap(({ faults }) => faults),
  };
}
