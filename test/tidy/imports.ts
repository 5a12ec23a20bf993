// Who may import whom. Types obey the same table as values: a folder that names another's types
// cannot be read without it.

import { posix } from 'node:path';
import { type Import, importsOf, type SourceFile } from '../support/source.ts';
import { type Finding, finding, type Rule, type Tree } from './rule.ts';

/** Folders of src, or files right under it, that a folder may import besides itself. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  core: [],
  'config.ts': ['core'],
  database: ['core', 'config.ts'],
  http: ['core', 'access', 'operations'],
};

/** A domain imports the vocabulary only, and what stands in `neighbours`. */
const domainMayImport = ['core'];

/** These join everything. */
const roots = ['app.ts', 'main.ts'];

export interface Neighbour {
  /** The folder that imports. */
  readonly from: string;
  /** The file of another folder. */
  readonly to: string;
  readonly names: readonly string[];
  readonly reason: string;
}

/** What a folder needs of another against the table, by name. */
export const neighbours: readonly Neighbour[] = [
  {
    from: 'inventory',
    to: 'products/store.ts',
    names: ['productExists'],
    reason: 'the levels of a product that does not exist are a 404, not an empty list',
  },
  {
    from: 'inventory',
    to: 'access/contract.ts',
    names: ['credentialKinds'],
    reason: 'a movement shows the kind of credential that made it, in the same words',
  },
  {
    from: 'log.ts',
    to: 'http/server.ts',
    names: ['RequestRecord'],
    reason: 'the line of a request is made from the record that the server keeps of it',
  },
];

const table: Rule = {
  id: 'import-table',
  name: 'a folder imports what the table of ARCHITECTURE.md lets it',
  remedy:
    'move what both need to core, pass it in from app.ts, or list the neighbour with a reason',
  check(file) {
    if (!file.isService) return [];
    const from = zoneOf(file.path);
    return importsOf(file).flatMap((one) => {
      const to = one.target?.startsWith('src/') ? zoneOf(one.target) : undefined;
      if (one.target === undefined || isAllowed(from, to) || isNeighbour(from, one)) return [];
      return [finding(file, one.line, `${from} → ${one.target}`)];
    });
  },
  refuses: [
    { files: { 'src/core/a.ts': "import '../config.ts';" }, at: ['src/core/a.ts:1'] },
    {
      files: { 'src/http/a.ts': "\nimport type { A } from '../products/a.ts';" },
      at: ['src/http/a.ts:2'],
    },
    {
      files: { 'src/http/a.ts': "import { a } from '../database/a.ts';" },
      at: ['src/http/a.ts:1'],
    },
    {
      files: { 'src/operations/a.ts': "import('../access/a.ts');" },
      at: ['src/operations/a.ts:1'],
    },
    {
      files: { 'src/suppliers/a.ts': "import '../products/store.ts';" },
      at: ['src/suppliers/a.ts:1'],
    },
    { files: { 'src/cli/a.ts': "import '../http/log.ts';" }, at: ['src/cli/a.ts:1'] },
    { files: { 'src/products/a.ts': "import '../app.ts';" }, at: ['src/products/a.ts:1'] },
    { files: { 'src/main.ts': "import '../test/support/api.ts';" }, at: ['src/main.ts:1'] },
    {
      files: {
        'src/inventory/a.ts': "import { productExists, listProducts } from '../products/store.ts';",
      },
      at: ['src/inventory/a.ts:1'],
    },
  ],
  allows: [
    { 'src/app.ts': "import './http/server.ts';\nimport './products/endpoints.ts';" },
    { 'src/cli/a.ts': "import '../main.ts';\nimport '../access/operator/merchants.ts';" },
    { 'src/inventory/a.ts': "import { productExists } from '../products/store.ts';" },
    { 'src/inventory/a.ts': "const { productExists } = await import('../products/store.ts');" },
    { 'src/http/wire/a.ts': "import '../respond.ts';\nimport '../../core/id.ts';" },
    { 'src/products/a.test.ts': "import '../app.ts';" },
  ],
};

/** The folder under src that a file is in; the file itself when it is in none. */
function zoneOf(path: string): string {
  return path.split('/')[1] ?? path;
}

function isAllowed(from: string, to: string | undefined): boolean {
  if (to === undefined) return false;
  if (from === to || roots.includes(from)) return true;
  if (from === 'cli') return to !== 'http';
  return (mayImport[from] ?? domainMayImport).includes(to);
}

function isNeighbour(from: string, { target, names }: Import): boolean {
  const known = neighbours.find((one) => one.from === from && `src/${one.to}` === target);
  return names.length > 0 && names.every((name) => known?.names.includes(name));
}

const noCycles: Rule = {
  id: 'no-cycles',
  name: 'no file imports itself by way of others',
  remedy: 'move what both need to a third file, below both',
  check(file, tree) {
    const way = file.isService ? wayBack(file, tree) : undefined;
    // Once per cycle, at its first file.
    if (way === undefined || way.some((path) => path < file.path)) return [];
    return [finding(file, 1, way.map((path) => posix.basename(path)).join(' → '))];
  },
  refuses: [
    {
      files: {
        'src/core/a.ts': "import './b.ts';",
        'src/core/b.ts': "import type { C } from './c.ts';",
        'src/core/c.ts': "import './d.ts';\nimport './a.ts';",
        'src/core/d.ts': '',
      },
      at: ['src/core/a.ts:1'],
    },
  ],
  allows: [
    { 'src/core/a.ts': "import './b.ts';\nimport './c.ts';", 'src/core/b.ts': "import './c.ts';" },
  ],
};

/** The shortest way from a file's imports back to it. */
function wayBack(file: SourceFile, tree: Tree): readonly string[] | undefined {
  const ways: string[][] = [[file.path]];
  const seen = new Set<string>();
  for (const way of ways) {
    const last = tree.get(way.at(-1) ?? '');
    for (const { target } of last === undefined ? [] : importsOf(last)) {
      if (target === file.path) return [...way, target];
      if (target !== undefined && !seen.has(target)) {
        seen.add(target);
        ways.push([...way, target]);
      }
    }
  }
  return undefined;
}

const noClimbing: Rule = {
  id: 'no-climbing',
  name: 'a relative import climbs no higher than src',
  remedy: 'import from the folder it is in, or move the file',
  check(file) {
    if (!file.isService) return [];
    const depth = file.path.split('/').length - 2;
    return importsOf(file).flatMap(({ line, specifier }) =>
      specifier.split('/').filter((part) => part === '..').length > depth
        ? [finding(file, line, specifier)]
        : [],
    );
  },
  refuses: [
    { files: { 'src/core/a.ts': "import '../../bench/run.ts';" }, at: ['src/core/a.ts:1'] },
    { files: { 'src/core/a.ts': "import '../http/../../b.ts';" }, at: ['src/core/a.ts:1'] },
  ],
  allows: [
    { 'src/core/a.ts': "import '../config.ts';", 'src/http/wire/a.ts': "import '../../b.ts';" },
  ],
};

/** Packages that only one folder knows, with what belongs to them. */
const driver = packageOf('the driver', 'pg', /^pg(-|\/|$)/, 'src/database/');
const framework = packageOf('the HTTP framework', 'fastify', /^@?fastify(-|\/|$)/, 'src/http/');

function packageOf(what: string, name: string, pattern: RegExp, home: string): Rule {
  return {
    id: `${name}-home`,
    name: `only ${home} knows ${what}`,
    remedy: `let ${home} hand over a type of our own`,
    check(file) {
      if (!file.isService || file.path.startsWith(home)) return [];
      return importsOf(file).flatMap(({ line, specifier }): Finding[] =>
        pattern.test(specifier) ? [finding(file, line, specifier)] : [],
      );
    },
    refuses: [
      {
        files: { 'src/core/a.ts': `\nimport type { A } from '${name}';` },
        at: ['src/core/a.ts:2'],
      },
      { files: { 'src/app.ts': `const a = await import('${name}');` }, at: ['src/app.ts:1'] },
    ],
    allows: [{ [`${home}a.ts`]: `import a from '${name}';` }, { 'src/a.ts': "import 'page';" }],
  };
}

/** Computing, and nothing that reads or waits. */
const coreMayUse = ['node:crypto', 'node:util', 'typebox'];

const pureCore: Rule = {
  id: 'pure-core',
  name: `core uses no module but ${coreMayUse.join(', ')}`,
  remedy: 'the vocabulary does no I/O: put it where the I/O is',
  check(file) {
    if (!file.isService || zoneOf(file.path) !== 'core') return [];
    return importsOf(file).flatMap(({ line, specifier, target }) =>
      target === undefined && !coreMayUse.includes(specifier)
        ? [finding(file, line, specifier)]
        : [],
    );
  },
  refuses: [
    { files: { 'src/core/a.ts': "import { readFile } from 'node:fs';" }, at: ['src/core/a.ts:1'] },
  ],
  allows: [{ 'src/core/a.ts': "import Type from 'typebox';", 'src/cli/a.ts': "import 'node:fs';" }],
};

export const importRules: readonly Rule[] = [
  table,
  noCycles,
  noClimbing,
  driver,
  framework,
  pureCore,
];
