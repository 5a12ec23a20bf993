// Statements for the raw drivers, written as pgbench reads them: `:name` is a constant of the
// statement, or one of its numbers, which are drawn at random.

import type { Statement } from '../../src/core/statement.ts';
import { movementDigits, productDigits } from '../load/template.ts';

/** The service's role writes nothing outside of a transaction that says so; a raw call does. */
export const writable = '-c default_transaction_read_only=off';

export interface RawStatement {
  /** One statement. */
  readonly text: string;
  readonly constants: Readonly<Record<string, string>>;
  /** Each is drawn from 1 to its value, for every transaction. */
  readonly numbers: Readonly<Record<string, number>>;
}

/** What a raw driver sends, each as often as its weight says. */
export type RawWork = readonly { readonly weight: number; readonly statement: RawStatement }[];

/** A product at random, as an expression. Its prefix is the constant `prefix`, its number `:n`. */
export const anyProduct = `:prefix || lpad(:n::text, ${productDigits}, '0')`;

/** A movement at random. Its prefix is the constant `prefix`, its number `:v`. */
export const anyMovement = `:prefix || lpad(:v::text, ${movementDigits}, '0')`;

/**
 * A statement of a store as it is, except for parameters that are given as expressions, by their
 * number. Values are texts, numbers and nulls.
 */
export function fromStore(
  { text, values }: Statement,
  expressions: Readonly<Record<number, string>> = {},
  more: Partial<Pick<RawStatement, 'constants' | 'numbers'>> = {},
): RawStatement {
  const isConstant = (number: number) =>
    expressions[number] === undefined && values[number - 1] !== null;
  const own = values.flatMap((value, index) =>
    isConstant(index + 1) ? [[`p${index + 1}`, String(value)] as const] : [],
  );
  const replaced = text.replace(/\$([0-9]+)/g, (_, digits: string) => {
    const number = Number(digits);
    return isConstant(number) ? `:p${number}` : (expressions[number] ?? 'null');
  });
  return {
    text: replaced.trim(),
    constants: { ...Object.fromEntries(own), ...more.constants },
    numbers: more.numbers ?? {},
  };
}

/** With every name replaced. A cast (`::`) is none. */
export function renamed(text: string, rename: (name: string) => string): string {
  return text.replace(/(?<!:):([a-z][a-z0-9_]*)/g, (_, name: string) => rename(name));
}
