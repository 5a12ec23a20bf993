// One statement for the raw drivers, written as pgbench reads it: `:name` is a constant of the
// statement, and `:n` the number of one of the products, at random.

import type { Statement } from '../../src/core/statement.ts';
import { productDigits } from '../load/template.ts';

/** The service's role writes nothing outside of a transaction that says so; a raw call does. */
export const writable = '-c default_transaction_read_only=off';

export interface RawStatement {
  readonly text: string;
  readonly constants: Readonly<Record<string, string>>;
  readonly products: number;
}

/** A product at random, as an expression. Its prefix is the constant `prefix`. */
export const anyProduct = `:prefix || lpad(:n::text, ${productDigits}, '0')`;

/**
 * A statement of a store as it is, except for parameters that are given as expressions, by their
 * number. Values are texts and numbers.
 */
export function fromStore(
  { text, values }: Statement,
  products: number,
  expressions: Readonly<Record<number, string>> = {},
  constants: Readonly<Record<string, string>> = {},
): RawStatement {
  const own = values.flatMap((value, index) =>
    expressions[index + 1] === undefined ? [[`p${index + 1}`, String(value)] as const] : [],
  );
  return {
    text: text.replace(/\$([0-9]+)/g, (_, number) => expressions[number] ?? `:p${number}`).trim(),
    constants: { ...Object.fromEntries(own), ...constants },
    products,
  };
}

/** The statement with `$1`, `$2`… as the driver wants it, and the names that these stand for. */
export function numbered({ text }: RawStatement): { text: string; names: readonly string[] } {
  const names: string[] = [];
  const replaced = text.replace(/(?<!:):([a-z][a-z0-9_]*)/g, (_, name: string) => {
    if (!names.includes(name)) names.push(name);
    return `$${names.indexOf(name) + 1}`;
  });
  return { text: replaced, names };
}
