// `tallybook customer`: erases or exports the personal data of a customer who asks for it.

import type { MerchantOfCustomer } from '../access/operator/merchant-store.ts';
import type { Database } from '../database/connect.ts';
import { type CommonFlags, define, group, idOf, withStore } from './command.ts';
import { confirm, yesOption } from './confirm.ts';
import type { DocumentedCommand } from './help.ts';
import { fileArgument, show, showExport } from './output.ts';

export function defineCustomer(program: DocumentedCommand): void {
  const customer = group(program, {
    name: 'customer',
    description: 'Erase customers, and export what is kept of one.',
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
  define(customer, {
    name: 'export',
    description:
      'Write what is kept of a customer as lines of JSON: the record and the operations on it, ' +
      'as of one moment. For a person who asks for it.',
    example: 'tallybook customer export cus_01k9x3v7c2e4r8t1m5n6p0q9sa customer.jsonl',
  })
    .argument('<customer>', 'the customer, cus_…', idOf('cus_'))
    .argument(...fileArgument)
    .action(exportCustomer);
}

async function erase(id: string, flags: CommonFlags & { readonly yes?: boolean }): Promise<void> {
  await confirm(`Erase the personal data of ${id}? Nobody can bring it back.`, flags);
  const erased = await withStore(flags, async ({ database, secret }) => {
    const { createService } = await import('../app.ts');
    const { id: merchant } = await merchantOfCustomer(database, id);
    const service = createService({ database, secret });
    const answer = await service.performAsOperator(merchant, 'customers.erase', {}, { id });
    const { erased_at } = answer.data as { readonly erased_at: string };
    return { id, merchant_id: merchant, erased_at };
  });
  await show(flags, erased, (row) => `${row.id} was erased at ${row.erased_at}.`);
}

async function exportCustomer(id: string, file: string, flags: CommonFlags): Promise<void> {
  const [merchant, records] = await withStore(flags, async ({ database }) => {
    const { id: merchant_id, cell } = await merchantOfCustomer(database, id);
    const { writer } = database.inCell(cell);
    const { linesOfCustomer, writeLines } = await import('./export.ts');
    const { recordAction } = await import('../access/transact.ts');
    const { withSnapshot } = await import('../database/snapshot.ts');
    const entry = { action: 'customer.export', merchant_id, resource_id: id, file };
    await recordAction(writer, entry);
    const written = await withSnapshot(writer, (snapshot) =>
      writeLines(linesOfCustomer(snapshot, merchant_id, id), file),
    );
    return [merchant_id, written];
  });
  await showExport(flags, { file, merchant_id: merchant, id, records });
}

async function merchantOfCustomer(database: Database, id: string): Promise<MerchantOfCustomer> {
  const { findMerchantOfCustomer } = await import('../access/operator/merchant-store.ts');
  const { eachCell } = await import('../core/cells.ts');
  for (const { reader } of (await eachCell(database)).values()) {
    const [merchant] = await reader.query(findMerchantOfCustomer(id));
    if (merchant !== undefined) return merchant;
  }
  throw new Error(`there is no customer ${id}`);
}
