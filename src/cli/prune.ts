// `tallybook token prune`: revokes the credentials that were not used for a year and removes what
// OAuth has left behind. `kindText` is also used by the list of credentials.

import type { Pruning, Unused } from '../access/operator/prune.ts';
import { type CommonFlags, define, withStore } from './command.ts';
import type { DocumentedCommand } from './help.ts';
import { count, show, table, timeText } from './output.ts';

interface PruneFlags extends CommonFlags {
  readonly dryRun?: boolean;
}

export function definePrune(token: DocumentedCommand): void {
  define(token, {
    name: 'prune',
    description:
      'Revoke the credentials of all merchants that nobody has used for a year, approvals and ' +
      'consents of OAuth applications among them, and remove OAuth tokens that have ended.',
    example: 'tallybook token prune --dry-run',
  })
    .option('--dry-run', 'show what would be done, and do nothing')
    .action(prune);
}

/** What a client uses to act as a credential. */
export function kindText(one: Pick<Unused, 'application' | 'approval_id'>): string {
  const { application, approval_id } = one;
  if (application === null) return 'personal access token';
  const whose = `${application.name}\n${application.id}`;
  return approval_id === null ? `approval of ${whose}` : `consent to ${whose}`;
}

async function prune(flags: PruneFlags): Promise<void> {
  const isDry = flags.dryRun === true;
  const pruning = await withStore(flags, async ({ database }) => {
    const functions = await import('../access/operator/prune.ts');
    return isDry ? functions.previewPruning(database.reader) : functions.prune(database);
  });
  await show(flags, shown(pruning, isDry), describe);
}

type Shown = ReturnType<typeof shown>;

function shown({ revoked, removedTokens, removedRecords }: Pruning, isDry: boolean) {
  return {
    dry_run: isDry,
    revoked,
    removed_tokens: removedTokens,
    removed_records: removedRecords,
  };
}

async function describe(done: Shown): Promise<string> {
  const { revoked, dry_run: isDry } = done;
  const rows = revoked.map((one) => [
    one.id,
    one.merchant_id,
    one.name,
    kindText(one),
    one.last_used_at === null ? 'never' : timeText(one.last_used_at),
  ]);
  const head = ['Credential', 'Merchant', 'Name', 'Kind', 'Last used'];
  const list = rows.length === 0 ? '' : `${await table(head, rows)}\n`;
  const tokens = count(done.removed_tokens, 'ended OAuth token');
  const records = count(done.removed_records, 'ended OAuth record');
  const [revoking, removing] = isDry ? ['Would revoke', 'Would remove'] : ['Revoked', 'Removed'];
  const unused = `${count(revoked.length, 'credential')} that nobody has used for a year`;
  return `${list}${revoking} ${unused}.\n${removing} ${tokens} and ${records}.`;
}
