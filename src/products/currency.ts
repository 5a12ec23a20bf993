// The currencies of ISO 4217 in use in 2026, by their number of decimals. Written out, because
// Intl's digits are CLDR's: they follow shop practice (no decimals for HUF), not the standard.
// Funds codes are among them; metals, units of account and test codes have no decimals and are not.

const codesByDecimals: readonly (readonly [number, string])[] = [
  [0, 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'],
  [
    2,
    'AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BOV BRL BSD BTN BWP BYN BZD ' +
      'CAD CDF CHE CHF CHW CNY COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP ' +
      'GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD ' +
      'KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN ' +
      'NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK ' +
      'SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN ' +
      'UYU UZS VED VES WST XAD XCD XCG YER ZAR ZMW ZWG',
  ],
  [3, 'BHD IQD JOD KWD LYD OMR TND'],
  [4, 'CLF UYW'],
];

const decimals: ReadonlyMap<string, number> = new Map(
  codesByDecimals.flatMap(([places, codes]) =>
    codes.split(' ').map((code): [string, number] => [code, places]),
  ),
);

/** The decimals of a currency, or undefined when there is none of that code. */
export const currencyDecimals = (code: string): number | undefined => decimals.get(code);
