// Plain words: one usual word for one thing. A metaphor makes every reader translate, and a word
// with two meanings makes every reader guess.

import { isNode, nameOf, nodesOf, type SourceFile } from '../kit/source.ts';
import { finding, type Rule } from './rule.ts';

/** Words that this house once used, with what to write instead. */
const instead: Readonly<Record<string, string>> = {
  flight: 'a request in progress',
  flights: 'requests in progress',
  landed: 'committed, or arrived',
  brother: 'the duplicate',
  desk: 'what it does',
  deed: 'an action',
  deeds: 'actions',
  door: 'what lets a request in',
  tally: 'a count',
  twin: 'the duplicate',
  twins: 'duplicates',
  shutter: 'the status of a location',
  shutters: 'the status of a location',
  errand: 'a small transaction',
  errands: 'small transactions',
  farewell: 'the end of a connection',
  crowd: 'many clients',
  crowds: 'many clients',
  whence: 'where it comes from',
  thereby: 'so',
  albeit: 'but',
  lest: 'so that … not',
  befall: 'happen to',
  beget: 'make',
  henceforth: 'from now on',
  utilize: 'use',
  leverage: 'use',
};

const word = new RegExp(`(?<![A-Za-z])(?:${Object.keys(instead).join('|')})(?![a-z])`, 'i');

const plainWords: Rule = {
  id: 'plain-words',
  name: 'nothing is said by a metaphor or an old word',
  remedy: 'write the usual word of the field, the one in `instead` of test/tidy/words.ts',
  check(file) {
    if (!isRead(file) || file.path === 'test/tidy/words.ts') return [];
    return file.lines.flatMap((line, index) => {
      const [found] = word.exec(split(line)) ?? [];
      return found === undefined ? [] : [finding(file, index + 1, found)];
    });
  },
  refuses: [
    { files: { 'src/a.ts': '\n// Waits for its brother.' }, at: ['src/a.ts:2'] },
    { files: { 'src/a.ts': 'const openFlights = 1;' }, at: ['src/a.ts:1'] },
    { files: { 'docs/a.md': 'Each deed is a line.' }, at: ['docs/a.md:1'] },
    { files: { 'db/a.sql': '-- a tally' }, at: ['db/a.sql:1'] },
  ],
  allows: [{ 'src/a.ts': '// Tallybook is indeed outdoors.' }],
};

/** Words of prose that say nothing as a name. */
const emptyName = /\b(?:const|let|function|class|type|interface|readonly) (told|ways?)\b/i;

const fullNames: Rule = {
  id: 'full-names',
  name: 'a name says what a value is',
  remedy: 'name the thing: an outcome, a scenario, a path, a header',
  check(file) {
    const { isCode, path, lines } = file;
    if (!isCode || path === 'test/tidy/words.ts') return [];
    return lines.flatMap((line, index) => {
      const [, found] = emptyName.exec(line) ?? [];
      return found === undefined ? [] : [finding(file, index + 1, found)];
    });
  },
  refuses: [
    { files: { 'src/a.ts': 'const told = 1;' }, at: ['src/a.ts:1'] },
    { files: { 'src/a.ts': '\nclass Way {}' }, at: ['src/a.ts:2'] },
  ],
  allows: [{ 'src/a.ts': 'const wayOut = 1; // The way it was told.' }],
};

/** A name in camel case as its words. */
function split(line: string): string {
  return line.replace(/([a-z])([A-Z])/g, '$1 $2').replaceAll('_', ' ');
}

function isRead({ path, isCode }: SourceFile): boolean {
  return isCode || /\.(sql|md|sh|lua)$/.test(path);
}

const declarations = ['TSInterfaceDeclaration', 'TSTypeAliasDeclaration', 'ClassDeclaration'];

const oneMeaning: Rule = {
  id: 'one-meaning',
  name: 'an exported type of the service has a name of its own',
  remedy: 'one word, one thing: rename one of them, or let one serve both',
  check(file, tree) {
    if (!file.isService) return [];
    return typesOf(file).flatMap(({ name, line }) => {
      const first = [...tree.values()].find(
        (other) => other.isService && typesOf(other).some((type) => type.name === name),
      );
      return first === file ? [] : [finding(file, line, `${name}, also in ${first?.path}`)];
    });
  },
  refuses: [
    {
      files: {
        'src/core/a.ts': 'export interface Reach {}',
        'src/core/b.ts': '\nexport type Reach = 1;',
      },
      at: ['src/core/b.ts:2'],
    },
  ],
  allows: [{ 'src/core/a.ts': 'export interface Reach {}', 'src/core/b.ts': 'interface Reach {}' }],
};

const typesByFile = new WeakMap<SourceFile, readonly { name: string; line: number }[]>();

function typesOf(file: SourceFile) {
  let types = typesByFile.get(file);
  if (types === undefined) {
    types = nodesOf(file, 'ExportNamedDeclaration').flatMap(({ node }) => {
      const { declaration } = node;
      if (!isNode(declaration) || !declarations.includes(declaration.type)) return [];
      return [{ name: nameOf(declaration.id) ?? '', line: file.lineAt(node.start) }];
    });
    typesByFile.set(file, types);
  }
  return types;
}

export const wordRules: readonly Rule[] = [plainWords, fullNames, oneMeaning];
