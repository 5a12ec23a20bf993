// What must be true of a database after everything that was done to it, whatever was acknowledged.
// Each count is of what must not be.

import type { Ground } from './ground.ts';
import type { Bound } from './traffic.ts';

export type Verdict = Readonly<Record<string, number>>;

export async function judge(ground: Ground, bound: readonly Bound[]): Promise<Verdict> {
  const rows = bound.map(({ merchant, operation, status }) => ({
    merchant_id: merchant,
    id: operation,
    status: status < 300 ? 'succeeded' : 'rejected',
  }));
  const [verdict = {}] = await ground.sql<Record<string, number>>(
    `select
      (select count(*) from json_to_recordset($1) as a (merchant_id text, id text, status text)
        where not exists (select from operations o where (o.merchant_id, o.id, o.status)
          = (a.merchant_id, a.id, a.status)))::int as acknowledged_and_lost,
      (select count(*) from (select from inventory_movements group by merchant_id, operation_id
        having count(*) > 1) twice)::int as operations_with_two_effects,
      (select count(*) from (select from operations group by merchant_id, credential_id, type,
        key_hash having count(*) > 1) twice)::int as keys_with_two_operations,
      (select count(*) from inventory_levels v left join lateral (
          select sum(m.quantity_delta) as total, count(*) as movements, max(m.sequence) as last
          from inventory_movements m where (m.merchant_id, m.product_id, m.location_id)
            = (v.merchant_id, v.product_id, v.location_id)) l on true
        where v.quantity <> coalesce(l.total, 0) or v.sequence <> coalesce(l.last, 0)
          or v.sequence <> l.movements)::int as levels_off_their_ledger`,
    [JSON.stringify(rows)],
  );
  return verdict;
}
