// What nothing uses: exports, files and packages. A line that nothing reads still has to be kept.

import { posix } from 'node:path';
import { importsOf, type Node, nameOf, nodesOf, type SourceFile } from '../kit/source.ts';
import { type Finding, finding, type Rule, type Tree } from './rule.ts';

/** `bin/tallybook.js` and who installs the client call these in their compiled form. */
const calledFromOutside = ['src/cli/main.ts', 'sdk/main.ts'];

/** TypeScript reads these by itself. */
const readByCompiler = (name: string) => name.startsWith('@types/');

const unusedExport: Rule = {
  id: 'unused-export',
  name: 'an exported value has an importer; an exported type has a use',
  remedy: 'delete it, or stop exporting it',
  check(file, tree) {
    if (!file.isCode || calledFromOutside.includes(file.path)) return [];
    return exportsOf(file).flatMap(({ name, node, isType }) => {
      if (isImported(file.path, name, tree)) return [];
      if (isType && usesOf(file, name) > 1) return [];
      return [finding(file, file.lineAt(node.start), name)];
    });
  },
  refuses: [
    {
      files: { 'src/a.ts': 'export const a = 1;\n\nexport function b() {}' },
      at: ['src/a.ts:1', 'src/a.ts:3'],
    },
    {
      files: { 'src/a.ts': 'export const a = 1;\nexport const b = a;' },
      at: ['src/a.ts:1', 'src/a.ts:2'],
    },
    {
      files: { 'src/a.ts': 'export interface A {}\nexport type B = 1;' },
      at: ['src/a.ts:1', 'src/a.ts:2'],
    },
    { files: { 'src/a.ts': 'const a = 1;\nexport { a };' }, at: ['src/a.ts:2'] },
    {
      files: { 'src/a.ts': 'export class A {}', 'src/b.ts': "import { B } from './a.ts';" },
      at: ['src/a.ts:1'],
    },
  ],
  allows: [
    { 'src/a.ts': 'export const a = 1;', 'src/b.ts': "import { a as b } from './a.ts';" },
    { 'src/a.ts': 'export const a = 1;', 'src/b.ts': "import * as all from './a.ts';" },
    { 'src/a.ts': 'export type A = 1;\nconst a: A = 1;' },
    { 'src/a.ts': 'export type A = 1;', 'src/b.ts': "type B = import('./a.ts').A;" },
  ],
};

const unusedFile: Rule = {
  id: 'unused-file',
  name: 'a file of code is imported, or named where it is started',
  remedy: 'delete it, or name it where it is run',
  check(file, tree) {
    if (!file.isCode || file.isTest) return [];
    if (isImported(file.path, undefined, tree)) return [];
    const [name = ''] = posix.basename(file.path).split('.');
    const isNamed = [...tree.values()].some(
      (one) => one !== file && (one.isCode || isSetting(one)) && mentions(one.text, name),
    );
    return isNamed || isSetting(file) ? [] : [finding(file, 1, 'nothing imports or starts it')];
  },
  refuses: [
    { files: { 'src/a.ts': 'const a = 1;', 'src/b.ts': "'a';" }, at: ['src/a.ts:1', 'src/b.ts:1'] },
  ],
  allows: [
    { 'src/a.ts': '', 'package.json': '{ "start": "node src/a.ts" }' },
    { 'src/a.test.ts': '', 'a.config.ts': '' },
  ],
};

const unusedPackage: Rule = {
  id: 'unused-package',
  name: 'package.json lists the packages that are used, and the service needs no other',
  remedy: 'remove it from package.json, add it, or move it to dependencies',
  check(file, tree) {
    if (file.path === 'package.json') return listedInVain(file, tree);
    if (!file.isCode) return [];
    const { dependencies = {}, devDependencies = {} } = listed(tree.get('package.json')?.text);
    const usable = file.isService ? dependencies : { ...dependencies, ...devDependencies };
    return importsOf(file).flatMap(({ line, specifier }) => {
      const name = packageOf(specifier);
      return name === undefined || name in usable ? [] : [finding(file, line, name)];
    });
  },
  refuses: [
    { files: { 'package.json': '{\n"dependencies": {\n"a": "1"}}' }, at: ['package.json:3'] },
    { files: { 'package.json': '{}', 'src/a.ts': "import 'a/b';" }, at: ['src/a.ts:1'] },
    {
      files: {
        'package.json': '{ "devDependencies": { "@a/b": "1" } }',
        'src/a.ts': "import '@a/b/c';",
        'src/a.test.ts': "import '@a/b';",
      },
      at: ['src/a.ts:1'],
    },
  ],
  allows: [
    {
      'package.json':
        '{ "devDependencies": { "a": "1", "@types/b": "1" }, "scripts": { "x": "a" } }',
      'src/a.ts': "import 'node:fs';",
    },
  ],
};

export const unusedRules: readonly Rule[] = [unusedExport, unusedFile, unusedPackage];

interface Export {
  readonly name: string;
  readonly node: Node;
  readonly isType: boolean;
}

function exportsOf(file: SourceFile): readonly Export[] {
  return nodesOf(file, 'ExportNamedDeclaration').flatMap(({ node }) => {
    const declaration = node.declaration as Node | null;
    const isType = /^TS(Interface|TypeAlias)/.test(declaration?.type ?? '');
    const declared = (declaration?.declarations as readonly Node[] | undefined) ?? [declaration];
    const specifiers = (node.specifiers as readonly Node[] | undefined) ?? [];
    const names = [...declared.map((one) => one?.id), ...specifiers.map((one) => one.exported)];
    return names.flatMap((one) => {
      const name = nameOf(one);
      return name === undefined ? [] : [{ name, node, isType }];
    });
  });
}

function usesOf(file: SourceFile, name: string): number {
  return nodesOf(file, 'Identifier').filter(({ node }) => node.name === name).length;
}

const imported = new WeakMap<Tree, ReadonlySet<string>>();

/** Whether a file imports the name, or any, of another one. */
function isImported(path: string, name: string | undefined, tree: Tree): boolean {
  let all = imported.get(tree);
  if (all === undefined) {
    all = new Set([...tree.values()].flatMap((file) => (file.isCode ? targetsOf(file) : [])));
    imported.set(tree, all);
  }
  return all.has(path)
    ? name === undefined || all.has(`${path} *`) || all.has(`${path} ${name}`)
    : false;
}

/** Each file that is imported, with the names; `*` for all that it exports. */
function targetsOf(file: SourceFile): string[] {
  return importsOf(file).flatMap(({ target, names }) =>
    target === undefined
      ? []
      : [target, ...(names.length === 0 ? ['*'] : names).map((name) => `${target} ${name}`)],
  );
}

const isSetting = ({ path }: SourceFile) =>
  ['package.json', 'CONTRIBUTING.md'].includes(path) || /\.config\.\w+$/.test(path);

/** As a file: after the start of a text or a slash, before its ending. */
function mentions(text: string, name: string): boolean {
  return new RegExp(`(?:^|['"\`/ ])${name}\\.(?:ts|js|mjs)\\b`, 'm').test(text);
}

function listedInVain(file: SourceFile, tree: Tree): Finding[] {
  const { dependencies, devDependencies, scripts } = listed(file.text);
  const commands = Object.values(scripts ?? {}).join(' ');
  const code = [...tree.values()].filter((one) => one.isCode);
  return Object.keys({ ...dependencies, ...devDependencies }).flatMap((name) => {
    const command =
      name === '@redocly/cli' || name === '@biomejs/biome' ? name.split(/[@/-]/)[1] : name;
    const isUsed =
      readByCompiler(name) ||
      new RegExp(`\\b${command}\\b`).test(commands) ||
      code.some(({ text }) => text.includes(`'${name}'`) || text.includes(`'${name}/`));
    const line = file.lines.findIndex((text) => text.includes(`"${name}":`)) + 1;
    return isUsed ? [] : [finding(file, line, name)];
  });
}

interface Listed {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly scripts?: Readonly<Record<string, string>>;
}

function listed(text = '{}'): Listed {
  return JSON.parse(text);
}

/** `@a/b` of `@a/b/c`; nothing for a file, a module of Node or our own client. */
function packageOf(specifier: string): string | undefined {
  if (/^[./]|^node:|^@tallybook\/client$/.test(specifier)) return undefined;
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}
