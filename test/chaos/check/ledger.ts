// What the database itself tells, asked without the service: every acknowledged write is there, and
// nothing else; levels are the sums of their movements, whose numbers have no gaps.

import { type Attempt, isBound } from '../history.ts';
import type { ChaosDatabase } from '../world/database.ts';
import type { Finding } from './verdict.ts';

interface OperationRow {
  readonly id: string;
  readonly status: string;
  readonly resource_id: string | null;
  readonly movements: number;
}

const operations = `
  select o.id, o.status, o.resource_id,
    (select count(*) from inventory_movements m
      where m.merchant_id = o.merchant_id and m.operation_id = o.id)::int as movements
  from operations o where o.type in ('inventory.adjust', 'customers.create')`;

/** Levels that are not what their movements say. One statement, so one moment. */
export const offLedger = `
  select v.product_id, v.location_id, v.quantity, v.sequence, m.*
  from inventory_levels v
  left join lateral (
    select count(*) as movements, coalesce(sum(quantity_delta), 0) as total,
      coalesce(max(sequence), 0) as last, count(distinct sequence) as sequences,
      count(*) filter (where quantity_after <> quantity_before + quantity_delta) as wrong
    from inventory_movements m where m.merchant_id = v.merchant_id
      and m.product_id = v.product_id and m.location_id = v.location_id) m on true
  where m.total <> v.quantity or m.movements <> v.sequence or m.last <> v.sequence
    or m.sequences <> v.sequence or m.wrong <> 0`;

export async function judgeLedger(
  database: ChaosDatabase,
  attempts: readonly Attempt[],
): Promise<Finding[]> {
  const rows = await database.query<OperationRow & Record<string, unknown>>(operations);
  const levels = await database.query(offLedger);
  const byId = new Map(rows.map((row) => [row.id, row]));
  const answered = attempts.filter(isBound);
  const known = new Set(answered.map(({ operation }) => operation));
  const pending = rows.filter(({ status }) => status === 'claimed');
  return [
    { what: 'lost acknowledged writes', faults: lost(answered, byId) },
    {
      what: 'keys with two effects',
      faults: rows
        .filter((row) => row.movements > 1 || !known.has(row.id))
        .map((row) => JSON.stringify(row)),
    },
    {
      what: 'levels that differ from their ledger',
      faults: levels.map((row) => JSON.stringify(row)),
    },
    { what: 'operations pending', faults: pending.map(({ id }) => id) },
  ];
}

function lost(answered: readonly Attempt[], byId: ReadonlyMap<string, OperationRow>): string[] {
  return answered
    .filter(({ operation = '', status, kind, resource }) => {
      const row = byId.get(operation);
      if (row === undefined) return true;
      if (status === 422) return row.status !== 'rejected';
      const movements = kind === 'adjust' ? 1 : 0;
      return (
        row.status !== 'succeeded' || row.resource_id !== resource || row.movements !== movements
      );
    })
    .map((attempt) => JSON.stringify(attempt));
}
