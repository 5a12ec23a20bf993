// `tallybook migrate`: brings the schema up to date without starting a service.

import { type CommonFlags, define, withStore } from './command.ts';
import type { DocumentedCommand } from './help.ts';
import { show } from './output.ts';

export function defineMigrate(program: DocumentedCommand): void {
  define(program, {
    name: 'migrate',
    description: 'Bring the database up to date, and make it if there is none.',
    example: 'tallybook migrate --data ./data',
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
