// What the commands that work over HTTP have in common: where the service is, who calls, and that
// Ctrl-C stops between two steps. They use the client, as any program does.

import { clientSettings } from '../config.ts';
import { type Definition, group } from './command.ts';
import type { DocumentedCommand } from './help.ts';

export interface HttpFlags {
  readonly url?: string;
  readonly token?: string;
  readonly json?: boolean;
}

/** A command that does something over HTTP. */
export function defineOverHttp(
  parent: DocumentedCommand,
  definition: Definition,
): DocumentedCommand {
  return group(parent, definition)
    .option('--url <url>', 'where the service is (default: the variable TALLYBOOK_URL)')
    .option(
      '--token <token>',
      'who calls, tb_pat_… (default: the variable TALLYBOOK_TOKEN). Everybody on this machine ' +
        'sees it while the command runs (ps): the variable hides it',
    )
    .option('--json', 'print one JSON value and nothing else');
}

export async function clientOf(flags: HttpFlags) {
  const settings = clientSettings(flags);
  const { connect } = await import('../exchange/client.ts');
  return connect(settings);
}

/** Ends the process at the second signal; the first one only asks the work to stop. */
export async function untilInterrupted<Result>(
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result | 'interrupted'> {
  const interruption = new AbortController();
  const onSignal = () => {
    if (interruption.signal.aborted) process.exit(130);
    interruption.abort();
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  try {
    return await work(interruption.signal);
  } catch (error) {
    if (!interruption.signal.aborted) throw error;
    process.exitCode = 130;
    return 'interrupted';
  } finally {
    process.removeListener('SIGINT', onSignal).removeListener('SIGTERM', onSignal);
  }
}
