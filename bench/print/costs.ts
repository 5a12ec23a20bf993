// What each case costs in the database, statement by statement.

import type { StatementCost } from '../parts/statements.ts';
import { decimals, markdown } from './markdown.ts';

export function costsTable(costs: readonly StatementCost[]): string {
  const head = ['Statement', 'Calls/req.', 'Exec µs/req.', 'Plan µs/req.', 'Blocks/req.', 'WAL B'];
  const rows = costs.map((cost) => [
    cost.statement.replace(/\s+/g, ' ').trim().slice(0, 72),
    decimals(cost.callsPerRequest, 3),
    decimals(cost.executing * 1_000, 1),
    decimals(cost.planning * 1_000, 1),
    decimals(cost.blocksPerRequest, 1),
    decimals(cost.walBytesPerRequest, 0),
  ]);
  return markdown([head, ...rows], 1);
}
