// Exact decimals as strings. Quantities never pass through a floating-point number: they are
// parsed to a BigInt of hundred-thousandths, computed on, and printed canonically (no exponent,
// no trailing zeros, never -0). Libraries were measured and print 1e-7 or need a newer Node.

import { limits } from './limits.ts';
import type { DetailCode } from './problem.ts';

const scale = limits.quantityDecimalsMax;
const unitsPerOne = 10n ** BigInt(scale);
const grammar = /^-?(0|[1-9][0-9]*)(\.[0-9]+)?$/;

/** A canonical decimal string, such as `12.5`. Only this file makes them. */
export type Quantity = string & { readonly __brand: 'Quantity' };

export const zero = '0' as Quantity;

/** Why a string is not a usable quantity, or undefined when it is one. */
export function quantityFault(text: string): { code: DetailCode; message: string } | undefined {
  if (text.length > limits.quantityLengthMax || !grammar.test(text)) {
    return { code: 'invalid_format', message: 'must be a decimal string such as "12" or "12.5"' };
  }
  if (text.startsWith('-')) {
    return { code: 'must_not_be_negative', message: 'must not be negative' };
  }
  const [whole = '', fraction = ''] = text.split('.');
  if (whole.length > limits.quantityIntegerDigitsMax) {
    return {
      code: 'too_large',
      message: `must have at most ${limits.quantityIntegerDigitsMax} digits before the point`,
    };
  }
  if (trimZeros(fraction).length > limits.quantityDecimalsMax) {
    return {
      code: 'too_many_decimal_places',
      message: `must have at most ${limits.quantityDecimalsMax} decimal places`,
    };
  }
  return undefined;
}

/** Why a canonical quantity is none of a unit that is counted in so many decimals. */
export function placesFault(
  quantity: Quantity,
  precision: number,
): { code: DetailCode; message: string } | undefined {
  if (decimalPlaces(quantity) <= precision) return undefined;
  const message = `must have at most ${precision} decimal places, as its unit has`;
  return { code: 'too_many_decimal_places', message };
}

/** The canonical form of what `quantityFault` accepts, or of a number the database gave. */
export function canonicalQuantity(text: string): Quantity {
  // Most are whole and need no change. This saves time: a page of movements has 150 of them.
  if (!text.includes('.') && text !== '-0') return text as Quantity;
  return print(parse(text));
}

/** `a - b`, which may be negative: the delta of a movement. */
export function subtract(a: Quantity, b: Quantity): Quantity {
  return print(parse(a) - parse(b));
}

/** `a + b`. */
export function add(a: Quantity, b: Quantity): Quantity {
  return print(parse(a) + parse(b));
}

export function isLess(a: Quantity, b: Quantity): boolean {
  return parse(a) < parse(b);
}

/** Whether no level may have it. */
export function isTooLarge(quantity: Quantity): boolean {
  return parse(quantity) >= unitsPerOne * 10n ** BigInt(limits.quantityIntegerDigitsMax);
}

/** The number of decimal places that a canonical quantity uses. */
export function decimalPlaces(quantity: Quantity): number {
  const point = quantity.indexOf('.');
  return point < 0 ? 0 : quantity.length - point - 1;
}

function parse(text: string): bigint {
  const negative = text.startsWith('-');
  const [whole = '0', fraction = ''] = (negative ? text.slice(1) : text).split('.');
  const units =
    BigInt(whole) * unitsPerOne + BigInt(trimZeros(fraction).padEnd(scale, '0').slice(0, scale));
  return negative ? -units : units;
}

function print(units: bigint): Quantity {
  const magnitude = units < 0n ? -units : units;
  const fraction = trimZeros((magnitude % unitsPerOne).toString().padStart(scale, '0'));
  const whole = (magnitude / unitsPerOne).toString();
  const text = fraction === '' ? whole : `${whole}.${fraction}`;
  return (units < 0n ? `-${text}` : text) as Quantity;
}

function trimZeros(fraction: string): string {
  let end = fraction.length;
  while (end > 0 && fraction[end - 1] === '0') end -= 1;
  return fraction.slice(0, end);
}
