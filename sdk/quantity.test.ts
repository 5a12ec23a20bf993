import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Quantity } from './main.ts';

const units = fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n });

/** Five decimals, as the service has them at most. */
function decimal(value: bigint): string {
  const digits = String(value < 0n ? -value : value).padStart(6, '0');
  return `${value < 0n ? '-' : ''}${digits.slice(0, -5)}.${digits.slice(-5)}`;
}

describe('a quantity', () => {
  test('is added and subtracted exactly, and written as the service writes it', () => {
    expect(Quantity.add('0.1', '0.2')).toBe('0.3');
    expect(Quantity.add('999999999999.99999', '0.00001')).toBe('1000000000000');
    expect(Quantity.subtract('1', '1.5')).toBe('-0.5');
    expect(Quantity.subtract('10', '10.0')).toBe('0');
    expect(Quantity.add('12.500', '0')).toBe('12.5');
    expect(Quantity.subtract('-0.5', '-0.50')).toBe('0');
  });

  test('that is added and subtracted again is the same, whatever it is', () => {
    fc.assert(
      fc.property(units, units, (a, b) => {
        const sum = Quantity.add(decimal(a), decimal(b));
        expect(Quantity.compare(sum, decimal(a + b))).toBe(0);
        expect(Quantity.compare(Quantity.subtract(sum, decimal(b)), decimal(a))).toBe(0);
      }),
    );
  });

  test('is compared by its value', () => {
    expect(['10', '9.5', '-1', '9.50001'].sort(Quantity.compare)).toEqual([
      '-1',
      '9.5',
      '9.50001',
      '10',
    ]);
    expect(Quantity.compare('4', '4.000')).toBe(0);
  });

  test('is a decimal text and nothing else', () => {
    for (const wrong of ['', ' 1', '1e3', '1,5', '.5', '1.', '+1', 'NaN', '0x1', '٣']) {
      expect(() => Quantity.add(wrong, '1'), wrong).toThrow(TypeError);
    }
  });
});
