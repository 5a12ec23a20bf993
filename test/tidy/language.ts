// What this house does not write, and where it writes what only one place may.

import { posix } from 'node:path';
import { chainOf, importsOf, isNode, type Node, nameOf, nodesOf } from '../kit/source.ts';
import { finding, findLines, type Rule } from './rule.ts';

const headerLines = 5;

const noAny: Rule = {
  id: 'no-any',
  name: 'no type is any',
  remedy: 'say what it is, or unknown until it is known',
  check: (file) =>
    nodesOf(file, 'TSAnyKeyword').map(({ node }) => finding(file, file.lineAt(node.start), 'any')),
  refuses: [
    { files: { 'src/a.ts': '\nlet a: any[];\nf(a as any);' }, at: ['src/a.ts:2', 'src/a.ts:3'] },
  ],
  allows: [{ 'src/a.ts': '// any\nconst any = "any" as const;' }],
};

const noNonNull: Rule = {
  id: 'no-non-null',
  name: 'nothing is declared present with !',
  remedy: 'test for undefined, and throw what its absence means',
  check: (file) =>
    file.nodes.flatMap(({ node }) =>
      node.type === 'TSNonNullExpression' || node.definite === true
        ? [finding(file, file.lineAt(node.end), file.text.slice(node.start, node.end))]
        : [],
    ),
  refuses: [
    { files: { 'src/a.ts': 'f(a!);\nb![0]!.c;' }, at: ['src/a.ts:1', 'src/a.ts:2', 'src/a.ts:2'] },
    {
      files: { 'src/a.ts': 'let a!: string;\nclass A {\n  b!: string;\n}' },
      at: ['src/a.ts:1', 'src/a.ts:3'],
    },
  ],
  allows: [{ 'src/a.ts': 'if (!a !== b) c();' }],
};

const noLeftovers: Rule = {
  id: 'no-leftovers',
  name: 'nothing is left for later in a comment',
  remedy: 'do it, open an issue, or write a decision',
  check: (file) => (file.isCode || file.path.endsWith('.sql') ? findLines(file, leftover) : []),
  refuses: [
    { files: { 'src/a.ts': `\n// ${'TO'}DO: later` }, at: ['src/a.ts:2'] },
    { files: { 'src/a.ts': `// ${'FIX'}ME` }, at: ['src/a.ts:1'] },
    { files: { 'db/a.sql': `-- ${'XX'}X` }, at: ['db/a.sql:1'] },
  ],
  allows: [{ 'src/a.ts': `// A to-do list.\nconst none = '${'XX'}X';` }],
};

/** After the beginning of a comment: in a string, three X are a currency. */
const leftover = /(?:\/\/|\*|--).*\b(?:T[O]DO|F[I]XME|X{3})\b/;

const noSwitchedTests: Rule = {
  id: 'no-switched-tests',
  name: 'no test is switched off, and none runs alone',
  remedy: 'run it, or delete it',
  check: (file) =>
    nodesOf(file, 'MemberExpression').flatMap(({ node }) => {
      const [root, ...rest] = chainOf(node);
      const isTest = /^(describe|test|it|suite)$/.test(root ?? '');
      const last = rest.at(-1) ?? '';
      if (!isTest || !/^(only|skip|todo)$/.test(last)) return [];
      return [finding(file, file.lineAt(node.end), `.${last}`)];
    }),
  refuses: [
    { files: { 'src/a.test.ts': "test.only('a');" }, at: ['src/a.test.ts:1'] },
    { files: { 'src/a.test.ts': "\ndescribe.skip.each([])('a');" }, at: ['src/a.test.ts:2'] },
    { files: { 'test/a.test.ts': "it.concurrent.todo('a');" }, at: ['test/a.test.ts:1'] },
  ],
  allows: [{ 'src/a.test.ts': "list.skip(1);\ntest.each([])('a');" }],
};

const noDefaultExports: Rule = {
  id: 'no-default-exports',
  name: 'nothing under src is exported by default',
  remedy: 'export it by the one name it has everywhere',
  check(file) {
    if (!file.path.startsWith('src/')) return [];
    return nodesOf(file, 'ExportDefaultDeclaration', 'ExportSpecifier').flatMap(({ node }) =>
      node.type === 'ExportDefaultDeclaration' || nameOf(node.exported) === 'default'
        ? [finding(file, file.lineAt(node.start), 'default')]
        : [],
    );
  },
  refuses: [
    { files: { 'src/a.ts': '\nexport default 1;' }, at: ['src/a.ts:2'] },
    { files: { 'src/a.ts': 'const a = 1;\nexport { a as default };' }, at: ['src/a.ts:2'] },
  ],
  allows: [{ 'vitest.config.ts': 'export default {};' }],
};

const noBarrels: Rule = {
  id: 'no-barrels',
  name: 'no file passes on what another exports',
  remedy: 'import it from where it is',
  check(file) {
    if (!file.isCode) return [];
    const isIndex = /^index\./.test(posix.basename(file.path));
    const imported = new Set(
      nodesOf(file, 'ImportDeclaration').flatMap(({ node }) =>
        (node.specifiers as Node[]).map((specifier) => nameOf(specifier.local)),
      ),
    );
    const passedOn = nodesOf(file, 'ExportAllDeclaration', 'ExportNamedDeclaration').filter(
      ({ node }) =>
        isNode(node.source) ||
        node.type === 'ExportAllDeclaration' ||
        (node.specifiers as Node[]).some((one) => imported.has(nameOf(one.local))),
    );
    return [
      ...(isIndex ? [finding(file, 1, 'index')] : []),
      ...passedOn.map(({ node }) => finding(file, file.lineAt(node.start), 're-export')),
    ];
  },
  refuses: [
    { files: { 'src/core/index.ts': '' }, at: ['src/core/index.ts:1'] },
    { files: { 'src/a.ts': "export * from './b.ts';" }, at: ['src/a.ts:1'] },
    { files: { 'src/a.ts': "\nexport type { B } from './b.ts';" }, at: ['src/a.ts:2'] },
    {
      files: { 'src/a.ts': "import { b } from './b.ts';\nexport { b as c };" },
      at: ['src/a.ts:2'],
    },
  ],
  allows: [{ 'src/a.ts': 'const a = 1;\nexport { a };' }],
};

const header: Rule = {
  id: 'header',
  name: `a source file begins with 1 to ${headerLines} lines of comment and an empty line`,
  remedy: 'say why it exists and what must stay true',
  check(file) {
    if (!file.isCode || file.isTest || !/^(src|sdk|test|bench|scripts)\//.test(file.path))
      return [];
    const lines = file.lines[0]?.startsWith('#!') ? file.lines.slice(1) : file.lines;
    const length = lines.findIndex((line) => !/^\/\/ +\S/.test(line));
    const isHeader = length >= 1 && length <= headerLines && lines[length] === '';
    return isHeader ? [] : [finding(file, 1, 'no header')];
  },
  refuses: [
    { files: { 'src/a.ts': 'export const a = 1;' }, at: ['src/a.ts:1'] },
    { files: { 'src/a.ts': '// Of the constant.\nexport const a = 1;' }, at: ['src/a.ts:1'] },
    { files: { 'src/a.ts': `${'// Long.\n'.repeat(6)}\n` }, at: ['src/a.ts:1'] },
    { files: { 'src/a.ts': '//\n\nexport const a = 1;' }, at: ['src/a.ts:1'] },
  ],
  allows: [
    { 'src/a.ts': '// Why.\n\nexport const a = 1;', 'src/a.test.ts': 'test();' },
    { 'scripts/a.mjs': '#!/usr/bin/env node\n// Why.\n\nrun();' },
  ],
};

const testNames: Rule = {
  id: 'test-names',
  name: 'the names of tests are unique within a file',
  remedy: 'a name is the guarantee it proves: say the difference',
  check(file) {
    const seen = new Set<string>();
    return nodesOf(file, 'CallExpression').flatMap(({ node }) => {
      const [root, kind] = chainOf(node.callee);
      const [title] = node.arguments as Node[];
      const isNamed = title?.type === 'Literal' || title?.type === 'TemplateLiteral';
      if (!file.isTest || (root !== 'test' && root !== 'it') || !isNamed) return [];
      const name = file.text.slice(title.start + 1, title.end - 1);
      // A title of `each` is made of what it is given.
      const isMade = kind === 'each' && /[%$]/.test(name);
      if (isMade || !seen.has(name)) {
        seen.add(name);
        return [];
      }
      return [finding(file, file.lineAt(title.start), name)];
    });
  },
  refuses: [
    {
      files: {
        'src/a.test.ts': "test('a', b);\ndescribe('c', () => {\n  test.each([1])(`a`, b);\n});",
      },
      at: ['src/a.test.ts:3'],
    },
  ],
  allows: [
    { 'src/a.test.ts': "describe('a', b);\ntest('a', b);\ntest('b', b);" },
    { 'src/a.test.ts': "test.each(a)('%s', b);\ntest.each(c)('%s', b);" },
  ],
};

const environment: Rule = {
  id: 'environment',
  name: 'only src/config.ts reads the environment',
  remedy: 'make it a setting in src/config.ts',
  check(file) {
    if (!file.isService || file.path === 'src/config.ts') return [];
    const reads = nodesOf(file, 'MemberExpression', 'VariableDeclarator').filter(({ node }) =>
      node.type === 'MemberExpression'
        ? chainOf(node).join('.') === 'process.env'
        : nameOf(node.init) === 'process',
    );
    const imports = importsOf(file).filter(({ specifier }) => /^(node:)?process$/.test(specifier));
    return [
      ...reads.map(({ node }) => finding(file, file.lineAt(node.start), 'process.env')),
      ...imports.map(({ line }) => finding(file, line, 'node:process')),
    ];
  },
  refuses: [
    { files: { 'src/a.ts': '\nf(process.env.HOME);' }, at: ['src/a.ts:2'] },
    { files: { 'src/a.ts': 'const { env } = process;' }, at: ['src/a.ts:1'] },
    { files: { 'src/a.ts': "import { env } from 'node:process';" }, at: ['src/a.ts:1'] },
  ],
  allows: [
    { 'src/config.ts': 'process.env', 'src/a.test.ts': 'process.env', 'src/b.ts': 'process.pid' },
  ],
};

const noConsole: Rule = {
  id: 'no-console',
  name: 'only the command line prints',
  remedy: 'log it with the logger that is passed in',
  check(file) {
    if (!file.isService || file.path.startsWith('src/cli/')) return [];
    return nodesOf(file, 'MemberExpression').flatMap(({ node }) =>
      chainOf(node)[0] === 'console'
        ? [finding(file, file.lineAt(node.start), chainOf(node).join('.'))]
        : [],
    );
  },
  refuses: [{ files: { 'src/http/a.ts': "\nconsole.log('a');" }, at: ['src/http/a.ts:2'] }],
  allows: [{ 'src/cli/a.ts': "console.log('a');" }],
};

export const languageRules: readonly Rule[] = [
  noAny,
  noNonNull,
  noLeftovers,
  noSwitchedTests,
  noDefaultExports,
  noBarrels,
  header,
  testNames,
  environment,
  noConsole,
];
