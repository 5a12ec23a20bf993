// The many texts of one JSON value: in another order, with blanks, escapes and zeros, and without
// what goes without saying. All of them are the same request.

import fc from 'fast-check';
import type { JsonObject, JsonValue } from '../../src/contract/json.ts';

export interface Spelling {
  /** By how many places the members of every object are turned. */
  readonly turn: number;
  readonly blank: string;
  readonly isEscaped: boolean;
  /** Behind the point of quantities and numbers. */
  readonly zeros: number;
  /** How a member is written that is what it would be without being written. */
  readonly implied: 'written' | 'null' | 'left out';
}

export const plainSpelling: Spelling = {
  turn: 0,
  blank: '',
  isEscaped: false,
  zeros: 0,
  implied: 'written',
};

export const anySpelling: fc.Arbitrary<Spelling> = fc.record(
  {
    turn: fc.nat(5),
    blank: fc.constantFrom('', '', ' ', '\n\t', '\r\n  '),
    isEscaped: fc.boolean(),
    zeros: fc.nat(3),
    implied: fc.constantFrom('written', 'null', 'left out'),
  },
  { noNullPrototype: true },
);

/** Members whose texts are quantities: `5` and `5.0` are the same. */
const quantities = new Set([
  ...['quantity', 'target_quantity', 'expected_quantity', 'counted_quantity'],
]);

/** One of the texts of a body. `implied` holds what members are that are not written. */
export function spelled(body: JsonObject, spelling: Spelling, implied: JsonObject = {}): string {
  const members = Object.entries(body).flatMap(([name, value]): [string, JsonValue][] => {
    const goesWithoutSaying =
      name in implied && JSON.stringify(implied[name]) === JSON.stringify(value);
    if (!goesWithoutSaying || spelling.implied === 'written') return [[name, value]];
    return spelling.implied === 'null' ? [[name, null]] : [];
  });
  const { blank } = spelling;
  return blank + objectText(members, spelling) + blank;
}

function objectText(members: readonly [string, JsonValue][], spelling: Spelling): string {
  const { blank, turn } = spelling;
  const first = members.length === 0 ? 0 : turn % members.length;
  const turned = [...members.slice(first), ...members.slice(0, first)];
  const texts = turned.map(([name, value]) => {
    const zeroed = quantities.has(name) && typeof value === 'string';
    const text = valueText(zeroed ? withZeros(value, spelling.zeros) : value, spelling);
    return `${stringText(name, spelling)}${blank}:${blank}${text}`;
  });
  return `{${blank}${texts.join(`${blank},${blank}`)}${blank}}`;
}

function valueText(value: JsonValue, spelling: Spelling): string {
  if (typeof value === 'string') return stringText(value, spelling);
  if (typeof value === 'number') return withZeros(String(value), spelling.zeros);
  if (Array.isArray(value)) return `[${value.map((one) => valueText(one, spelling)).join(',')}]`;
  if (typeof value === 'object' && value !== null)
    return objectText(Object.entries(value), spelling);
  return String(value);
}

function stringText(text: string, { isEscaped }: Spelling): string {
  if (!isEscaped) return JSON.stringify(text);
  const units = Array.from({ length: text.length }, (_, at) => text.charCodeAt(at));
  return `"${units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')}"`;
}

/** Only of what is a decimal: other texts have their own meaning, zeros included. */
function withZeros(text: string, zeros: number): string {
  if (zeros === 0 || !/^-?(0|[1-9][0-9]*)(\.[0-9]+)?$/.test(text)) return text;
  return (text.includes('.') ? text : `${text}.`) + '0'.repeat(zeros);
}
