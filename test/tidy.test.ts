// The style, as a test. The rules are in test/tidy/, each with the text that it must refuse. An
// exception is an entry here, with its reason.

import { describe, expect, test } from 'vitest';
import { readTree, SourceFile } from './kit/source.ts';
import { documentRules } from './tidy/documents.ts';
import { importRules } from './tidy/imports.ts';
import { languageRules } from './tidy/language.ts';
import type { Finding, Rule, Tree } from './tidy/rule.ts';
import { secretRules } from './tidy/secrets.ts';
import { sizeRules } from './tidy/size.ts';
import { statementRules } from './tidy/statements.ts';
import { unusedRules } from './tidy/unused.ts';
import { wordRules } from './tidy/words.ts';

interface Exception {
  readonly rule: string;
  readonly file: string;
  /** How the finding begins; without it, every finding of the rule in the file. */
  readonly what?: string;
  readonly reason: string;
}

const exceptions: readonly Exception[] = [
  {
    rule: 'file-length',
    file: 'sdk/operations.ts',
    reason: 'generated from the document: types of all that it describes, and the list of routes',
  },
  {
    rule: 'no-barrels',
    file: 'sdk/main.ts',
    reason: 'a package has one entry, and its parts have files of their own',
  },
  {
    rule: 'sql-home',
    file: 'src/operations/keys.ts',
    reason: "the write path's own statements: they bind keys, for every domain alike",
  },
  {
    rule: 'sql-home',
    file: 'src/operations/batch.ts',
    reason: "the write path's own statements: a shorter lock wait, the count around each save",
  },
  {
    rule: 'sql-home',
    file: 'src/core/statement.ts',
    what: 'begin',
    reason: 'the one way to begin a transaction that writes, for batches and for the operator',
  },
  {
    rule: 'sql-home',
    file: 'src/core/statement.ts',
    what: 'planAnew',
    reason: 'a setting of one transaction that reads no table: pages and `verify` both send it',
  },
  {
    rule: 'no-any',
    file: 'test/kit/api.ts',
    reason: 'answers are examined member by member, and the published document has judged them',
  },
  {
    rule: 'no-any',
    file: 'test/kit/raw.ts',
    reason: 'answers are examined member by member, whatever a broken message made of them',
  },
  {
    rule: 'merchant-bound',
    file: 'src/access/store.ts',
    what: 'findTokenCells',
    reason: 'the token says which merchant it is of, and this asks only where that merchant is',
  },
  {
    rule: 'merchant-bound',
    file: 'src/access/store.ts',
    what: 'statements:',
    reason: 'a token is looked up by its hash: only the row found says which merchant it is of',
  },
  {
    rule: 'merchant-bound',
    file: 'src/access/operator/credential-store.ts',
    what: 'findCredential:',
    reason: 'by ID alone: the operator stands above the merchants',
  },
  {
    rule: 'merchant-bound',
    file: 'src/access/operator/merchant-store.ts',
    what: 'findMerchantOfCustomer:',
    reason: 'by ID alone: the operator stands above the merchants',
  },
  {
    rule: 'merchant-bound',
    file: 'src/access/store.ts',
    what: 'noteUses:',
    reason: 'uses of many merchants at once: each pair comes from the row that authenticated it',
  },
  {
    rule: 'merchant-bound',
    file: 'src/access/store.ts',
    what: 'extendSessions:',
    reason: 'sessions of many merchants at once, each by the hash that authenticated it',
  },
  {
    rule: 'merchant-bound',
    file: 'src/sessions/store.ts',
    what: 'findInvited:',
    reason: 'an invitation is looked up by its hash: only the row says which merchant it is of',
  },
  {
    rule: 'merchant-bound',
    file: 'src/sessions/passkey-store.ts',
    what: 'findByPasskey:',
    reason: 'a passkey is looked up by its own ID: only the row says which merchant it is of',
  },
  {
    rule: 'merchant-bound',
    file: 'src/webhooks/delivery-store.ts',
    what: 'work:',
    reason: 'the webhooks of all merchants that something is to be sent to: it returns no more',
  },
  {
    rule: 'merchant-bound',
    file: 'src/webhooks/delivery-store.ts',
    what: 'countActive:',
    reason: 'the merchants that have active webhooks, for the process that calls for all of them',
  },
  {
    rule: 'merchant-bound',
    file: 'src/webhooks/delivery-store.ts',
    what: 'findStanding:',
    reason: 'sums over all merchants, for the metrics of the operator',
  },
  {
    rule: 'merchant-bound',
    file: 'src/reservations/store.ts',
    what: 'findDue:',
    reason: 'those of all merchants that have expired, for the process that tells it of all',
  },
  {
    rule: 'merchant-bound',
    file: 'src/access/operator/application-store.ts',
    what: 'listApprovals:',
    reason: 'by application: the operator sees where it is approved, at all merchants',
  },
  {
    rule: 'merchant-bound',
    file: 'src/oauth/token-store.ts',
    reason: 'by application or by the hash of its token: only the row found says which merchant',
  },
  {
    rule: 'merchant-bound',
    file: 'src/oauth/consent/store.ts',
    reason: 'by the ID in a code or by the hash of a token: only the row says which merchant',
  },
  {
    rule: 'merchant-bound',
    file: 'src/inventory/verify-store.ts',
    what: 'nextMerchant:',
    reason: 'it walks over the merchants, those included that only a stray row names',
  },
];

const rules = [
  ...sizeRules,
  ...languageRules,
  ...importRules,
  ...statementRules,
  ...documentRules,
  ...secretRules,
  ...unusedRules,
  ...wordRules,
];

const tree = treeOf(readTree());

/** What each rule finds in the tree. */
const known = new Map<Rule, readonly Finding[]>();

function foundBy(rule: Rule): readonly Finding[] {
  const found = known.get(rule) ?? check(rule, tree);
  known.set(rule, found);
  return found;
}

describe('the tree', () => {
  test.each(rules.map((rule) => [rule.name, rule] as const))('%s', (_, rule) => {
    const left = foundBy(rule).filter((found) => !exceptions.some(isFor(rule, found)));
    expect(left.map((found) => `${place(found)} ${found.what}: ${rule.remedy}`)).toEqual([]);
  });

  test('is not empty', () => {
    expect(tree.size).toBeGreaterThan(50);
  });

  test('needs each exception, and each says why', () => {
    for (const exception of exceptions) {
      const rule = rules.find(({ id }) => id === exception.rule);
      const found = rule === undefined ? [] : foundBy(rule).map((one) => isFor(rule, one));
      expect(
        found.some((isIts) => isIts(exception)),
        JSON.stringify(exception),
      ).toBe(true);
    }
    for (const { reason } of exceptions) expect(reason).toMatch(/\S+ \S+ \S+/);
  });
});

describe('a rule', () => {
  const examples = rules.flatMap((rule) => rule.refuses.map((example) => ({ rule, ...example })));
  const borders = rules.flatMap((rule) => (rule.allows ?? []).map((files) => ({ rule, files })));

  test.each(examples)('$rule.id finds what it must in $files', ({ rule, files, at }) => {
    expect(check(rule, exampleTree(files)).map(place)).toEqual(at);
  });

  test.each(borders)('$rule.id allows $files', ({ rule, files }) => {
    expect(check(rule, exampleTree(files)).map(place)).toEqual([]);
  });

  test('has an ID of its own and an example', () => {
    expect(new Set(rules.map(({ id }) => id)).size).toBe(rules.length);
    expect(rules.filter(({ refuses }) => refuses.length === 0)).toEqual([]);
  });
});

function check(rule: Rule, files: Tree): Finding[] {
  return [...files.values()].flatMap((file) => rule.check(file, files));
}

function isFor(rule: Rule, found: Finding): (exception: Exception) => boolean {
  return ({ rule: id, file, what = '' }) =>
    id === rule.id && file === found.file && found.what.startsWith(what);
}

function place({ file, line }: Finding): string {
  return `${file}:${line}`;
}

function exampleTree(files: Readonly<Record<string, string>>): Tree {
  return treeOf(Object.entries(files).map(([path, text]) => new SourceFile(path, text)));
}

function treeOf(files: readonly SourceFile[]): Tree {
  return new Map(files.map((file) => [file.path, file]));
}
