// `tallybook customer erase`: wipes what is personal of a customer, for a request to be forgotten.

import type { Command } from 'commander';
import type { MerchantId } from '../core/principal.ts';
import { type CommonFlags, define, group, idOf, withStore } from './command.ts';
import { show } from './output.ts';

export function defineCustomer(program: Command): void {
  const customer = group(program, {
    name: 'customer',
    description: 'Erase customers.',
    example: 'tallybook customer erase cus_01k9x3v7c2e4r8t1m5n6p0q9sa',
  });
  define(customer, {
    name: 'erase',
    description:
      'Wipe name, e-mail, phone, note, metadata and external ID of a customer, for good. ' +
      'Reading it answers 410 from then on; the ledger stays as it is.',
    example: 'tallybook customer erase cus_01k9x3v7c2e4r8t1m5n6p0q9sa',
  })
    .argument('<customer>', 'the customer, cus_…', idOf('customer'))
    .action(erase);
}

async function erase(id: string, flags: CommonFlags): Promise<void> {
  const erased = await withStore(flags, async ({ database }) => {
    const { findMerchantOfCustomer } = await import('../access/operator/merchant-store.ts');
    const { transact } = await import('../access/transact.ts');
    const { eraseCustomer } = await import('../customers/store.ts');
    const [merchant] = await database.reader.query(findMerchantOfCustomer(id));
    if (merchant === undefined) throw new Error(`there is no customer ${id}`);
    const statement = eraseCustomer(merchant.id as MerchantId, id, new Date().toISOString());
    const deed = { action: 'customer.erase', merchant_id: merchant.id, customer_id: id };
    const [rows = []] = await transact(database.writer, deed, [statement]);
    const [row] = rows as readonly { readonly id: string; readonly erased_at: string }[];
    if (row === undefined) throw new Error(`there is no customer ${id}`);
    return { id: row.id, merchant_id: merchant.id, erased_at: row.erased_at };
  });
  await show(flags, erased, (row) => `${row.id} was erased at ${row.erased_at}.`);
}
