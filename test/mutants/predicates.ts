// A mutant for each condition that binds a statement to its merchant: found by reading the stores
// and the functions of the database, so that a new statement has its mutants before anyone thinks
// of them. What the condition compares is left out; the statement stays valid.

import { type Edit, filesUnder, type Mutant, readSource } from './mutant.ts';

/** Where a statement may stand that is about a merchant's rows. */
function scanned(): string[] {
  const stores = filesUnder('src').filter((file) => /(^|[/-])store\.ts$/.test(file));
  return [...stores, 'src/operations/keys.ts', ...filesUnder('db/migrations')];
}

interface Form {
  /** A condition. Global, so that it can be searched for. */
  readonly pattern: RegExp;
  /** The text without it. `rest` begins where the match ends. */
  without(match: RegExpExecArray, text: string): { readonly from: string; readonly to: string };
}

const column = String.raw`(?:(?:\w+|\$\{\w+\})\.)?merchant_id`;

const forms: readonly Form[] = [
  {
    // The parameter stays in use, or the database could not tell its type.
    pattern: new RegExp(String.raw`${column} = (\$\d+)`, 'g'),
    without: ([from, parameter]) => ({ from, to: `(${parameter}::text is not null)` }),
  },
  {
    pattern: new RegExp(String.raw`${column} = (?:${column}\b|\w+ ->> 'merchant_id')`, 'g'),
    without: ([from]) => ({ from, to: 'true' }),
  },
  {
    pattern: /\b(?:\w+\.)?id = \w+\.merchant_id/g,
    without: ([from]) => ({ from, to: 'true' }),
  },
  {
    // With any merchant in its place.
    pattern: /\(\w+\.merchant_id, ([^()]*)\) in (?=\(|\$\{\w+\})/g,
    without({ 0: matched, 1: others = '', index }, text) {
      const set = setAt(text, index + matched.length);
      const to = `exists (select from merchants anyone where (anyone.id, ${others}) in ${set})`;
      return { from: matched + set, to };
    },
  },
  {
    pattern: new RegExp(
      String.raw`\(${column}, ([^()]*)\)(\s*(?:>=|<=|<|>|=|is distinct from)\s*)` +
        String.raw`\(${column}, ((?:[^()]|\([^()]*\))*)\)`,
      'g',
    ),
    without: ([from, left, sign, right]) => ({ from, to: `(${left})${sign}(${right})` }),
  },
  {
    pattern: new RegExp(
      String.raw`\(${column}, ([^()]*)\)(\s*(?:>=|<=|<|>)\s*)\((\$\d+), ([^()]*)\)`,
      'g',
    ),
    without: ([from, left, sign, parameter, right]) => ({
      from,
      to: `(${parameter}::text is not null and (${left})${sign}(${right}))`,
    }),
  },
  {
    // What a part of the statement calls merchant_id is called otherwise then, or it would be
    // ambiguous.
    pattern: /\b(\w+) (\w+) using \(merchant_id, (\w+)\)/g,
    without([from, relation, alias, other], text) {
      const isPart = text.includes(`${relation} as (`);
      return { from, to: `${relation} ${alias}${isPart ? ' (anyone)' : ''} using (${other})` };
    },
  },
];

/** `${name}`, or from one parenthesis to the other. */
function setAt(text: string, start: number): string {
  if (text[start] === '$') return text.slice(start, text.indexOf('}', start) + 1);
  let depth = 0;
  for (let end = start; end < text.length; end += 1) {
    if (text[end] === '(') depth += 1;
    if (text[end] === ')') depth -= 1;
    if (depth === 0) return text.slice(start, end + 1);
  }
  throw new Error('a parenthesis is not closed');
}

interface Found {
  readonly edit: Edit & { readonly at: number };
  readonly owner: string;
  readonly condition: string;
}

function conditionsOf(file: string): Found[] {
  const text = readSource(file);
  const found = forms.flatMap(({ pattern, without }) =>
    [...text.matchAll(pattern)].map((match) => {
      const condition = match[0].replaceAll(/\s+/g, ' ').trim();
      const edit = { file, at: match.index, ...without(match as RegExpExecArray, text) };
      return { edit, owner: ownerAt(file, text, match.index), condition };
    }),
  );
  return found.sort((a, b) => a.edit.at - b.edit.at);
}

/** The function, constant or trigger that a condition stands in. */
function ownerAt(file: string, text: string, at: number): string {
  const pattern = file.endsWith('.sql')
    ? /^create (?:or replace )?(?:constraint )?(?:function|trigger) (\w+)/gm
    : /^(?:export )?(?:async )?(?:function|const) (\w+)/gm;
  const owners = [...text.slice(0, at).matchAll(pattern)].map(([, name = '']) => name);
  return owners.at(-1) ?? 'the file';
}

/** What compares a merchant, alone or first in a row, whatever the form. */
const leftover = new RegExp(
  [
    String.raw`[^\n]*(?:\bmerchant_id\s*(?:=|<|>|in\b)|=\s*(?:\w+\.)?merchant_id\b)[^\n]*`,
    String.raw`\([^()]*\bmerchant_id,[^()]*\)\s*(?:=|<|>|in\b|is\b)[^\n]*`,
    String.raw`[^\n]*\busing \(merchant_id[^\n]*`,
  ].join('|'),
  'g',
);

/**
 * Conditions on merchants in a form that nobody here knows. A walk over the merchants themselves is
 * none, and `on conflict` names an index.
 */
export function unknownConditions(): string[] {
  return scanned().flatMap((file) => {
    let text = readSource(file);
    for (const { edit } of conditionsOf(file).reverse()) {
      text = text.slice(0, edit.at) + text.slice(edit.at + edit.from.length);
    }
    const left = text.matchAll(leftover);
    return [...left]
      .filter(([line]) => !/merchant_id > \$1/.test(line))
      .map(([line]) => `${file}: ${line.trim()}`);
  });
}

export function predicateMutants(): Mutant[] {
  const names = new Map<string, number>();
  return scanned().flatMap((file) =>
    conditionsOf(file).map(({ edit, owner, condition }) => {
      const name = `${file} ${owner}: ${condition}`;
      const count = (names.get(name) ?? 0) + 1;
      names.set(name, count);
      return {
        name: count === 1 ? name : `${name} (${count})`,
        breaks: `${owner} does not ask for ${condition}`,
        edits: [edit],
        suites: suitesOf(file),
      };
    }),
  );
}

const mirror = 'test/mirror.test.ts';
const neighbours = 'test/neighbours.test.ts';
const mirrorBatch = 'test/mirror-batch.test.ts';
const accessMirror = 'src/access/mirror.test.ts';
const signInMirror = 'src/sessions/mirror.test.ts';
const verify = 'src/inventory/verify.test.ts';
const countsVerify = 'src/counts/verify.test.ts';
const reservationsVerify = 'src/reservations/verify.test.ts';
const deliveryMirror = 'src/webhooks/delivery-mirror.test.ts';

/** What should notice, by where the statement stands. */
const suites: readonly (readonly [string, readonly string[]])[] = [
  ['src/inventory/verify-counts-store.ts', [countsVerify, verify]],
  ['src/inventory/verify-reservations-store.ts', [reservationsVerify, verify]],
  [
    'src/inventory/verify-',
    [verify, 'src/people/verify.test.ts', countsVerify, reservationsVerify],
  ],
  ['src/webhooks/delivery-store.ts', [deliveryMirror]],
  ['src/access/store.ts', [mirror, accessMirror, neighbours]],
  ['src/access/managed-store.ts', [accessMirror, mirror, mirrorBatch]],
  ['src/access/', [accessMirror]],
  ['src/sessions/', [signInMirror]],
  ['src/oauth/', [accessMirror, mirror, signInMirror]],
  ['db/', [mirror, neighbours, accessMirror, 'src/inventory/ledger.test.ts']],
  ['src/', [mirror, neighbours, mirrorBatch]],
];

function suitesOf(file: string): readonly string[] {
  const [, own = []] = suites.find(([prefix]) => file.startsWith(prefix)) ?? [];
  return own;
}
