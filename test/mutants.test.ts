// Keeps the list of `npm run mutants` up to date: each mutant applies to the product as it is now,
// and every condition on the merchant has one.

import { describe, expect, test } from 'vitest';
import { harmless } from './mutants/harmless.ts';
import { filesUnder, mutated } from './mutants/mutant.ts';
import { namedMutants } from './mutants/named.ts';
import { predicateMutants, unknownConditions } from './mutants/predicates.ts';
import { asOne, groupsOf } from './mutants/together.ts';

const predicates = predicateMutants();

test.each(namedMutants)('$name applies exactly once', (mutant) => {
  for (const [file, text] of mutated(mutant)) expect(text, file).not.toBe('');
});

test('each mutant has a name of its own, and tests that exist', () => {
  const all = [...namedMutants, ...predicates];
  expect(new Set(all.map(({ name }) => name)).size).toBe(all.length);
  const files = new Set([...filesUnder('src'), ...filesUnder('test')]);
  expect(all.flatMap(({ suites }) => suites.filter((suite) => !files.has(suite)))).toEqual([]);
});

describe('the conditions on the merchant', () => {
  test('are found in every store, each with its mutant', () => {
    for (const mutant of predicates) expect(mutated(mutant).size).toBe(1);
    expect(predicates.length).toBeGreaterThan(100);
  });

  test('can be left out all at once, of those that the same tests judge', () => {
    const groups = groupsOf(predicates);
    expect(groups.flat().length).toBe(predicates.length);
    for (const group of groups) expect(mutated(asOne(group)).size).toBeGreaterThan(0);
  });

  test('have only forms that make a mutant', () => {
    expect(unknownConditions()).toEqual([]);
  });

  test('that may be left out exist, and say why', () => {
    const names = new Set(predicates.map(({ name }) => name));
    expect(Object.keys(harmless).filter((name) => !names.has(name))).toEqual([]);
    for (const reason of Object.values(harmless)) expect(reason).toMatch(/\S+ \S+ \S+/);
  });
});
