// The budgets: how long, how wide, how many, how deep.

import { chainOf, nodesOf, type Visited } from '../kit/source.ts';
import { finding, type Rule } from './rule.ts';

const sourceLines = 400;
const testLines = 500;
const functionLines = 60;
const columns = 100;

const fileLength: Rule = {
  id: 'file-length',
  name: `a source file has at most ${sourceLines} lines, a test file ${testLines}`,
  remedy: 'split it by what it promises',
  check(file) {
    const most = file.isTest ? testLines : sourceLines;
    const length = file.lines.length;
    return file.isCode && length > most ? [finding(file, most + 1, `${length} lines`)] : [];
  },
  refuses: [
    { files: { 'src/core/long.ts': '//\n'.repeat(401) }, at: ['src/core/long.ts:401'] },
    { files: { 'src/core/long.test.ts': '//\n'.repeat(501) }, at: ['src/core/long.test.ts:501'] },
  ],
  allows: [
    { 'src/core/long.ts': '//\n'.repeat(400) },
    { 'src/core/long.test.ts': '//\n'.repeat(500) },
  ],
};

const functionTypes = ['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'];
const blank = '\n'.repeat(60);

const functionLength: Rule = {
  id: 'function-length',
  name: `a function has at most ${functionLines} lines`,
  remedy: 'give a part of it a name',
  check(file) {
    return nodesOf(file, ...functionTypes).flatMap((visited) => {
      const { start, end } = visited.node;
      const length = file.text.slice(start, end).split('\n').length;
      if (length <= functionLines || (file.isTest && isTestBlock(visited))) return [];
      return [finding(file, file.lineAt(start), `${length} lines`)];
    });
  },
  refuses: [
    { files: { 'src/a.ts': `export function a() {${blank}}` }, at: ['src/a.ts:1'] },
    { files: { 'src/a.ts': `const a = {\n  b() {${blank}},\n};` }, at: ['src/a.ts:2'] },
    { files: { 'src/a.ts': `class A {\n  b = () => {${blank}};\n}` }, at: ['src/a.ts:2'] },
    { files: { 'src/a.test.ts': `function a() {${blank}}` }, at: ['src/a.test.ts:1'] },
  ],
  allows: [
    { 'src/a.ts': `export function a() {${'\n'.repeat(59)}}` },
    {
      'src/a.test.ts': `describe.each([1])('a', () => {\n  test('b', async () => {${blank}});\n});`,
    },
  ],
};

function isTestBlock({ node, around: [call] }: Visited): boolean {
  if (call?.type !== 'CallExpression' || call.callee === node) return false;
  return /^(describe|test|it|(before|after)(All|Each))$/.test(chainOf(call)[0] ?? '');
}

const lineWidth: Rule = {
  id: 'line-width',
  name: `a line has at most ${columns} columns`,
  remedy: 'break it; a long text is a sum of shorter ones',
  check(file) {
    if (!file.isCode && !file.path.startsWith('db/migrations/')) return [];
    return file.lines.flatMap((line, index) => {
      const width = [...line].length;
      return width > columns ? [finding(file, index + 1, `${width} columns`)] : [];
    });
  },
  refuses: [
    { files: { 'src/a.ts': `\n'${'x'.repeat(99)}'` }, at: ['src/a.ts:2'] },
    { files: { 'db/migrations/0001_a.sql': 'x'.repeat(101) }, at: ['db/migrations/0001_a.sql:1'] },
  ],
  allows: [{ 'src/a.ts': `'${'é'.repeat(98)}'`, 'docs/a.md': 'x'.repeat(101) }],
};

const bannedNames = /^(utils?|helpers?|common|shared|lib|misc|manager)$/i;

const names: Rule = {
  id: 'names',
  name: 'no file or folder is called utils, helpers, common, shared, lib, misc or manager',
  remedy: 'call it what it is about, or put each part next to its only caller',
  check(file) {
    const words = file.path.split('/').flatMap((part) => part.split(/[.-]/));
    const banned = file.isCode ? words.find((word) => bannedNames.test(word)) : undefined;
    return banned === undefined ? [] : [finding(file, 1, banned)];
  },
  refuses: [
    { files: { 'src/utils/text.ts': '' }, at: ['src/utils/text.ts:1'] },
    { files: { 'test/test-helpers.ts': '' }, at: ['test/test-helpers.ts:1'] },
  ],
  allows: [{ 'src/access/authenticator.ts': '' }],
};

export const sizeRules: readonly Rule[] = [fileLength, functionLength, lineWidth, names];
