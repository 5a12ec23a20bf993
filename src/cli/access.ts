// What the commands on tokens and applications have in common.

import { Option } from 'commander';
import type { Connections } from '../access/transact.ts';
import type { MerchantId } from '../core/principal.ts';
import type { Database } from '../database/connect.ts';
import { type CommonFlags, durationOf, withStore } from './command.ts';

export const daySeconds = 86_400;

/** For commands that replace a token or a secret. */
export const overlapOption = () =>
  new Option('--overlap <time>', 'how long the old one stays valid, such as 24h; 0: not at all')
    .argParser((text) => (text === '0' ? 0 : durationOf(text)))
    .default(daySeconds, '24h');

/** Opens the database for work with the functions of one file, which are loaded only then. */
export const accessBy =
  <Functions>(load: () => Promise<Functions>) =>
  <Result>(
    flags: CommonFlags,
    work: (access: Connections, functions: Functions) => Promise<Result>,
    options: { readonly mustExist?: boolean } = {},
  ): Promise<Result> =>
    withStore(flags, async ({ database }) => work(database, await load()), options);

/** @throws Error when there is no such merchant. */
export async function merchantOf(
  { reader }: Pick<Connections | Database, 'reader'>,
  id: string,
): Promise<MerchantId> {
  const { requireMerchant } = await import('../access/operator/merchants.ts');
  return requireMerchant(reader, id);
}

/** The database for what is about a merchant. @throws Error when there is no such merchant. */
export async function atMerchant(database: Database, id: string): Promise<Database> {
  const merchants = await import('../access/operator/merchants.ts');
  return merchants.atMerchant(database, id);
}

/** Which locations a credential reaches, as `--json` shows it. */
export function locationsShown(row: {
  readonly all_locations: boolean;
  readonly location_ids: readonly string[];
}): 'all' | readonly string[] {
  return row.all_locations ? 'all' : row.location_ids;
}

/** The same for people. */
export function locationsText(locations: 'all' | readonly string[]): string {
  if (locations === 'all') return 'all';
  return locations.length === 0 ? 'none' : locations.join('\n');
}

/** For a table, where the IDs would take a line each. */
export function locationsCounted(locations: 'all' | readonly string[]): string {
  if (locations === 'all') return 'all';
  return locations.length === 0 ? 'none' : `${locations.length} of them`;
}
