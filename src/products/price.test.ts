import { describe, expect, test } from 'vitest';
import { currencyDecimals } from './currency.ts';
import { priceFaults } from './price.ts';

const codes = (amount: string, currency: string) =>
  priceFaults({ amount, currency }).map(({ field, code }) => `${field} ${code}`);

describe('a currency', () => {
  test('has the decimals of ISO 4217, not those of shop practice', () => {
    const expected = { EUR: 2, USD: 2, JPY: 0, HUF: 2, ISK: 0, TND: 3, CLF: 4, UYW: 4, IDR: 2 };
    for (const [code, decimals] of Object.entries(expected)) {
      expect(currencyDecimals(code), code).toBe(decimals);
    }
  });

  test('is unknown when withdrawn, without decimals, in small letters or made up', () => {
    for (const code of ['DEM', 'HRK', 'ZWL', 'ANG', 'XAU', 'XXX', 'eur', 'EU', '', 'constructor']) {
      expect(currencyDecimals(code), code).toBeUndefined();
    }
  });
});

describe('a price', () => {
  test('has exactly the decimals of its currency', () => {
    const good = ['0.00 EUR', '12.50 EUR', '999999999999.99 USD', '100 JPY', '0 JPY', '1.000 TND'];
    for (const price of good) {
      const [amount = '', currency = ''] = price.split(' ');
      expect(codes(amount, currency), price).toEqual([]);
    }
    expect(codes('12.5', 'EUR')).toEqual(['price.amount invalid_format']);
    expect(codes('12', 'EUR')).toEqual(['price.amount invalid_format']);
    expect(codes('12.500', 'EUR')).toEqual(['price.amount too_many_decimal_places']);
    expect(codes('1.000000', 'EUR')).toEqual(['price.amount too_many_decimal_places']);
    expect(codes('1.0', 'JPY')).toEqual(['price.amount too_many_decimal_places']);
  });

  test('is a plain decimal string that is not negative and not too large', () => {
    expect(codes('-0.00', 'EUR')).toEqual(['price.amount must_not_be_negative']);
    expect(codes('1000000000000.00', 'EUR')).toEqual(['price.amount too_large']);
    for (const amount of ['', '1e2', '01.00', '.50', '1.', '+1.00', ' 1.00', '1,00', '١.00']) {
      expect(codes(amount, 'EUR'), amount).toEqual(['price.amount invalid_format']);
    }
  });

  test('names every fault at once', () => {
    expect(codes('-1', 'XYZ')).toEqual([
      'price.amount must_not_be_negative',
      'price.currency unknown_value',
    ]);
    expect(priceFaults(null)).toEqual([]);
    expect(priceFaults(undefined)).toEqual([]);
  });
});
