// Several mutants of conditions as one, for what else but the conditions keeps merchants apart.

import type { Mutant } from './mutant.ts';

/** Those that may be applied at once: the same tests judge them, and no edit is in another. */
export function groupsOf(mutants: readonly Mutant[]): Mutant[][] {
  const groups: Mutant[][] = [];
  const spanOf = ({ edits: [edit] }: Mutant) => {
    const { file = '', from = '', at = 0 } = edit ?? {};
    return { file, start: at, end: at + from.length };
  };
  const isApart = (mutant: Mutant, other: Mutant) => {
    const [one, two] = [spanOf(mutant), spanOf(other)];
    return one.file !== two.file || one.end <= two.start || two.end <= one.start;
  };
  for (const mutant of mutants) {
    const fits = (group: Mutant[]) =>
      String(group[0]?.suites) === String(mutant.suites) &&
      group.every((other) => isApart(mutant, other));
    const group = groups.find(fits);
    if (group === undefined) groups.push([mutant]);
    else group.push(mutant);
  }
  return groups;
}

/** From the last to the first, because an edit moves what is behind it. */
export function asOne(mutants: readonly Mutant[]): Mutant {
  const [{ suites } = { suites: [] }] = mutants;
  const edits = mutants.flatMap((mutant) => mutant.edits);
  edits.sort((a, b) => (b.at ?? 0) - (a.at ?? 0));
  return { name: `${mutants.length} at once`, breaks: '', edits, suites };
}
