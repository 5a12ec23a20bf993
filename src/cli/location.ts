// `tallybook location`: makes and lists a merchant's locations, as the interface shows them.

import { Option } from 'commander';
import { type CommonFlags, define, group, idOf, nameOf, withStore } from './command.ts';
import type { DocumentedCommand } from './help.ts';
import { everyPage } from './listing.ts';
import { members, show, table } from './output.ts';

interface CreateFlags extends CommonFlags {
  readonly merchant: string;
  readonly name: string;
  readonly code?: string;
  readonly type?: string;
}

interface ListFlags extends CommonFlags {
  readonly merchant: string;
}

interface Location {
  readonly id: string;
  readonly name: string;
  readonly code: string | null;
  readonly type: string;
  readonly status: string;
  readonly timezone: string;
}

export function defineLocation(program: DocumentedCommand): void {
  const location = group(program, {
    name: 'location',
    description: 'Make and list the locations of a merchant.',
    example: 'tallybook location list --merchant mer_01k9x3v7c2e4r8t1m5n6p0q9sa',
  });
  define(location, {
    name: 'create',
    description: 'Make a location.',
    example:
      'tallybook location create --merchant mer_01k9x3v7c2e4r8t1m5n6p0q9sa ' +
      '--name "Main Street" --code MAIN --type store',
  })
    .requiredOption('--merchant <merchant>', 'whose it is, mer_…', idOf('mer_'))
    .requiredOption('--name <name>', 'what to call it', nameOf)
    .option('--code <code>', 'a code of 1 to 64 characters that no other location has')
    .addOption(new Option('--type <type>', 'what it is').choices(['store', 'warehouse', 'other']))
    .action(create);
  define(location, {
    name: 'list',
    description: 'List the locations of a merchant, the oldest first.',
    example: 'tallybook location list --merchant mer_01k9x3v7c2e4r8t1m5n6p0q9sa --json',
  })
    .requiredOption('--merchant <merchant>', 'whose they are, mer_…', idOf('mer_'))
    .action(list);
}

async function create(flags: CreateFlags): Promise<void> {
  const { merchant, name, code, type } = flags;
  const location = await withStore(flags, async ({ database, secret }) => {
    const { createService } = await import('../app.ts');
    const answer = await createService({ database, secret }).performAsOperator(
      merchant,
      'locations.create',
      { name, ...(code === undefined ? {} : { code }), ...(type === undefined ? {} : { type }) },
    );
    return answer.data as Location;
  });
  await show(flags, location, (made) =>
    members([
      ['Location', made.id],
      ['Name', made.name],
      ['Code', made.code ?? '-'],
      ['Type', made.type],
      ['Merchant', merchant],
    ]),
  );
}

async function list(flags: ListFlags): Promise<void> {
  const locations = await withStore(flags, ({ database }) =>
    everyPage<Location>(database, flags.merchant, 'locations.list'),
  );
  await show(flags, locations, (all) =>
    all.length === 0
      ? 'The merchant has no location yet: make one with "tallybook location create".'
      : table(
          ['Location', 'Name', 'Code', 'Type', 'Status', 'Time zone'],
          all.map(({ id, name, code, type, status, timezone }) => [
            id,
            name,
            code ?? '-',
            type,
            status,
            timezone,
          ]),
        ),
  );
}
