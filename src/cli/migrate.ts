// `tallybook migrate`: brings the schema up to date without starting a service.

import type { Command } from 'commander';
import { type CommonFlags, define, withStore } from './command.ts';
import { show } from './output.ts';

export function defineMigrate(program: Command): void {
  define(program, {
    name: 'migrate',
    description: 'Bring the database up to date, and make it if there is none.',
    example:
      'TALLYBOOK_MIGRATE_URL=postgres://owner@db/books tallybook migrate \\\n' +
      '      --database-url postgres://service@db/books',
  }).action(migrate);
}

async function migrate(flags: CommonFlags): Promise<void> {
  const result = await withStore(
    flags,
    async ({ applied, schemaVersion }) => ({ version: schemaVersion, applied }),
    { purpose: 'migration', mustExist: false },
  );
  await show(flags, result, ({ version, applied }) =>
    applied.length === 0
      ? `The schema is up to date, at version ${version}.`
      : `The schema is now at version ${version}. Applied: ${applied.join(', ')}.`,
  );
}
