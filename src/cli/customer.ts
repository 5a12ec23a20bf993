// `tallybook customer erase`: erases the personal data of a customer who asks for it.

import { type CommonFlags, define, group, idOf, withStore } from './command.ts';
import { confirm, yesOption } from './confirm.ts';
import type { DocumentedCommand } from './help.ts';
import { show } from './output.ts';

export function defineCustomer(program: DocumentedCommand): void {
  const customer = group(program, {
    name: 'customer',
    description: 'Erase customers.',
    example: 'tallybook customer erase cus_01k9x3v7c2e4r8t1m5n6p0q9sa',
  });
  define(customer, {
    name: 'erase',
    description:
      'Wipe name, e-mail, phone, note, metadata and external ID of a customer, for good. ' +
      'Reading it answers 410 from then on; the ledger stays as it is. It asks before.',
    example: 'tallybook customer erase cus_01k9x3v7c2e4r8t1m5n6p0q9sa',
  })
    .argument('<customer>', 'the customer, cus_…', idOf('cus_'))
    .option(...yesOption)
    .action(erase);
}

async function erase(id: string, flags: CommonFlags & { readonly yes?: boolean }): Promise<void> {
  await confirm(`Erase the personal data of ${id}? Nobody can bring it back.`, flags);
  const erased = await withStore(flags, async ({ database, secret }) => {
    const { findMerchantOfCustomer } = await import('../access/operator/merchant-store.ts');
    const { createService } = await import('../app.ts');
    const [merchant] = await database.reader.query(findMerchantOfCustomer(id));
    if (merchant === undefined) throw new Error(`there is no customer ${id}`);
    const service = createService({ database, secret });
    const answer = await service.performAsOperator(merchant.id, 'customers.erase', {}, { id });
    const { erased_at } = answer.data as { readonly erased_at: string };
    return { id, merchant_id: merchant.id, erased_at };
  });
  await show(flags, erased, (row) => `${row.id} was erased at ${row.erased_at}.`);
}
