// What the documents and the migrations promise about the tree: what they name is there.

import { posix } from 'node:path';
import type { SourceFile } from '../kit/source.ts';
import { finding, findLines, type Rule, type Tree } from './rule.ts';

const namedPaths: Rule = {
  id: 'named-paths',
  name: 'every path that a document names exists',
  remedy: 'name what is there now; write a name that varies as <name>',
  check(file, tree) {
    if (!/^(ARCHITECTURE|CONTRIBUTING|README|SECURITY|docs\/.*)\.md$/.test(file.path)) return [];
    return file.lines.flatMap((line, index) =>
      pathsIn(line, file, tree)
        .filter(({ candidates }) => !candidates.some((path) => exists(path, tree)))
        .map(({ written }) => finding(file, index + 1, written)),
    );
  },
  refuses: [
    { files: { 'README.md': 'See\n`src/core/gone.ts`.' }, at: ['README.md:2'] },
    { files: { 'README.md': 'Run node scripts/gone.mjs now.' }, at: ['README.md:1'] },
    {
      files: { 'docs/decisions/0001-a.md': '[b](../gone.md#c)' },
      at: ['docs/decisions/0001-a.md:1'],
    },
    {
      files: { 'ARCHITECTURE.md': '`core/gone.ts`', 'src/core/a.ts': '' },
      at: ['ARCHITECTURE.md:1'],
    },
    { files: { 'ARCHITECTURE.md': '`core/gone`', 'src/core/a.ts': '' }, at: ['ARCHITECTURE.md:1'] },
    { files: { 'ARCHITECTURE.md': '`gone.ts`' }, at: ['ARCHITECTURE.md:1'] },
  ],
  allows: [
    {
      'README.md': '[a](docs/a.md), `src/core/a.ts`. See src/core/, src/<domain>/a.ts, `core/a`.',
      'docs/a.md': '[b](../README.md#c) [d](https://example.com/docs/e) `a.ts` `application/json`',
      'src/core/a.ts': '',
    },
    { 'CHANGELOG.md': '`src/core/gone.ts`' },
  ],
};

interface NamedPath {
  readonly written: string;
  /** Any of these will do. */
  readonly candidates: readonly string[];
}

const rootFolders = 'src|sdk|test|db|deploy|docs|bin|bench|scripts|\\.ci';

function pathsIn(line: string, file: SourceFile, tree: Tree): NamedPath[] {
  const folder = posix.dirname(file.path);
  const links = [...line.matchAll(/\]\(([^)#\s]+)[^)]*\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => ({ written: target, candidates: [posix.join(folder, target)] }));
  const prose = line.replace(/\]\([^)]*\)/g, ']');
  const whole = [...prose.matchAll(new RegExp(`(?<![\\w/.@-])(?:${rootFolders})/[\\w./-]*`, 'g'))]
    .map(([path]) => path.replace(/[.-]+$/, ''))
    // Up to a placeholder, such as 0000 in a recipe's NNNN_name.sql.
    .map((path) => (/NN/.test(path) ? posix.dirname(path) : path))
    .map((path) => ({ written: path, candidates: [path.replace(/\/$/, '')] }));
  const spans = [...prose.matchAll(/`([\w.-]+(?:\/[\w.-]+)*)`/g)]
    .map(([, span = '']) => span)
    .filter((span) => isPathInSrc(span, tree))
    .map((span) => ({ written: span, candidates: candidatesOf(span, folder, tree) }));
  return [...links, ...whole, ...spans];
}

/** `core/id.ts`, `core/id` or `id.ts`; not `application/json`. */
function isPathInSrc(span: string, tree: Tree): boolean {
  if (!span.includes('/')) return /\.(ts|mjs|sql)$/.test(span);
  const [first = ''] = span.split('/');
  return exists(`src/${first}`, tree);
}

function candidatesOf(span: string, folder: string, tree: Tree): string[] {
  const near = [`src/${span}`, `src/${span}.ts`, posix.join(folder, span)];
  if (span.includes('/')) return near;
  return [...near, ...[...tree.keys()].filter((path) => posix.basename(path) === span)];
}

function exists(path: string, tree: Tree): boolean {
  return tree.has(path) || [...tree.keys()].some((other) => other.startsWith(`${path}/`));
}

const noOwnPaths: Rule = {
  id: 'no-own-paths',
  name: 'no file names a place on the machine it was written on',
  remedy: 'name it from the root of the repository',
  check: (file) => findLines(file, /(?<![\w.@/~-])\/(?:work|root|(?:home|Users)\/\w[\w-]*)\//),
  refuses: [
    { files: { 'README.md': `\ncd /${'work'}/a` }, at: ['README.md:2'] },
    { files: { 'src/a.ts': `'/${'home'}/ada/a'` }, at: ['src/a.ts:1'] },
    { files: { '.ci/run': `PATH=/${'root'}/bin` }, at: ['.ci/run:1'] },
  ],
  allows: [{ 'README.md': `https://example.com/${'work'}/a framework/a ~/${'work'}/a` }],
};

const migrationNumbers: Rule = {
  id: 'migration-numbers',
  name: 'migrations are numbered without gaps and say what they do',
  remedy: 'give it the next number: NNNN_what_it_does.sql',
  check(file, tree) {
    const nameOf = (path: string) => /^db\/migrations\/(?:cell\/)?(.*)$/.exec(path)?.[1];
    const name = nameOf(file.path);
    if (name === undefined) return [];
    // What is done to the global tables and to each cell may have one number.
    const others = [...tree.keys()].flatMap((path) => nameOf(path) ?? []).sort();
    const number = String([...new Set(others)].indexOf(name) + 1).padStart(4, '0');
    const isNext = /^\d{4}(_[a-z0-9]+)+\.sql$/.test(name) && name.startsWith(`${number}_`);
    return isNext ? [] : [finding(file, 1, `not number ${number}`)];
  },
  refuses: [
    migrationExample(['0001_a.sql', '0003_b.sql'], '0003_b.sql'),
    migrationExample(['0001_a.sql', '0001_b.sql'], '0001_b.sql'),
    migrationExample(['0001_a.sql', '0002.sql'], '0002.sql'),
    migrationExample(['0001-a.sql'], '0001-a.sql'),
  ],
  allows: [
    migrationExample(['0001_a.sql', '0002_what_it_does.sql'], '').files,
    migrationExample(['0001_a.sql', 'cell/0001_a.sql', 'cell/0002_b.sql'], '').files,
  ],
};

function migrationExample(names: readonly string[], found: string) {
  const files = Object.fromEntries(names.map((name) => [`db/migrations/${name}`, '']));
  return { files, at: [`db/migrations/${found}:1`] };
}

export const documentRules: readonly Rule[] = [namedPaths, noOwnPaths, migrationNumbers];
