// `tallybook verify`: recomputes the ledger beside a working service. Exit code 1 when it differs.

import type { Difference, Verification } from '../inventory/verify.ts';
import { merchantOf } from './access.ts';
import { type CommonFlags, define, idOf, withStore } from './command.ts';
import type { DocumentedCommand } from './help.ts';
import { count, show, table } from './output.ts';

interface VerifyFlags extends CommonFlags {
  readonly merchant?: string;
}

export function defineVerify(program: DocumentedCommand): void {
  define(program, {
    name: 'verify',
    description: 'Recompute every level from its movements, and name what differs.',
    example: 'tallybook verify --data ./data',
  })
    .option('--merchant <merchant>', 'only this merchant, mer_…', idOf('mer_'))
    .action(verify);
}

async function verify(flags: VerifyFlags): Promise<void> {
  const verification = await withStore(flags, async ({ database }) => {
    const { verifyLedger } = await import('../inventory/verify.ts');
    const { merchant } = flags;
    if (merchant !== undefined) await merchantOf(database, merchant);
    return verifyLedger(database, { merchant });
  });
  await show(flags, verification, differencesOf);
  if (!verification.ok) process.exitCode = 1;
}

/** A table of all differences. */
export async function differencesOf({
  levels,
  movements,
  differences,
}: Verification): Promise<string> {
  const seen = `${count(levels, 'level')} and ${count(movements, 'movement')}`;
  if (differences.length === 0) return `The ledger is sound: ${seen} agree.`;
  const head = ['Kind', 'Where', 'What'];
  const rows = differences.map((difference) => [
    difference.kind,
    whereOf(difference),
    difference.message,
  ]);
  const found = count(differences.length, 'difference');
  return `${await table(head, rows)}\n${found} among ${seen}.`;
}

function whereOf(difference: Difference): string {
  const { merchant_id, product_id, location_id, movement_id, operation_id } = difference;
  return [merchant_id, product_id, location_id, movement_id, operation_id]
    .filter((id) => typeof id === 'string')
    .join('\n');
}
