// `tallybook server`: the servers of a Citus cluster.

import type { ServerRow } from '../database/citus.ts';
import { type CommonFlags, define, group, withStore } from './command.ts';
import type { DocumentedCommand } from './help.ts';
import { show, table } from './output.ts';

export function defineServer(program: DocumentedCommand): void {
  const server = group(program, {
    name: 'server',
    description: 'List the servers of a Citus cluster.',
    example: 'tallybook server list',
  });
  define(server, {
    name: 'list',
    description: 'List the servers of a Citus cluster, with the cells that each owns.',
    example: 'tallybook server list --json',
  }).action(list);
}

async function list(flags: CommonFlags): Promise<void> {
  const servers = await withStore(flags, async ({ database }) => {
    if (!database.isSpread()) throw new Error('the database is on one server, not on Citus');
    const { addressOf, listServers } = await import('../database/citus.ts');
    const found = await database.reader.query(listServers);
    return found.map((one) => ({
      server: addressOf(one),
      is_coordinator: one.is_coordinator,
      cells: one.cells,
    }));
  });
  await show(flags, servers, tableOf);
}

type Shown = Pick<ServerRow, 'is_coordinator' | 'cells'> & { readonly server: string };

const tableOf = (servers: readonly Shown[]) =>
  table(
    ['Server', 'Coordinator', 'Cells'],
    servers.map(({ server, is_coordinator, cells }) => [
      server,
      is_coordinator ? 'yes' : '',
      cells.join(', '),
    ]),
  );
