// `tallybook cell`: the cells that merchants' data is in.

import type { CellRow } from '../access/operator/merchant-store.ts';
import { UsageError } from '../config.ts';
import { cellName } from '../core/cells.ts';
import type { Found } from '../database/find.ts';
import { type CommonFlags, define, group, withServer, withStore } from './command.ts';
import type { DocumentedCommand } from './help.ts';
import { show, table, timeText } from './output.ts';

export function defineCell(program: DocumentedCommand): void {
  const cell = group(program, {
    name: 'cell',
    description: 'List and add cells: schemas that hold the data of many merchants each.',
    example: 'tallybook cell list',
  });
  define(cell, {
    name: 'list',
    description: 'List all cells, with how many merchants are in each.',
    example: 'tallybook cell list --json',
  }).action(list);
  define(cell, {
    name: 'add',
    description:
      'Add a cell, as the owner of the schema. Merchants that are made from then on are put ' +
      'where the fewest are; no merchant moves.',
    example: 'tallybook cell add cell_2',
  })
    .argument('<name>', 'what to call it, such as cell_2')
    .action(add);
  define(cell, {
    name: 'move',
    description:
      'Move a cell to another server of a Citus cluster while it is used, as the owner of the ' +
      'schema. Its writes wait for about a second at the end.',
    example: 'tallybook cell move cell_2 --to worker2:5432',
  })
    .argument('<name>', 'the cell, such as cell_2')
    .requiredOption('--to <server>', 'as "server list" shows it: worker2:5432')
    .action(move);
}

async function list(flags: CommonFlags): Promise<void> {
  const cells = await withStore(flags, async ({ database }) => {
    const { allCells } = await import('../access/operator/merchants.ts');
    return allCells(database.reader);
  });
  await show(flags, cells, tableOf);
}

const tableOf = (cells: readonly CellRow[]) =>
  table(
    ['Cell', 'Merchants', 'Version', 'Created'],
    cells.map(({ name, merchants, version, created_at }) => [
      name,
      String(merchants),
      String(version),
      timeText(created_at),
    ]),
  );

async function add(name: string, flags: CommonFlags): Promise<void> {
  if (!cellName.test(name)) {
    throw new UsageError('a cell is called cell_ and up to 12 small letters, digits or _: cell_2');
  }
  const made = await withServer(flags, async ({ url, found }) => {
    const { addCell } = await import('../database/migrate.ts');
    const { operatorLine } = await import('../access/audit/operator-entry.ts');
    requireOwner(found, 'adding');
    await addCell(url, name, operatorLine({ action: 'cell.add', cell: name }));
    return { name };
  });
  await show(flags, made, (cell) => `${cell.name} was added.`);
}

async function move(name: string, flags: CommonFlags & { readonly to: string }): Promise<void> {
  const moved = await withServer(flags, async ({ url, found }) => {
    if (!found.isSpread) throw new Error('cells move on a Citus cluster only');
    requireOwner(found, 'moving');
    const { moveCell } = await import('../database/cluster.ts');
    const { connectDatabase } = await import('../database/connect.ts');
    const { recordAction } = await import('../access/transact.ts');
    const database = connectDatabase({ url, writers: 1 });
    try {
      const { to } = flags;
      await moveCell(url, name, to, (from) =>
        recordAction(database.writer, { action: 'cell.move', cell: name, from, to }),
      );
      return { name, server: to };
    } finally {
      await database.close();
    }
  });
  await show(flags, moved, (cell) => `${cell.name} is on ${cell.server} now.`);
}

function requireOwner({ isOwner }: Pick<Found, 'isOwner'>, what: string): void {
  if (isOwner) return;
  throw new Error(`${what} a cell needs the owner of the schema: set TALLYBOOK_MIGRATE_URL`);
}
