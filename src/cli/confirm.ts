// Asks before what cannot be undone. A script has to say --yes, because nobody would answer.

import { createInterface } from 'node:readline/promises';
import { UsageError } from '../config.ts';

/** The option of the commands that ask. */
export const yesOption = ['--yes', 'do it without asking'] as const;

/** @throws Error unless it is confirmed, by the option or on the terminal. */
export async function confirm(
  question: string,
  { yes = false }: { readonly yes?: boolean },
): Promise<void> {
  if (yes) return;
  const answer = await asked(question);
  if (answer === undefined) {
    throw new UsageError('this cannot be undone, and there is no terminal to ask on: add --yes');
  }
  if (!answer) throw new Error('nothing was done');
}

/** What a person says on the terminal; undefined where there is none. */
export async function asked(question: string): Promise<boolean | undefined> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return undefined;
  // Without a line editor, which would keep Ctrl-C from ending the process.
  const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: false });
  const ended = new Promise<string>((resolve) => lines.once('close', () => resolve('')));
  const answer = await Promise.race([lines.question(`${question} [y/N] `), ended]);
  lines.close();
  return /^\s*y(es)?\s*$/i.test(answer);
}
