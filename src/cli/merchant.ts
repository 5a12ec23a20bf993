// `tallybook merchant`: makes and lists merchants.

import type { Merchant } from '../access/operator/merchants.ts';
import type { Connections } from '../access/transact.ts';
import { atMerchant, merchantOf } from './access.ts';
import { type CommonFlags, define, group, idOf, nameOf, withStore } from './command.ts';
import type { DocumentedCommand } from './help.ts';
import { fileArgument, members, show, showExport, table, timeText } from './output.ts';

interface NameFlags extends CommonFlags {
  readonly name: string;
}

interface CreateFlags extends NameFlags {
  readonly cell?: string;
  readonly forCheck?: boolean;
}

export function defineMerchant(program: DocumentedCommand): void {
  const merchant = group(program, {
    name: 'merchant',
    description: 'Make, list, rename, disable and enable merchants, and export their data.',
    example: 'tallybook merchant list',
  });
  define(merchant, {
    name: 'create',
    description: 'Make a merchant.',
    example: 'tallybook merchant create --name "Corner Shop"',
  })
    .requiredOption('--name <name>', 'what to call it', nameOf)
    .option('--cell <cell>', 'in which its data shall be, for ever (default: the emptiest)')
    .option(
      '--for-check',
      'with a second merchant, tokens and an application for "tallybook check"; prints JSON',
    )
    .action(create);
  define(merchant, {
    name: 'list',
    description: 'List all merchants, the oldest first.',
    example: 'tallybook merchant list --json',
  }).action(list);
  defineChanges(merchant);
}

function defineChanges(merchant: DocumentedCommand): void {
  const one = (name: string, description: string, options = '') =>
    define(merchant, {
      name,
      description,
      example: `tallybook merchant ${name} mer_01k9x3v7c2e4r8t1m5n6p0q9sa${options}`,
    }).argument('<merchant>', 'the merchant, mer_…', idOf('mer_'));
  one('rename', 'Give a merchant another name.', ' --name "Corner Shop"')
    .requiredOption('--name <name>', 'what to call it', nameOf)
    .action((id: string, flags: NameFlags) =>
      change(flags, ({ renameMerchant }, access) => renameMerchant(access, id, flags.name)),
    );
  one(
    'disable',
    'Refuse all tokens of a merchant, those of applications among them, from the next request ' +
      'on. Its data stays.',
  ).action((id: string, flags: CommonFlags) =>
    change(flags, ({ changeDisabled }, access) => changeDisabled(access, id, true)),
  );
  one('enable', 'Admit the tokens of a merchant that was disabled.').action(
    (id: string, flags: CommonFlags) =>
      change(flags, ({ changeDisabled }, access) => changeDisabled(access, id, false)),
  );
  one(
    'export',
    'Write everything of a merchant as lines of JSON, as the interface shows it and as of one ' +
      'moment. The last line counts the others.',
    ' shop.jsonl',
  )
    .argument(...fileArgument)
    .action(exportMerchant);
}

async function exportMerchant(id: string, file: string, flags: CommonFlags): Promise<void> {
  const records = await withStore(flags, async ({ database }) => {
    const merchant = await merchantOf(database, id);
    const { linesOfMerchant, writeLines } = await import('./export.ts');
    const { recordAction } = await import('../access/transact.ts');
    const { withSnapshot } = await import('../database/snapshot.ts');
    const { writer } = await atMerchant(database, merchant);
    await recordAction(writer, { action: 'merchant.export', merchant_id: merchant, file });
    return withSnapshot(writer, (reader) => writeLines(linesOfMerchant(reader, merchant), file));
  });
  await showExport(flags, { file, merchant_id: id, records });
}

async function change(
  flags: CommonFlags,
  work: (
    functions: typeof import('../access/operator/merchants.ts'),
    access: Connections,
  ) => Promise<Merchant>,
): Promise<void> {
  const merchant = await withStore(flags, async ({ database }) =>
    work(await import('../access/operator/merchants.ts'), database),
  );
  await show(flags, merchant, describe);
}

function describe({ id, name, cell, created_at, disabled_at }: Merchant): string {
  return members([
    ['Merchant', id],
    ['Name', name],
    ['Cell', cell],
    ['Created', created_at],
    ['Disabled', disabled_at ?? 'no'],
  ]);
}

async function create(flags: CreateFlags): Promise<void> {
  if (flags.forCheck === true) return createAndPrint(flags);
  const merchant = await withStore(
    flags,
    async ({ database }) => {
      const { createMerchant } = await import('../access/operator/merchants.ts');
      return createMerchant(database, flags.name, flags.cell);
    },
    { mustExist: false },
  );
  await show(flags, merchant, describe);
}

/** What it prints is kept in a file and read by a command, and so is JSON in any case. */
async function createAndPrint(flags: CreateFlags): Promise<void> {
  const { createForCheck } = await import('./merchant-for-check.ts');
  const made = await withStore(flags, (store) => createForCheck(store, flags.name), {
    mustExist: false,
  });
  await show({ json: true }, made, () => '');
}

async function list(flags: CommonFlags): Promise<void> {
  const merchants = await withStore(flags, async ({ database }) => {
    const { allMerchants } = await import('../access/operator/merchants.ts');
    const found: Merchant[] = [];
    for await (const merchant of allMerchants(database.reader)) found.push(merchant);
    return found;
  });
  await show(flags, merchants, (all) =>
    all.length === 0
      ? 'There is no merchant yet: make one with "tallybook merchant create".'
      : table(
          ['Merchant', 'Name', 'Cell', 'Created', 'Disabled'],
          all.map(({ id, name, cell, created_at, disabled_at }) => [
            id,
            name,
            cell,
            timeText(created_at),
            disabled_at === null ? '' : timeText(disabled_at),
          ]),
        ),
  );
}
