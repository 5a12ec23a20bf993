// Which column of a file is which field: by its name, or by what people call it.

import { columnNamed } from '../../../../src/exchange/header.ts';
import { type Noun, nouns } from '../../../../src/exchange/nouns.ts';
import { rowFaults } from './row-faults.ts';

export const nounNames = ['products', 'customers', 'counts'] as const;
export type NounName = (typeof nounNames)[number];

export function nounOf(name: NounName): Noun {
  const noun: Noun = nouns[name];
  return { ...noun, faults: (body) => rowFaults(noun, body) };
}

/** Fields that another one needs, with what they usually are: many lists leave them out. */
const companions: Readonly<Record<string, readonly [field: string, usual: string]>> = {
  'price.amount': ['price.currency', ''],
  'unit.code': ['unit.precision', '0'],
};

/** The fields that a mapping needs and no column has. */
export function missingIn(mapping: Mapping): readonly (readonly [field: string, usual: string])[] {
  return mapping.flatMap((field) => {
    const companion = companions[field];
    return companion === undefined || mapping.includes(companion[0]) ? [] : [companion];
  });
}

/** For each column of the file the name of a field; empty: it is left out. */
export type Mapping = readonly string[];

const calledSo: Readonly<Record<string, readonly string[]>> = {
  name: ['title', 'productname', 'product', 'customer', 'customername', 'fullname', 'item'],
  sku: ['articlenumber', 'articleno', 'itemnumber', 'itemno', 'productcode', 'partnumber'],
  barcode: ['ean', 'gtin', 'upc', 'ean13'],
  external_id: ['externalid', 'reference', 'customernumber', 'customerno'],
  email: ['mail', 'emailaddress'],
  phone: ['telephone', 'tel', 'phonenumber', 'mobile'],
  note: ['notes', 'comment', 'remark'],
  'price.amount': ['price', 'amount', 'unitprice', 'salesprice'],
  'price.currency': ['currency'],
  'unit.code': ['unit', 'uom'],
  'unit.precision': ['decimals', 'precision'],
  low_stock_at: ['lowstock', 'minimum', 'minimumstock', 'reorderpoint', 'reorderlevel'],
  description: ['details', 'text'],
  counted_quantity: ['counted', 'count', 'onhand', 'qty', 'found'],
  expected_quantity: ['expected'],
};

/** A count needs to know what was counted, and how much of it. */
export const isEnough = (noun: Noun, mapping: Mapping): boolean =>
  noun.name === 'counts'
    ? mapping.includes('counted_quantity') && noun.finders.some((name) => mapping.includes(name))
    : mapping.some((field) => field !== '');

const plain = (name: string) => name.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '');

/** What the fields of a noun are, for a person to choose from. */
export const fieldsOf = (noun: Noun): readonly string[] => noun.columns.map(({ name }) => name);

export function guessed(noun: Noun, header: readonly string[]): Mapping {
  const fields = fieldsOf(noun);
  const taken = new Set<string>();
  return header.map((name) => {
    const exact = columnNamed(noun, {}, name);
    const words = plain(name);
    const found =
      exact === undefined
        ? fields.find((field) => plain(field) === words || calledSo[field]?.includes(words))
        : exact?.name;
    if (found === undefined || taken.has(found)) return '';
    taken.add(found);
    return found;
  });
}
