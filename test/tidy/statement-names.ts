// A connection keeps what it has prepared by its name: two statements with one name cannot both be
// sent over it.

import { findLines, type Rule } from './rule.ts';

export function isStore(path: string): boolean {
  return /^src\/([^/]+\/){1,2}([a-z-]+-)?store\.ts$/.test(path);
}

const statementName = /^ {4}name: '([a-z_]+)',$/;

export const ownNames: Rule = {
  id: 'statement-names',
  name: 'each statement has a name of its own',
  remedy: 'rename it: a connection that has prepared the other one refuses this one',
  check(file, tree) {
    if (!isStore(file.path)) return [];
    const others = [...tree.values()].filter((one) => isStore(one.path) && one.path < file.path);
    return findLines(file, statementName).filter(({ what }) =>
      others.some(({ lines }) => lines.some((line) => line.trim() === what)),
    );
  },
  refuses: [
    {
      files: {
        'src/customers/store.ts': "    name: 'find_them',",
        'src/products/store.ts': "\n    name: 'find_them',",
      },
      at: ['src/products/store.ts:2'],
    },
  ],
  allows: [
    {
      'src/customers/store.ts': "    name: 'find_these',",
      'src/products/store.ts': "    name: 'find_those',",
    },
  ],
};
