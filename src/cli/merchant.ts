// `tallybook merchant`: makes and lists merchants.

import type { Merchant } from '../access/operator/merchants.ts';
import { type CommonFlags, define, group, nameOf, withStore } from './command.ts';
import type { DocumentedCommand } from './help.ts';
import { members, show, table, timeText } from './output.ts';

interface CreateFlags extends CommonFlags {
  readonly name: string;
}

export function defineMerchant(program: DocumentedCommand): void {
  const merchant = group(program, {
    name: 'merchant',
    description: 'Make and list merchants.',
    example: 'tallybook merchant list',
  });
  define(merchant, {
    name: 'create',
    description: 'Make a merchant.',
    example: 'tallybook merchant create --name "Corner Shop"',
  })
    .requiredOption('--name <name>', 'what to call it', nameOf)
    .action(create);
  define(merchant, {
    name: 'list',
    description: 'List all merchants, the oldest first.',
    example: 'tallybook merchant list --json',
  }).action(list);
}

async function create(flags: CreateFlags): Promise<void> {
  const merchant = await withStore(
    flags,
    async ({ database }) => {
      const { createMerchant } = await import('../access/operator/merchants.ts');
      return createMerchant(database.writer, flags.name);
    },
    { mustExist: false },
  );
  await show(flags, merchant, ({ id, name, created_at }) =>
    members([
      ['Merchant', id],
      ['Name', name],
      ['Created', created_at],
    ]),
  );
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
          ['Merchant', 'Name', 'Created'],
          all.map(({ id, name, created_at }) => [id, name, timeText(created_at)]),
        ),
  );
}
