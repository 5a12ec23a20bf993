// Who may import whom. Types obey the same table as values: a folder that names another's types
// cannot be read without it.

import { posix } from 'node:path';
import { importsOf, type SourceFile } from '../kit/source.ts';
import { type Finding, finding, type Rule, type Tree } from './rule.ts';

/** The first line of a room's README.md ends with what it may import. */
const mayImportLine = /May import: (.+)\.$/;

/** Files right under src are in no room. These join all rooms; the others import core. */
const joins = ['app.ts', 'main.ts'];
const loneFiles: Readonly<Record<string, readonly string[]>> = {
  'config.ts': ['core'],
  // The line of a request is made from the record that the server keeps of it.
  'log.ts': ['core', 'http/server.ts'],
};

/** It imports what domains declare, each in one file of its own. */
const listOfResources = 'resources.ts';

const declarationsOnly =
  (file: SourceFile) =>
  ({ line, target }: { readonly line: number; readonly target: string | undefined }): Finding[] => {
    const isDeclared = /^src\/(core\/.*|[a-z]+\/(contract|resource)\.ts)$/.test(
      target ?? 'src/core/',
    );
    return isDeclared ? [] : [finding(file, line, `${listOfResources} → ${target}`)];
  };

const table: Rule = {
  id: 'import-table',
  name: 'a room imports what the first line of its README.md says',
  remedy: 'move what both need to core, pass it in from app.ts, or name the file and the reason',
  check(file, tree) {
    if (!file.isService) return [];
    const room = roomOf(file.path);
    if (joins.includes(room)) return [];
    if (room === listOfResources) return importsOf(file).flatMap(declarationsOnly(file));
    const allowed = loneFiles[room] ?? importsOfRoom(room, tree);
    return importsOf(file).flatMap(({ line, target }) => {
      if (target === undefined) return [];
      const to = target.startsWith('src/') ? roomOf(target) : undefined;
      const isAllowed =
        to !== undefined &&
        (to === room || allowed.includes(to) || allowed.includes(target.slice('src/'.length)));
      return isAllowed ? [] : [finding(file, line, `${room} → ${target}`)];
    });
  },
  refuses: [
    {
      files: {
        'src/core/README.md': 'Words. May import: nothing of ours.',
        'src/core/a.ts': "import '../config.ts';",
      },
      at: ['src/core/a.ts:1'],
    },
    {
      files: {
        'src/http/README.md': 'Bytes. May import: core.',
        'src/http/a.ts': "\nimport type { A } from '../products/a.ts';",
      },
      at: ['src/http/a.ts:2'],
    },
    { files: { 'src/sales/a.ts': "import('../access/a.ts');" }, at: ['src/sales/a.ts:1'] },
    { files: { 'src/log.ts': "import './http/a.ts';" }, at: ['src/log.ts:1'] },
    {
      files: {
        'src/sales/README.md': 'Sales. May import: core, products/store.ts (a reason).',
        'src/sales/a.ts': "import '../products/store.ts';\nimport '../products/edit.ts';",
      },
      at: ['src/sales/a.ts:2'],
    },
    {
      files: {
        'src/core/README.md': 'Words. May import: nothing of ours.',
        'src/core/a.ts': "import '../../test/kit/api.ts';",
      },
      at: ['src/core/a.ts:1'],
    },
  ],
  allows: [
    { 'src/app.ts': "import './http/server.ts';\nimport './products/endpoints.ts';" },
    {
      'src/sales/README.md': 'Sales. May import: core, products/store.ts (why, and why else).',
      'src/sales/a.ts': "import '../products/store.ts';\nimport '../core/id.ts';\nimport './b.ts';",
    },
    { 'src/products/a.test.ts': "import '../app.ts';" },
  ],
};

function importsOfRoom(room: string, tree: Tree): readonly string[] {
  const [first = ''] = tree.get(`src/${room}/README.md`)?.lines ?? [];
  const [, list = ''] = mayImportLine.exec(first) ?? [];
  return list
    .replace(/\([^)]*\)/g, '')
    .split(',')
    .map((name) => name.trim());
}

const folderLine: Rule = {
  id: 'folder-line',
  name: 'the README.md of each folder of src begins with why it exists, and what a room may import',
  remedy: 'say it in one line: "<why>. May import: <rooms>."',
  check(file, tree) {
    if (!file.isService) return [];
    const folder = posix.dirname(file.path);
    const isFirst =
      [...tree.keys()]
        .filter((path) => posix.dirname(path) === folder && path.endsWith('.ts'))
        .sort()[0] === file.path;
    if (folder === 'src' || !isFirst) return [];
    const [first = ''] = tree.get(`${folder}/README.md`)?.lines ?? [];
    const isRoom = folder.split('/').length === 2;
    const says = isRoom ? /\S+ \S+.*\. May import: .+\.$/.test(first) : /\S+ \S+.*\.$/.test(first);
    return says ? [] : [finding(file, 1, `${folder}/README.md`)];
  },
  refuses: [
    { files: { 'src/sales/a.ts': '', 'src/sales/b.ts': '' }, at: ['src/sales/a.ts:1'] },
    {
      files: { 'src/sales/a.ts': '', 'src/sales/README.md': 'What is sold.' },
      at: ['src/sales/a.ts:1'],
    },
    { files: { 'src/http/wire/a.ts': '' }, at: ['src/http/wire/a.ts:1'] },
  ],
  allows: [
    { 'src/sales/a.ts': '', 'src/sales/README.md': 'What is sold. May import: core.' },
    { 'src/http/wire/a.ts': '', 'src/http/wire/README.md': 'The bytes of a message.' },
  ],
};

/** The folder under src that a file is in; the file itself when it is in none. */
function roomOf(path: string): string {
  return path.split('/')[1] ?? path;
}

const noCycles: Rule = {
  id: 'no-cycles',
  name: 'no file imports itself through others',
  remedy: 'move what both need to a third file, below both',
  check(file, tree) {
    const isOurs = /^(src|sdk|console)\//.test(file.path) && file.isCode && !file.isTest;
    const path = isOurs ? cycleOf(file, tree) : undefined;
    // Once per cycle, at its first file.
    if (path === undefined || path.some((one) => one < file.path)) return [];
    return [finding(file, 1, path.map((one) => posix.basename(one)).join(' → '))];
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
    {
      files: {
        'console/src/parts/a.tsx': "import { B } from './b.tsx';",
        'console/src/parts/b.tsx': "import type { A } from './a.tsx';",
      },
      at: ['console/src/parts/a.tsx:1'],
    },
  ],
  allows: [
    { 'src/core/a.ts': "import './b.ts';\nimport './c.ts';", 'src/core/b.ts': "import './c.ts';" },
  ],
};

/** The shortest path of imports from a file's imports back to it. */
function cycleOf(file: SourceFile, tree: Tree): readonly string[] | undefined {
  const paths: string[][] = [[file.path]];
  const seen = new Set<string>();
  for (const path of paths) {
    const last = tree.get(path.at(-1) ?? '');
    for (const { target } of last === undefined ? [] : importsOf(last)) {
      if (target === file.path) return [...path, target];
      if (target !== undefined && !seen.has(target)) {
        seen.add(target);
        paths.push([...path, target]);
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

/** Packages that only some rooms know, with what belongs to them. */
const ourClient = packageOf('the client', '@tallybook/client', /^@tallybook\/client$/, [
  'exchange',
  'check',
]);
const driver = packageOf('the driver', 'pg', /^pg(-|\/|$)/, ['database', 'postgres']);
const framework = packageOf('the HTTP framework', 'fastify', /^@?fastify(-|\/|$)/, [
  'http',
  'oauth',
  'sessions',
]);

function packageOf(
  what: string,
  name: string,
  pattern: RegExp,
  homes: readonly [string, ...string[]],
): Rule {
  return {
    id: `${name}-home`,
    name: `only ${homes.join(' and ')} know ${what}`,
    remedy: `let ${homes[0]} hand over a type of our own`,
    check(file) {
      if (!file.isService || homes.includes(roomOf(file.path))) return [];
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
    allows: [
      { [`src/${homes[0]}/a.ts`]: `import a from '${name}';` },
      { 'src/a.ts': "import 'page';" },
    ],
  };
}

/** Computing, and nothing that reads or waits. */
const coreMayUse = ['node:crypto', 'node:util', 'typebox'];

const pureCore: Rule = {
  id: 'pure-core',
  name: `core uses no module but ${coreMayUse.join(', ')}`,
  remedy: 'the vocabulary does no I/O: put it where the I/O is',
  check(file) {
    if (!file.isService || roomOf(file.path) !== 'core') return [];
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

/** Browsers load the client: only what has a file as its subject may know one. */
const client: Rule = {
  id: 'client-alone',
  name: 'the client imports nothing but itself, and only tests and measurements import its files',
  remedy: 'it runs in browsers: write what it needs in sdk/, and use it by its name',
  check(file) {
    const isClient = file.path.startsWith('sdk/') && !file.isTest;
    return importsOf(file).flatMap(({ line, specifier, target }) => {
      const isInside = target?.startsWith('sdk/') === true;
      const isModuleOfNode = file.path === 'sdk/file-store.ts' && specifier.startsWith('node:');
      const isWrong = isClient ? !isInside && !isModuleOfNode : isInside && file.isService;
      return isWrong ? [finding(file, line, specifier)] : [];
    });
  },
  refuses: [
    { files: { 'sdk/a.ts': "\nimport '../src/core/id.ts';" }, at: ['sdk/a.ts:2'] },
    {
      files: { 'sdk/a.ts': "import 'undici';\nimport 'node:fs';" },
      at: ['sdk/a.ts:1', 'sdk/a.ts:2'],
    },
    { files: { 'src/cli/a.ts': "import '../../sdk/main.ts';" }, at: ['src/cli/a.ts:1'] },
  ],
  allows: [
    { 'sdk/a.ts': "import './b.ts';", 'sdk/file-store.ts': "import 'node:fs';" },
    { 'sdk/a.test.ts': "import '../test/kit/api.ts';", 'bench/a.ts': "import '../sdk/main.ts';" },
  ],
};

export const importRules: readonly Rule[] = [
  table,
  client,
  ourClient,
  folderLine,
  noCycles,
  noClimbing,
  driver,
  framework,
  pureCore,
];
