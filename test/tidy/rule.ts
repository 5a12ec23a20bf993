// What a rule of the house is. A rule carries the text it must refuse, so that it cannot rot into
// one that finds nothing.

import type { SourceFile } from '../kit/source.ts';

export interface Finding {
  readonly file: string;
  readonly line: number;
  readonly what: string;
}

export interface Rule {
  readonly id: string;
  /** The rule as a sentence. */
  readonly name: string;
  /** What to do about a finding. */
  readonly remedy: string;
  /** A judge of one file, in the whole tree. */
  check(file: SourceFile, tree: Tree): readonly Finding[];
  /** Trees of paths and texts, in each of which the rule finds exactly what it says. */
  readonly refuses: readonly Example[];
  /** Trees in which it finds nothing: the border of the rule. */
  readonly allows?: readonly Files[];
}

/** Every file by its path. */
export type Tree = ReadonlyMap<string, SourceFile>;

export type Files = Readonly<Record<string, string>>;

export interface Example {
  readonly files: Files;
  /** `path:line` of each finding, in the order of the text. */
  readonly at: readonly string[];
}

export function finding(file: SourceFile, line: number, what: string): Finding {
  return { file: file.path, line, what };
}

/** A finding per line that matches, with what matched. */
export function findLines(file: SourceFile, pattern: RegExp): Finding[] {
  return file.lines.flatMap((line, index) => {
    const match = pattern.exec(line);
    return match === null ? [] : [finding(file, index + 1, match[0].trim())];
  });
}
