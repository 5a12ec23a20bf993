// All mutants that have a name: each breaks one promise.

import { accessMutants } from './access.ts';
import { batchMutants } from './batches.ts';
import { cellMutants } from './cells.ts';
import { connectionMutants } from './connections.ts';
import { countMutants } from './counts.ts';
import { journalMutants } from './journal.ts';
import { keyMutants } from './keys.ts';
import { ledgerMutants } from './ledger.ts';
import { lowStockMutants } from './low-stock.ts';
import type { Mutant } from './mutant.ts';
import { reservationMutants } from './reservations.ts';
import { transferMutants } from './transfers.ts';
import { upsertMutants } from './upserts.ts';
import { webhookMutants } from './webhooks.ts';

export const namedMutants: readonly Mutant[] = [
  ...keyMutants,
  ...ledgerMutants,
  ...journalMutants,
  ...transferMutants,
  ...reservationMutants,
  ...countMutants,
  ...lowStockMutants,
  ...upsertMutants,
  ...webhookMutants,
  ...batchMutants,
  ...accessMutants,
  ...cellMutants,
  ...connectionMutants,
];
